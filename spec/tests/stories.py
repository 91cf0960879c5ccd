"""Where handmade histories are kept, and the promises most of them are told under."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from fireassay.spec.checks import Declared
from fireassay.spec.history.builder import TICK_NS, HistoryBuilder
from fireassay.spec.outcomes import Verdict

__all__ = ["COMPETING", "DEADLINE", "DENSE", "NUMBERLESS", "STREAM_SYNC", "SYNCED", "TOLD", "Handmade", "Kind", "tell", "two"]

Kind = Literal["clean", "violating", "info", "unknown"]
DEADLINE = 100 * TICK_NS
DENSE = Declared(total_order=True, deadline_ns=DEADLINE)
SYNCED = Declared(survives_process_death="after-sync", visible="sync", sync_scope="stream", deadline_ns=DEADLINE)
STREAM_SYNC = Declared(survives_process_death="after-sync", sync_scope="stream", deadline_ns=DEADLINE)
NUMBERLESS = Declared(positions="none", deadline_ns=DEADLINE)
COMPETING = Declared(readers="competing", deadline_ns=DEADLINE)


@dataclass(frozen=True)
class Handmade:
    clause: str
    kind: Kind
    name: str
    build: Callable[[HistoryBuilder], None]
    verdict: Verdict
    anomaly: str = ""  # or several, with a space between
    declared: Declared = DENSE


TOLD: list[Handmade] = []
Story = Callable[[HistoryBuilder], None]


def tell(
    clause: str, kind: Kind, anomaly: str = "", declared: Declared = DENSE, verdict: Verdict | None = None
) -> Callable[[Story], Story]:
    """Keep the story for this clause; one story may be told of several."""
    default = {"clean": Verdict.PASS, "violating": Verdict.FAIL, "info": Verdict.PASS, "unknown": Verdict.UNKNOWN}[kind]

    def keep(story: Story) -> Story:
        TOLD.append(Handmade(clause, kind, story.__name__, story, verdict or default, anomaly, declared))
        return story

    return keep


def two(h: HistoryBuilder) -> tuple[int, int]:
    """Two records of one producer, acknowledged one after the other at 0 and 1."""
    p = h.producer(1)
    p.append(0).ok(0)
    p.append(1).ok(1)
    return p.key(0), p.key(1)
