"""Writers killed with −9 when all that they appended has been acknowledged: then everything is owed, whenever the kill comes."""

from fireassay.conformance.trials.results import TrialResult
from fireassay.conformance.trials.setting import Load, Setting
from fireassay.conformance.trials.trial import Trial

__all__ = ["kill_idle"]

_LOAD = Load(batches=12)


def kill_idle(setting: Setting, *, kills: int, repeat: str = "") -> TrialResult:
    """Each death is followed by recovery, sentinel and drain before the next writer begins."""
    with Trial(setting, "kill-idle", repeat) as trial:
        for _ in range(kills):
            writer = trial.produce(load=_LOAD)
            if not trial.wait_for_word(writer, "idle"):
                break
            trial.kill(writer, where="idle")
            if not trial.recover():
                break
    return trial.result()
