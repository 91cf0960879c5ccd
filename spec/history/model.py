"""What rows mean once invokes and completions are paired: calls, appends, deliveries, crashes, chains, drains.

Times are bounds that never claim too much: `t_invoke` is at or before the true start, `t_done` at or after the true end.
An operation inside a run row has the run's bounds, and its exact place only in the order of its own actor.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from fireassay.spec.history.ops import Flag, Op
from fireassay.spec.history.row import Row
from fireassay.spec.outcomes import Outcome

__all__ = ["NEVER", "NO_PLACE", "Actor", "Append", "Boundary", "Call", "Cause", "Chain", "Crash", "Delivery", "Drain", "Grade", "Place"]

Grade = Literal["process", "power"]  # of a crash: different promises
NEVER = 1 << 64  # later than every time a row can hold
Place = tuple[int, int]  # (row number within the actor's recording, place within a run row)
NO_PLACE: Place = (NEVER, 0)
_ANON = int(Flag.ANON)  # plain numbers: asked of every delivery, and flags are slow
_UNIDENTIFIED = int(Flag.ANON | Flag.BAD_DECODE)


class Cause(IntEnum):
    """`key` of a report row: what the target itself says happened to the range. 0 is no cause and excuses nothing."""

    GAP = 1
    DAMAGE = 2
    RESET = 3
    DROP = 4


@dataclass(frozen=True, slots=True)
class Actor:
    """One line of a recording's actor table. `process` is the pid; 0 means that nobody knows it."""

    id: int
    role: str = ""
    process: int = 0
    incarnation: int = 0
    group: int = 0
    domain: str = ""  # clock domain: times of two domains are never compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One operation. Never completed means `done` is NO_PLACE and the outcome is info."""

    op: Op
    actor: int
    stream: int
    outcome: Outcome
    t_invoke: int
    t_done: int
    invoked: Place
    done: Place
    row: Row  # the completion, or the invoke where there is none
    waits: bool = False  # invoked with WAIT: it may block as long as there is nothing to do
    in_run: bool = False  # an open run row is no pending call: it only says that the recorder was not told of an end


@dataclass(frozen=True, slots=True, kw_only=True)
class Append(Call):
    identity: int
    position: int | None = None  # only an ok append has one
    anonymous: bool = False  # its payload is too small to carry the identity
    length: int = 0
    digest: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery(Call):
    identity: int
    position: int

    @property
    def nameless(self) -> bool:
        return bool(int(self.row.flags) & _ANON)

    @property
    def identified(self) -> bool:
        """Its payload says truly who wrote it: neither anonymous nor damaged."""
        return not int(self.row.flags) & _UNIDENTIFIED


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """An interval in which processes died. `known` is False where the victim is no actor: it may have been more than processes.

    In a power loss everything ends that was there, and what its processes were told in the interval itself is not owed.
    """

    victims: frozenset[int]
    t_begin: int
    t_end: int
    provoked: bool
    known: bool
    signal: int
    domain: str
    row: Row
    grade: Grade = "process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """Between two recovery epochs of one stream. Inside [t_begin, t_end] nobody can say which of the two holds."""

    t_begin: int
    t_end: int
    recovered_end: int  # positions at or after it may be used again; 0 where unknown
    recorded: bool  # by a recovery row
    victims: frozenset[int]
    domain: str
    actor: int  # who recorded the end, and where: its own later calls are after it
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A reader's deliveries of one stream between two cuts (open, seek, assign, revoke, drain, close)."""

    actor: int
    stream: int
    group: int
    start: int | None  # granted; None where it was never said
    deliveries: tuple[Delivery, ...]
    ends: tuple[Call, ...]  # reads that said END
    unsure: tuple[Call, ...] = ()  # reads of unknown outcome: each may have taken records that nobody got
    draining: bool = False

    def unsure_between(self, one: Place, two: Place) -> bool:
        return any(one < read.invoked < two for read in self.unsure)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    chain: Chain
    begin: Call
    end: Call | None  # DRAIN_END, wherever it came; of outcome ok unless it was given up
    flaw: str  # why it says nothing about loss; empty when it is complete

    @property
    def complete(self) -> bool:
        return not self.flaw
