"""No fault: one writer at a time, reopened again and again, while two readers go on and one of them restarts."""

from fireassay.conformance.trials.children import Child
from fireassay.conformance.trials.results import TrialResult
from fireassay.conformance.trials.setting import Load, Setting
from fireassay.conformance.trials.trial import Trial

__all__ = ["steady"]

_TOO_LARGE_TO_TRY = 64 << 20


def steady(
    setting: Setting, *, reopens: int = 4, load: Load | None = None, max_payload: int | None = None, repeat: str = ""
) -> TrialResult:
    """`max_payload`: the declared bound, of which one byte more must be refused."""
    plain = load or Load(linger=False)
    refused = max_payload + 1 if max_payload is not None and max_payload < _TOO_LARGE_TO_TRY else 0
    with Trial(setting, "steady", repeat) as trial:
        readers: list[Child] = []
        for number in range(reopens):
            writer = trial.produce(load=_with(plain, refused if number == 1 else 0))
            if not trial.wait_for_word(writer, "opened"):
                break
            if not readers:
                readers = [trial.read("one"), trial.read("two")]
            if number % 2:
                trial.stop(readers[1:])
                readers[1:] = [trial.read("two")]
            if not trial.wait_for_end(writer):
                break
        trial.recover()
        trial.stop(readers)
    return trial.result()


def _with(load: Load, refused: int) -> Load:
    return Load(
        batches=load.batches,
        largest_batch=load.largest_batch,
        longest=load.longest,
        sync_every=load.sync_every,
        refused=refused,
        linger=False,
    )
