"""Writers killed with −9 at drawn instants, one after the other, while the same two readers go on.

One in four has written its load and waits: a writer that syncs often spends most of its time in that, and a death there would hardly
ever find something acknowledged and not yet stored.
"""

from fireassay.conformance.trials.children import Child
from fireassay.conformance.trials.results import TrialResult
from fireassay.conformance.trials.setting import Load, Setting
from fireassay.conformance.trials.trial import Trial

__all__ = ["kill_random"]

_LATEST_S = 0.04  # after the open: a writer of this load is still at work then
_LOAD = Load(batches=2000)
_IDLE_IN = 4
_IDLE_LOAD = Load(batches=12)


def kill_random(setting: Setting, *, kills: int, repeat: str = "") -> TrialResult:
    """Each death is followed by recovery, sentinel and drain before the next writer begins."""
    with Trial(setting, "kill-random", repeat) as trial:
        readers: list[Child] = []
        for left in range(kills, 0, -1):
            idle = (kills - left) % _IDLE_IN == 1
            writer = trial.produce(load=_IDLE_LOAD if idle else _LOAD)
            if not trial.wait_for_word(writer, "idle" if idle else "opened"):
                trial.forgo("kill", "random", times=left)
                break
            if not readers:
                readers = [trial.read("one"), trial.read("two")]
            if not idle:
                trial.pause(_LATEST_S * trial.dice.random() ** 2)  # most die young, so that many can die
            trial.kill(writer, where="idle" if idle else "random")
            if not trial.recover():
                trial.forgo("kill", "random", times=left - 1)
                break
        trial.stop(readers)
    return trial.result()
