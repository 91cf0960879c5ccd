"""Writers killed with −9 at drawn instants, one after the other, while the same two readers go on."""

from fireassay.conformance.trials.children import Child
from fireassay.conformance.trials.results import TrialResult
from fireassay.conformance.trials.setting import Load, Setting
from fireassay.conformance.trials.trial import Trial

__all__ = ["kill_random"]

_LATEST_S = 0.06  # after the open: a writer of this load is still at work then
_LOAD = Load(batches=2000)


def kill_random(setting: Setting, *, kills: int, repeat: str = "") -> TrialResult:
    """Each death is followed by recovery, sentinel and drain before the next writer begins."""
    with Trial(setting, "kill-random", repeat) as trial:
        readers: list[Child] = []
        for _ in range(kills):
            writer = trial.produce(load=_LOAD)
            if not trial.wait_for_word(writer, "opened"):
                break
            if not readers:
                readers = [trial.read("one"), trial.read("two")]
            trial.pause(trial.dice.uniform(0.0, _LATEST_S))
            trial.kill(writer)
            if not trial.recover():
                break
        trial.stop(readers)
    return trial.result()
