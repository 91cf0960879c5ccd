"""The small port: all that the examination asks of a durable log or bus.

Every call comes back with an outcome, never with an exception for what the log itself does:

| outcome | an append says | a sync, commit or seek says | a read says |
|---|---|---|---|
| ok | the records are in the log at these positions | what it promises holds from now on | these records, in this order |
| fail | none of the records is in the log, nor ever will be | nothing has changed | nothing was delivered |
| info | unknown; each record may appear later, once, or never | unknown | unknown; some may count as delivered |

`fail` is a strong word: an error after bytes may have reached the file, a timeout, and a caller that died are `info`. An adapter
that cannot tell says `info`. An exception out of a port is the adapter's own fault and is recorded as `info` too.

Calls take batches, so that the harness costs a fraction of the operation it measures; a batch of one is a batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from fireassay.spec.capability import Capability
from fireassay.spec.outcomes import ErrorClass, Outcome
from fireassay.spec.promises import Promises, SeekBy

__all__ = [
    "AppendResult",
    "CallResult",
    "FailpointAction",
    "FailpointControl",
    "PortError",
    "ReadBatch",
    "ReaderPort",
    "Record",
    "Report",
    "ReportCause",
    "SeekResult",
    "Target",
    "TypedWriterPort",
    "WriterPort",
]


@dataclass(frozen=True, slots=True)
class PortError:
    """Why a call was not ok: its class, the errno if there was one, and the target's own words."""

    error: ErrorClass
    errno: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """Of sync, commit and close. ok: it holds; fail: nothing changed; info: unknown."""

    outcome: Outcome
    error: PortError | None = None  # present exactly where outcome is not ok

    def __post_init__(self) -> None:
        if (self.outcome is Outcome.OK) != (self.error is None):
            raise ValueError(f"an outcome of {self.outcome.value} with error {self.error}: only what is not ok has an error")


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendResult(CallResult):
    """Of a batch of appends, which may end in the middle.

    The first len(positions) payloads are ok. The outcome is that of all others: ok where there are none, fail where each of them
    certainly left no trace, info where any of them may have. Positions are 0 where the target promises none.
    """

    positions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeekResult(CallResult):
    """Of a seek. ok: the next record read is the first at or after `granted`."""

    granted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One delivery. A zero-copy payload is valid until the next call on its reader."""

    position: int
    payload: bytes | memoryview
    id: bytes = b""  # the target's own id, where it has ids
    timestamp_ns: int | None = None  # the target's own, where it has timestamps


class ReportCause(StrEnum):
    """Why the target says, by itself, that a range cannot be delivered."""

    GAP = "gap"
    DAMAGE = "damage"
    RESET = "reset"
    DROP = "drop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The target's own word on positions from `begin` up to, not including, `end`."""

    cause: ReportCause
    begin: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBatch(CallResult):
    """Of a read. ok: `records` were delivered in this order, after `reports`; `end` says that the reader saw the end of the log.

    An ok batch may be empty without `end`: the wait was over before anything came. Only `end` claims that there was nothing.
    """

    records: tuple[Record, ...] = ()
    end: bool = False
    reports: tuple[Report, ...] = field(default=())


class _Closing(Protocol):
    """Leaving the context closes; closing twice is ok."""

    def close(self) -> CallResult: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


@runtime_checkable
class WriterPort(_Closing, Protocol):
    """One open writer of one stream; used by one thread at a time."""

    @property
    def granted(self) -> int:
        """The position after the last record it found on opening."""

    def append_batch(self, payloads: Sequence[bytes]) -> AppendResult:
        """Append in order. Under pressure it waits or refuses, as declared; a refusal is fail with WOULD_BLOCK or FULL."""

    def sync(self) -> CallResult:
        """ok: every append that the declared scope covers and that was ok before this call is as durable as declared."""


@runtime_checkable
class TypedWriterPort(WriterPort, Protocol):
    """A writer of a log whose records have types, as chronicle's have. A target may offer it; no clause of the LOG contract asks for it."""

    def append_typed(self, type_id: int, payloads: Sequence[bytes]) -> AppendResult:
        """As append_batch, with records of this type, 0 to 65535. One that users may not append is refused with INVALID."""


@runtime_checkable
class ReaderPort(_Closing, Protocol):
    """One open reader of one stream, alone or as a member of a group; used by one thread at a time."""

    @property
    def granted(self) -> int:
        """The position from which it reads on opening: the resume point, or the first retained one."""

    def read_batch(self, limit: int, wait_s: float) -> ReadBatch:
        """Deliver at most `limit` records; wait up to `wait_s` for the first, 0 for not at all."""

    def commit(self, position: int) -> CallResult:
        """Everything before `position` is done with. In a competing group this acknowledges the records delivered before it."""

    def seek(self, by: SeekBy, request: int | bytes) -> SeekResult:
        """Go to the first record that qualifies: position, timestamp in ns, or id at or after `request`."""


@runtime_checkable
class Target(Protocol):
    """A log under examination. The object itself holds nothing open; several processes may each have one on the same place."""

    @property
    def name(self) -> str:
        """As in the entry-point group `fireassay.targets`."""

    @property
    def promises(self) -> Promises:
        """What it is examined for; fixed for the life of the object."""

    @property
    def digest(self) -> str:
        """What is examined, as the certificate names it: "sha256:" and the hash of its binary."""

    @property
    def capabilities(self) -> Sequence[Capability]:
        """What this machine lets it do; what is not available leaves clauses not-run, never passed."""

    def open_writer(self, stream: str) -> WriterPort:
        """Open, recovering first where the last owner died. TargetError says why not (another writer is alive, damage)."""

    def open_reader(self, stream: str, name: str, group: str | None = None) -> ReaderPort:
        """Open under a name that survives restarts: the same name resumes at its last commit. TargetError says why not."""


class FailpointAction(IntEnum):
    """What an armed failpoint does. The numbers stand in control files."""

    CRASH = 1  # SIGKILL of the own process
    ERROR = 2  # the call fails with an errno and is not made
    STOP = 3  # SIGSTOP of the own process
    COUNT = 4


class FailpointControl(Protocol):
    """Arms failpoints from one process in others, which attached it as they loaded the target: FIREASSAY_FAILPOINTS names its file."""

    def names(self) -> Sequence[str]: ...

    def arm(self, name: str, action: FailpointAction, nth: int = 1) -> None:
        """From now on the n-th hit acts; counters start at zero."""

    def arm_all(self, action: FailpointAction) -> None: ...

    def disarm(self, name: str) -> None:
        """Counters stay to be read."""

    def hits(self, name: str) -> int: ...

    def fired(self, name: str) -> int: ...
