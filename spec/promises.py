"""The promises a target declares: what it is examined for, and printed on its certificate.

A promise file is TOML; every table may be left out, and what is left out is not promised. The dataclasses here are the only
definition: the linter (promises_schema.py), the JSON Schema (promises.schema.json) and the text of a file follow from them.

| table | says |
|---|---|
| survives.process_death, survives.power_loss | which records are owed after the crash, and the tail that may be lost |
| cursors.process_death, cursors.power_loss | the same for committed cursors |
| sync | what one sync covers |
| visible | when a record may be read: at append or at sync |
| writers, readers | how many, in which order, what may come again |
| position | what a position is worth; whether ids and timestamps are ordered |
| pressure | blocks or refuses when there is no room |
| retention | whose records stay |
| damage | how damage is noticed |
| seek | what can be sought |
| bounds | numbers with a unit in the name |
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from fireassay.spec.clause import Clause

__all__ = [
    "CONDITIONS",
    "VERSION",
    "After",
    "Bounds",
    "Condition",
    "CursorAfter",
    "CursorSurvival",
    "Cursors",
    "Damage",
    "Detection",
    "Order",
    "Position",
    "PositionKind",
    "Pressure",
    "Promises",
    "PromisesError",
    "Protects",
    "ReaderKind",
    "Readers",
    "Redelivery",
    "Retention",
    "Scope",
    "Seek",
    "SeekBy",
    "Survival",
    "Survives",
    "Sync",
    "Visible",
    "WriterCount",
    "Writers",
    "applicable",
]

VERSION = 1  # of the promise file


class After(StrEnum):
    """From when on a record is owed."""

    APPEND = "append"  # its append was ok
    SYNC = "sync"  # a sync that covers it was ok
    NEVER = "never"


class CursorAfter(StrEnum):
    """From when on a committed cursor is owed."""

    COMMIT = "commit"  # its commit was ok
    SYNC = "sync"  # a sync after the commit was ok
    NEVER = "never"


class Scope(StrEnum):
    """Whose appends one sync covers."""

    NONE = "none"  # there is no sync
    HANDLE = "handle"
    STREAM = "stream"
    ALL = "all"


class Visible(StrEnum):
    APPEND = "append"
    SYNC = "sync"


class WriterCount(StrEnum):
    ONE = "one"
    MANY = "many"


class Order(StrEnum):
    PRODUCER = "producer"  # each producer's records in its own order
    TOTAL = "total"  # and across producers, where one append ended before another began


class ReaderKind(StrEnum):
    INDEPENDENT = "independent"
    EXCLUSIVE_SHARDS = "exclusive-shards"  # a group; each shard belongs to one member at a time
    COMPETING = "competing"  # a group; each record goes to one member


class Redelivery(StrEnum):
    RESTART = "restart"
    ACK_TIMEOUT = "ack-timeout"
    REBALANCE = "rebalance"


class PositionKind(StrEnum):
    DENSE = "dense"
    INCREASING = "increasing"
    NONE = "none"


class Pressure(StrEnum):
    BLOCKS = "blocks"
    REFUSES = "refuses"


class Protects(StrEnum):
    ALL = "all"  # nothing is ever removed that any known reader lacks, living or not
    LIVE = "live"  # what living readers still need
    NONE = "none"


class Detection(StrEnum):
    CHECKSUM = "checksum"
    STRUCTURE = "structure"
    NONE = "none"


class SeekBy(StrEnum):
    POSITION = "position"
    TIME = "time"
    ID = "id"


def _at_least(minimum: int, text: str) -> dict[str, Any]:
    return {"minimum": minimum, "text": text}


@dataclass(frozen=True, slots=True, kw_only=True)
class Survival:
    """What survives one grade of crash. Without a tail nothing owed may be lost; with both, the larger loss is allowed."""

    after: After = field(default=After.NEVER, metadata={"text": "a record is owed once its append, or a covering sync, was ok"})
    tail_records: int | None = field(default=None, metadata=_at_least(1, "the last N owed records may be lost"))
    tail_ms: int | None = field(default=None, metadata=_at_least(1, "owed records of the last M milliseconds may be lost"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorSurvival:
    """What survives of committed cursors in one grade of crash."""

    after: CursorAfter = field(default=CursorAfter.NEVER, metadata={"text": "a cursor is owed once its commit, or a later sync, was ok"})
    tail_records: int | None = field(default=None, metadata=_at_least(1, "the cursor may fall back by N records"))
    tail_ms: int | None = field(default=None, metadata=_at_least(1, "commits of the last M milliseconds may be lost"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Survives:
    """Records, for each grade of crash on its own."""

    process_death: Survival = Survival()
    power_loss: Survival = Survival()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursors:
    """Committed cursors, for each grade of crash on its own."""

    process_death: CursorSurvival = CursorSurvival()
    power_loss: CursorSurvival = CursorSurvival()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync:
    """What one sync covers."""

    scope: Scope = field(default=Scope.NONE, metadata={"text": "whose appends one sync covers; none: there is no sync"})
    covers_other_processes: bool = field(default=False, metadata={"text": "a sync covers appends of other processes too"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Writers:
    """How many writers a stream has at a time, and the order readers see."""

    count: WriterCount = field(default=WriterCount.ONE, metadata={"text": "writers of one stream at a time"})
    order: Order = field(default=Order.PRODUCER, metadata={"text": "order kept: of each producer, or total across producers"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """How readers share a stream, and what may make a record come again."""

    kinds: tuple[ReaderKind, ...] = field(default=(ReaderKind.INDEPENDENT,), metadata={"nonempty": True, "text": "kinds of reader offered"})
    redelivery: tuple[Redelivery, ...] = field(default=(), metadata={"text": "what may make a delivered record come again"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """What a position is worth."""

    kind: PositionKind = field(default=PositionKind.NONE, metadata={"text": "dense: each next is one more; increasing: only larger"})
    ordered_ids: bool = field(default=False, metadata={"text": "ids grow along the log"})
    ordered_timestamps: bool = field(default=False, metadata={"text": "timestamps never fall along the log"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Whose records stay."""

    protects: Protects = field(default=Protects.NONE, metadata={"text": "whose unread records retention keeps"})
    drop_past_lag: int | None = field(default=None, metadata=_at_least(1, "a reader more than L records behind may be dropped"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """How damage to stored bytes is noticed."""

    detection: Detection = field(default=Detection.NONE, metadata={"text": "damage noticed: any (checksum), of framing (structure)"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Seek:
    """What can be sought."""

    by: tuple[SeekBy, ...] = field(default=(), metadata={"text": "keys by which a reader can seek"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Numbers the target stands for; one left out is not promised."""

    max_payload: int | None = field(default=None, metadata=_at_least(1, "largest payload accepted, in bytes"))
    recovery_ms: int | None = field(default=None, metadata=_at_least(1, "recovery after a crash ends within this time"))
    staleness_ms: int | None = field(default=None, metadata=_at_least(0, "an END may miss records visible for no longer than this"))
    release_ms: int | None = field(default=None, metadata=_at_least(1, "what a dead reader held is free again within this time"))


class PromisesError(ValueError):
    """A promise file that does not hold together; the text names each place, what is wrong and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises:
    """All that a target promises."""

    version: int = field(default=VERSION, metadata={"const": VERSION, "required": True, "text": "version of the promise file"})
    survives: Survives = Survives()
    cursors: Cursors = Cursors()
    sync: Sync = Sync()
    visible: Visible = field(default=Visible.APPEND, metadata={"text": "when a record may be read"})
    writers: Writers = Writers()
    readers: Readers = Readers()
    position: Position = Position()
    pressure: Pressure | None = field(default=None, metadata={"text": "what an append does when there is no room"})
    retention: Retention = Retention()
    damage: Damage = Damage()
    seek: Seek = Seek()
    bounds: Bounds = Bounds()

    @classmethod
    def from_toml(cls, text: str, where: str) -> "Promises":
        """Read a promise file; PromisesError lists every problem, each with `where`, its path and the remedy."""
        from fireassay.spec.promises_schema import build, lint  # the linter is derived from this class

        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise PromisesError(f"{where}: not TOML: {error}; correct the syntax at that place") from None
        problems = lint(document, where)
        if problems:
            raise PromisesError("\n".join(str(problem) for problem in problems))
        return build(document)

    def to_toml(self) -> str:
        """The file that says exactly this, defaults included; what is not promised at all (None) is left out."""
        return "\n".join(_tables(self, ())) + "\n"


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, StrEnum):
        return f'"{value.value}"'
    if isinstance(value, tuple):
        return f"[{', '.join(_literal(item) for item in value)}]"
    return str(value)


def _tables(node: Any, path: tuple[str, ...]) -> list[str]:
    """Plain keys first, then the tables below: TOML has no way back to an outer table."""
    values = [(entry.name, getattr(node, entry.name)) for entry in fields(node)]
    plain = [f"{name} = {_literal(value)}" for name, value in values if value is not None and not is_dataclass(value)]
    lines = ["", f"[{'.'.join(path)}]", *plain] if path and plain else plain
    for name, value in values:
        if is_dataclass(value):
            lines += _tables(value, (*path, name))
    return lines


@dataclass(frozen=True, slots=True)
class Condition:
    """A named question to the promises; a clause that needs it is not applicable where the answer is no."""

    name: str
    text: str
    holds: Callable[[Promises], bool]


_GROUPS = {ReaderKind.EXCLUSIVE_SHARDS, ReaderKind.COMPETING}

_ALL = (
    Condition("survives-process-death", "records survive process death", lambda p: p.survives.process_death.after is not After.NEVER),
    Condition("survives-power-loss", "records survive power loss", lambda p: p.survives.power_loss.after is not After.NEVER),
    Condition("damage-detection", "damage is detected", lambda p: p.damage.detection is not Detection.NONE),
    Condition("visible-at-sync", "records become visible at sync", lambda p: p.visible is Visible.SYNC),
    Condition("total-order", "order is total across producers", lambda p: p.writers.order is Order.TOTAL),
    Condition("one-writer", "a stream has one writer at a time", lambda p: p.writers.count is WriterCount.ONE),
    Condition("many-writers", "a stream may have many writers", lambda p: p.writers.count is WriterCount.MANY),
    Condition("reader-groups", "readers form groups", lambda p: not _GROUPS.isdisjoint(p.readers.kinds)),
    Condition("competing-group", "members of a group compete for records", lambda p: ReaderKind.COMPETING in p.readers.kinds),
    Condition("positions", "records have positions", lambda p: p.position.kind is not PositionKind.NONE),
    Condition(
        "ordered-ids-or-timestamps", "ids or timestamps are ordered", lambda p: p.position.ordered_ids or p.position.ordered_timestamps
    ),
    Condition("seekable", "a reader can seek", lambda p: bool(p.seek.by)),
    Condition("retention", "retention protects readers", lambda p: p.retention.protects is not Protects.NONE),
    Condition(
        "durable-cursors",
        "committed cursors survive process death or power loss",
        lambda p: any(grade.after is not CursorAfter.NEVER for grade in (p.cursors.process_death, p.cursors.power_loss)),
    ),
    Condition("bounded-recovery", "recovery time is bounded", lambda p: p.bounds.recovery_ms is not None),
    Condition("bounded-staleness", "staleness is bounded", lambda p: p.bounds.staleness_ms is not None),
    Condition("pressure-declared", "behaviour under pressure is declared", lambda p: p.pressure is not None),
    Condition("max-payload", "the largest payload is declared", lambda p: p.bounds.max_payload is not None),
)

CONDITIONS: Mapping[str, Condition] = MappingProxyType({condition.name: condition for condition in _ALL})


def applicable(clause: Clause, promises: Promises) -> bool:
    """Whether every condition the clause needs holds. KeyError where it names a condition that does not exist."""
    needed = [CONDITIONS[need] for need in clause.needs]
    return all(condition.holds(promises) for condition in needed)
