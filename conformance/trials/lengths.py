"""Seeded batches: lengths of every kind, the empty and the nameless among them."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from fireassay.conformance.trials.setting import Load
from fireassay.conformance.workload.payload import HEADER_SIZE

__all__ = ["Step", "steps"]


@dataclass(frozen=True, slots=True)
class Step:
    lengths: tuple[int, ...]
    sync: bool


def steps(load: Load, seed: int) -> Iterator[Step]:
    """The same for the same seed. Of two neighbours at most one is too small to say who wrote it, over all batches."""
    dice = random.Random(seed)
    named = True  # what was before, by another incarnation, may have had no name
    refused_at = dice.randrange(load.batches) if load.refused and load.batches else -1
    for number in range(load.batches):
        lengths: list[int] = []
        for _ in range(dice.randint(1, load.largest_batch)):
            length = _length(dice, load.longest)
            if length < HEADER_SIZE and named:
                length = HEADER_SIZE + length
            named = length < HEADER_SIZE
            lengths.append(length)
        if number == refused_at:
            yield Step((load.refused,), False)
        yield Step(tuple(lengths), dice.random() * load.sync_every < 1)


def _length(dice: random.Random, longest: int) -> int:
    kind = dice.random()
    if kind < 0.06:
        return 0
    if kind < 0.15:
        return dice.randrange(1, HEADER_SIZE)
    if kind < 0.25:
        return HEADER_SIZE
    if kind < 0.9:
        return dice.randint(HEADER_SIZE, min(200, longest))
    return dice.randint(HEADER_SIZE, longest)
