"""Power losses, really made: what was not synced is gone, a sound log keeps what was, a broken one is convicted, and nothing is left."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fireassay.chaos.capabilities import PROBES, runner, try_one
from fireassay.chaos.capabilities.freeze import attached
from fireassay.chaos.engines import ENGINES
from fireassay.chaos.power import disk as disks
from fireassay.chaos.power.disk import Disk
from fireassay.chaos.tests.benches import all_end, at_work, bench, descendants, fired, mutant, until, verdict_of
from fireassay.conformance.trials import Load, Trial
from fireassay.conformance.trials.children import stop_server
from fireassay.conformance.trials.histories import histories
from fireassay.spec.outcomes import EnvironmentUnfit, Outcome

POWER = ENGINES["power-loss"]


@pytest.fixture(scope="module", autouse=True)
def able() -> Iterator[None]:
    row = try_one(next(one for one in PROBES if one.name == "ext4-shutdown"))
    if not row.available:
        pytest.skip(f"power loss cannot be made here: {row.detail}")
    yield
    stop_server()


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path) -> Iterator[None]:
    yield
    until(lambda: not attached(tmp_path), "the loop devices to clear")
    until(lambda: not [*runner.processes_of(tmp_path / "scratch")], "the processes to end")
    assert list((tmp_path / "scratch").glob("power-*")) == []


def test_all_power_losses_fire_and_what_was_synced_is_there(tmp_path: Path) -> None:
    one = bench(tmp_path)
    results = list(POWER.make(one, 4))
    assert fired(results) == (4, 4)
    assert results[0].incidents == (), "nobody is locked out by what is left of a file"
    assert {fault.where.rpartition(" ")[2] for fault in results[0].faults} == {"appends", "recovers", "stream"}
    assert verdict_of(one) == []
    (history,) = histories(one.recordings).values()
    assert [crash.grade for crash in history.crashes] == ["power"] * 4
    assert all(crash.known for crash in history.crashes)
    assert all(crash.victims for crash in history.crashes[:2]), "each has those that it ended"


def test_a_log_that_never_syncs_is_convicted_by_a_power_loss(tmp_path: Path) -> None:
    one = bench(tmp_path, environment=mutant("chronicle_flush_unsynced"))
    assert fired(list(POWER.make(one, 1))) == (1, 1)
    assert any("LOG-11 lost-write-power" in said for said in verdict_of(one)), verdict_of(one)


class Uninterrupted(Disk):
    """Its power is never cut."""

    def cut(self) -> None:
        self._ask("mark")


def test_a_power_loss_that_takes_nothing_has_not_fired(tmp_path: Path) -> None:
    one = bench(tmp_path)
    with Uninterrupted(one.scratch) as disk:
        setting = one.setting(place=disk.place, mounts=disk.mounts)
        with Trial(setting, "power-loss") as trial:
            trial.wait_for_word(trial.produce(load=Load(batches=4)), "idle")
            trial.power_loss(disk, "never")
            trial.recover()
    (fault,) = trial.result().faults
    assert (fault.planned, fault.fired) == (True, False)
    assert fault.reason == "what was not synced came back: nothing was lost"


def test_the_targets_files_lie_on_the_disk_and_the_recordings_do_not(tmp_path: Path) -> None:
    one = bench(tmp_path)
    with Disk(one.scratch) as disk:
        setting = one.setting(place=disk.place, mounts=disk.mounts)
        with Trial(setting, "power-loss") as trial:
            child = trial.produce(load=Load(batches=4))
            assert trial.wait_for_word(child, "idle")
            seen = Path(f"/proc/{child.pid}/root{disk.place}")
            assert [path.name for path in seen.iterdir()] == ["stream1"]
            assert list(disk.place.iterdir()) == [], "nobody else sees them"
            assert seen.stat().st_dev != one.recordings.stat().st_dev


def test_where_the_disk_cannot_be_made_the_fault_is_not_run_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disks, "_SIZE", 4096)
    (result,) = POWER.make(bench(tmp_path), 4)
    assert (result.ran, result.faults) == (False, ())
    ((kind, reason),) = [(each.kind, each.reason) for each in result.not_run]
    assert kind == "power"
    assert "mkfs" in reason


def test_a_keeper_that_dies_ends_its_trial_and_leaves_no_half_of_a_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dying(self: Disk) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self._ask("cut")

    monkeypatch.setattr(Disk, "cut", dying)
    one = bench(tmp_path)
    (result,) = POWER.make(one, 2)
    assert not result.ran
    assert "the keeper of the disk died" in result.not_run[0].reason
    assert list(one.recordings.iterdir()) == []


def test_a_disk_is_used_only_within_its_block(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="with block"):
        Disk(tmp_path / "scratch").cut()
    for entry in (tmp_path / "scratch").iterdir():
        entry.rmdir()


@pytest.mark.parametrize("moment", [0.0, 0.05])
def test_an_examination_killed_in_the_middle_leaves_no_process_mount_or_loop_device(tmp_path: Path, moment: float) -> None:
    with at_work(tmp_path, "power-loss") as child:
        until(lambda: bool([*tmp_path.glob("recordings/*-read-*")]), "a power loss to be near")
        time.sleep(moment)  # another place in the cycle of losses, whichever it is
        left = descendants(child.pid)
        child.kill()
    assert len(left) >= 3, "a keeper, a fork server and who was forked"
    all_end(left)


@pytest.mark.long
def test_twenty_power_losses(tmp_path: Path) -> None:
    one = bench(tmp_path, seed=17)
    assert fired(list(POWER.make(one, 20))) == (20, 20)
    assert verdict_of(one) == []
    lost = 0
    for history in histories(one.recordings).values():
        drained = {delivery.identity for drain in history.drains for delivery in drain.chain.deliveries}
        lost += sum(append.outcome is Outcome.OK and not append.anonymous and append.identity not in drained for append in history.appends)
    assert lost > 0, "some of what was acknowledged and not synced must really have been lost"


def test_a_disk_refuses_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disks, "_SIZE", 0)
    with pytest.raises(EnvironmentUnfit, match="power loss: mkfs"), Disk(tmp_path / "scratch"):
        pass
