"""Trials of real processes: what they record, how they end whatever the target does, and that nobody is left."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fireassay.conformance.targets import load
from fireassay.conformance.trials import Load, Setting, Trial, convictions, histories, judge_trials, kill_random, steady
from fireassay.conformance.trials.children import stop_server
from fireassay.conformance.trials.setting import MAIN_STREAM
from fireassay.spec.history.ops import Op
from fireassay.spec.outcomes import HarnessError

DEADLINE_S = 0.4
SMALL = Load(batches=6, linger=False)


@pytest.fixture(scope="module", autouse=True)
def nobody_is_left() -> Iterator[None]:
    yield
    stop_server()


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    print("seed 3")
    return Setting(
        target="plainlog", trial="0001", recordings=tmp_path / "recordings", place=tmp_path / "place", seed=3, deadline_s=DEADLINE_S
    )


def faulty(setting: Setting, fault: str) -> Setting:
    return replace(setting, target=f"py:fireassay.conformance.targets.faulty:make?fault={fault}")


def said(setting: Setting) -> list[str]:
    return convictions(judge_trials(setting.recordings, load("plainlog", setting.place).promises, setting.deadline_s))


def lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_an_undisturbed_trial_is_sound_and_its_place_is_gone_afterwards(setting: Setting) -> None:
    result = steady(setting, reopens=2, load=SMALL)
    assert (result.faults, result.incidents, result.not_run) == ((), (), ())
    assert not setting.place.exists()
    assert said(setting) == []
    (history,) = histories(setting.recordings).values()
    assert len(history.events_of(Op.SPAWN)) == len(history.events_of(Op.EXIT)), "whoever began was seen to end"


def test_only_the_trials_that_are_asked_for_are_judged(setting: Setting) -> None:
    for trial in ("0001", "0002"):
        steady(replace(setting, trial=trial), reopens=1, load=SMALL)
    assert list(histories(setting.recordings)) == ["0001", "0002"]
    assert list(histories(setting.recordings, only=["0002"])) == ["0002"]


def test_recordings_never_lie_where_faults_are_made(setting: Setting) -> None:
    with pytest.raises(HarnessError, match="to which the faults are made"):
        Trial(replace(setting, recordings=setting.place / "recordings"), "any")


def test_a_writer_that_hangs_is_killed_in_time_and_the_history_says_so(setting: Setting) -> None:
    with Trial(faulty(setting, "hang-write"), "any") as trial:
        writer = trial.produce(load=SMALL)
        assert not trial.wait_for_end(writer)
    assert not lives(writer.pid)
    assert f"did not end within {setting.patience_s:g} s and was killed" in trial.result().incidents[0]
    (history,) = histories(setting.recordings).values()
    assert [row.key for row in history.events_of(Op.WATCHDOG)] == [writer.spec.actor]
    assert any("LOG-23 stuck-writer" in sentence for sentence in said(setting))


def test_a_target_that_refuses_is_an_incident_and_its_planned_deaths_stay_planned(setting: Setting) -> None:
    result = kill_random(replace(setting, target="py:nowhere:make"), kills=3)
    assert (result.planned, result.fired) == (3, 0)
    assert "nowhere cannot be imported" in result.incidents[0]
    assert all("the trial was over before" in fault.reason for fault in result.faults)


def test_whatever_breaks_the_coordinator_no_process_is_left(setting: Setting) -> None:
    begun: list[int] = []

    def breaks() -> None:
        with Trial(setting, "any") as trial:
            writer = trial.produce()
            trial.wait_for_word(writer, "idle")
            begun.extend([writer.pid, trial.read("one").pid])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        breaks()
    assert [lives(pid) for pid in begun] == [False, False]


def test_a_death_that_somebody_else_made_is_no_fault_that_fired(setting: Setting) -> None:
    with Trial(setting, "any") as trial:
        writer = trial.produce()
        trial.wait_for_word(writer, "idle")
        os.kill(writer.pid, signal.SIGKILL)
        fault = trial.struck(writer, "somewhere", 1, hits=lambda: 0, fired=lambda: False)
        assert (fault.fired, fault.reason) == (False, "its life ended after 0 hits")
        assert trial.recover()


def test_the_writer_after_a_death_says_that_it_recovers(setting: Setting) -> None:
    with Trial(setting, "any") as trial:
        writer = trial.produce()
        trial.wait_for_word(writer, "idle")
        assert trial.kill(writer).fired
        assert trial.recover()
        assert trial.recover(), "after a clean close there is nothing to recover from"
    (history,) = histories(setting.recordings).values()
    assert [row.stream for row in history.events_of(Op.RECOVERY_END)] == [MAIN_STREAM]
    assert said(setting) == []


class Uncut:
    """A supply that forgets to fail."""

    def cut(self) -> None: ...

    def restore(self) -> str:
        return "nothing was lost"


def test_a_power_loss_ends_every_process_even_where_it_took_nothing(setting: Setting) -> None:
    with Trial(setting, "any") as trial:
        writer = trial.produce()
        trial.wait_for_word(writer, "idle")
        reader = trial.read("one")
        trial.listen_for(reader, "idle")
        fault = trial.power_loss(Uncut(), "anywhere")
        assert (fault.kind, fault.fired, fault.reason, fault.victim) == ("power", False, "nothing was lost", 0)
        assert not lives(writer.pid)
        assert not lives(reader.pid)
        assert trial.recover()
    (history,) = histories(setting.recordings).values()
    assert [crash.grade for crash in history.crashes if crash.known] == [], "nobody knows what such a loss took"
