"""Power cut below a target that writes, recovers, or makes a stream: what was synced is there afterwards, and the rest is a prefix.

The trial's place lies on a disk of its own. All processes stand still, the disk loses what was not durable, and no process goes on. A
loss counts as fired only where a mark that was written and not synced is gone.
"""

from collections.abc import Iterator

from fireassay.chaos.bench import Bench
from fireassay.chaos.engines.engine import Engine, in_trials, not_run
from fireassay.chaos.power.disk import Disk
from fireassay.conformance.trials import Load, Setting, Trial, TrialResult
from fireassay.conformance.trials.setting import MAIN_STREAM
from fireassay.spec.outcomes import EnvironmentUnfit

__all__ = ["POWER_LOSS"]

_PER_TRIAL = 6
_LATEST_S = 0.04  # after the open, while it writes
_OPENING_S = 0.01  # an open takes about as long
_LOAD = Load(batches=2000, sync_every=8)
_APPENDING, _RECOVERING, _CREATING = "while a writer appends", "while a writer recovers", "while a writer makes a stream"
_SCENES = (_APPENDING, _APPENDING, _RECOVERING, _CREATING)


def _make(bench: Bench, losses: int) -> Iterator[TrialResult]:
    return in_trials(bench, losses, _PER_TRIAL, lambda way, some: _lose(bench, way, some))


def _lose(bench: Bench, way: str, losses: int) -> TrialResult:
    setting: Setting | None = None
    try:
        with Disk(bench.scratch) as disk:
            setting = bench.setting(target=way, place=disk.place, mounts=disk.mounts)
            with Trial(setting, "power-loss", bench.repeat) as trial:
                _Losses(trial, disk).make(losses)
            return trial.result()
    except EnvironmentUnfit as error:
        bench.discard(setting)
        return not_run(bench, "power-loss", "power", str(error))


class _Losses:
    def __init__(self, trial: Trial, disk: Disk) -> None:
        self._trial, self._disk = trial, disk
        self._streams = [MAIN_STREAM]

    def make(self, losses: int) -> None:
        """Each is followed by recovery and drain before the next, except that the power goes again while a writer recovers."""
        trial, scenes = self._trial, [_SCENES[number % len(_SCENES)] for number in range(losses)]
        for number, scene in enumerate(scenes):
            if not self._lose(scene) or (scenes[number + 1 : number + 2] != [_RECOVERING] and not trial.recover()):
                for left in scenes[number + 1 :]:
                    trial.forgo("power", left)
                return
        for stream in self._streams[1:]:
            trial.recover(stream=stream)  # drained after the last loss

    def _lose(self, scene: str) -> bool:
        trial = self._trial
        if scene == _CREATING:
            self._streams.append(max(self._streams) + 1)
        writer = trial.produce(load=_LOAD, stream=self._streams[-1] if scene == _CREATING else MAIN_STREAM)
        if scene == _APPENDING:
            if not trial.wait_for_word(writer, "opened"):
                trial.forgo("power", scene)
                return False
            for reader in [trial.read("one"), trial.read("two")]:
                trial.listen_for(reader, "opened")
        else:
            trial.listen_for(writer, "target")  # it is about to open
        trial.pause(trial.dice.random() * (_LATEST_S if scene == _APPENDING else _OPENING_S))
        trial.power_loss(self._disk, scene)
        return True


POWER_LOSS = Engine(
    name="power-loss",
    kind="power",
    what="power cut below a writer that appends, recovers or makes a stream; all that was not synced is lost, all processes end",
    unit="losses",
    amounts={"smoke": 0, "quick": 12, "long": 60},
    make=_make,
)
