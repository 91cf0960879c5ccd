"""The lives that a process of a target leads: counted once undisturbed, then led again by those who die in them."""

from enum import Enum
from typing import Any

from fireassay.conformance.trials import Load, Trial
from fireassay.conformance.trials.children import Child

__all__ = ["LOAD", "Life", "lead"]

LOAD = Load(batches=40, sync_every=8, linger=False)


class Life(Enum):
    """In the order of preference: a death in the first life that passes a failpoint is the one that is planned."""

    REOPENED = "a writer takes up a stream"
    FRESH = "a writer makes a stream"
    NEW_READER = "a reader comes for the first time"
    OLD_READER = "a reader comes again"
    WAITING_READER = "a reader has read everything and waits"

    @property
    def reads(self) -> bool:
        return self not in (Life.REOPENED, Life.FRESH)


def lead(trial: Trial, life: Life, *, name: str, seed: int, **where: Any) -> Child:
    """A process that leads this life, and ends by itself. `name` is a reader's own."""
    if not life.reads:
        return trial.produce(load=LOAD, seed=seed, **where)
    child = trial.read(name, follows=life is Life.WAITING_READER, seed=seed, **where)
    if life is Life.WAITING_READER:
        trial.listen_for(child, "idle")
        child.tell("stop")
    return child
