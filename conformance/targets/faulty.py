"""Targets with one deliberate fault each, for the examiner's own tests:

    py:fireassay.conformance.targets.faulty:make?fault=drop&of=plainlog&nth=5

`of` is any other target's spec (`?` and `&` in it as %3F and %26); `nth` counts the records, or the calls, up to the fault.
"""

import os
import random
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from fireassay.conformance.targets.options import refuse_unknown, whole_number
from fireassay.conformance.targets.registry import load
from fireassay.spec.capability import Capability
from fireassay.spec.outcomes import ErrorClass, HarnessError, Outcome, TargetError
from fireassay.spec.ports import AppendResult, CallResult, PortError, ReadBatch, ReaderPort, Record, SeekResult, Target, WriterPort
from fireassay.spec.promises import Promises, SeekBy

__all__ = ["FAULTS", "Fault", "FaultyTarget", "make"]

NAME = "faulty"
PLAINLOG = "py:fireassay.conformance.targets.plainlog:make"
FAR = 1 << 20  # a position where nobody appended


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    clause: str  # the one it must be convicted of; empty: nothing can be shown, and the verdict is unknown
    what: str


_ALL = (
    Fault("drop", "LOG-02", "a reader passes over one record"),
    Fault("duplicate", "LOG-03", "a reader delivers one record twice"),
    Fault("reorder", "LOG-01", "a reader delivers two neighbours the wrong way round"),
    Fault("corrupt", "LOG-05", "one byte of a delivered record is changed"),
    Fault("phantom", "LOG-04", "a record is delivered that nobody appended"),
    Fault("aborted", "LOG-06", "an append is stored and said to have failed"),
    Fault("misplaced", "LOG-07", "an append is told another position than it has"),
    Fault("early-ack", "LOG-10", "appends are acknowledged and stored only at the next sync or close"),
    Fault("lose-cursor", "LOG-16", "a commit is acknowledged and forgotten"),
    Fault("second-writer", "LOG-21", "a writer that is refused is given another log to write to"),
    Fault("stump", "LOG-28", "of a payload that is too large a part is stored"),
    Fault("leak", "LOG-29", "readers of every stream are given the first one"),
    Fault("seek-behind", "LOG-31", "a seek lands one record too far"),
    Fault("rewrite", "LOG-32", "what a reader is given first changes when a writer opens again"),
    Fault("early-end", "LOG-09", "a reader says END for ever while there are records"),
    Fault("hang-write", "LOG-23", "an append never comes back"),
    Fault("hang-read", "LOG-23", "a read never comes back"),
    Fault("die", "LOG-23", "the process dies of SIGABRT in an append"),
    Fault("garbage", "", "what calls return is nonsense"),
)
FAULTS: Mapping[str, Fault] = MappingProxyType({fault.name: fault for fault in _ALL})


def make(place: Path, options: Mapping[str, str]) -> "FaultyTarget":
    refuse_unknown(NAME, options, ["fault", "of", "nth"])
    name = options.get("fault", "")
    if name not in FAULTS:
        raise HarnessError(f"target {NAME}: fault is one of {', '.join(FAULTS)}, not {name!r}")
    nth = whole_number(NAME, options, "nth", 3, least=1, most=1 << 30)
    return FaultyTarget(load(options.get("of", PLAINLOG), place), name, nth)


class FaultyTarget:
    def __init__(self, inner: Target, fault: str, nth: int) -> None:
        self._inner = inner
        self._fault = fault
        self._nth = nth
        self._writers, self._first = 0, ""  # how many were opened, and of which stream the first

    @property
    def name(self) -> str:
        return f"{self._inner.name}-{self._fault}"

    @property
    def promises(self) -> Promises:
        return self._inner.promises

    @property
    def digest(self) -> str:
        return self._inner.digest

    @property
    def capabilities(self) -> Sequence[Capability]:
        return self._inner.capabilities

    def open_writer(self, stream: str) -> "FaultyWriter":
        self._writers += 1
        self._first = self._first or stream
        try:
            inner = self._inner.open_writer(stream)
        except TargetError:
            if self._fault != "second-writer":
                raise
            inner = self._inner.open_writer(f"{stream}-beside")
        largest = self._inner.promises.bounds.max_payload
        return FaultyWriter(inner, self._fault, self._nth, largest)

    def open_reader(self, stream: str, name: str, group: str | None = None) -> "FaultyReader":
        fault = "corrupt-first" if self._fault == "rewrite" and self._writers > 1 else self._fault
        given = self._first or stream if self._fault == "leak" else stream
        return FaultyReader(self._inner.open_reader(given, name, group), fault, 1 if fault != self._fault else self._nth)


def _hang() -> None:
    while True:
        signal.pause()


class FaultyWriter:
    def __init__(self, inner: WriterPort, fault: str, nth: int, largest: int | None) -> None:
        self._inner = inner
        self._fault = fault
        self._left = nth
        self._largest = largest
        self._held: list[bytes] = []
        self._told = inner.granted  # the position the next append is told, where that comes before it is stored
        self.granted = inner.granted

    def append_batch(self, payloads: Sequence[bytes]) -> AppendResult:
        if self._fault == "early-ack":
            self._held += payloads
            first, self._told = self._told, self._told + len(payloads)
            return AppendResult(outcome=Outcome.OK, positions=tuple(range(first, self._told)))
        before, self._left = self._left, self._left - len(payloads)
        struck = self._left < 1 <= before
        if struck and self._fault == "hang-write":
            _hang()
        if struck and self._fault == "die":
            os.kill(os.getpid(), signal.SIGABRT)
        result = self._inner.append_batch(payloads)
        if self._fault == "stump" and result.outcome is Outcome.FAIL:
            self._inner.append_batch([payloads[len(result.positions)][: self._largest]])
        if struck and self._fault == "aborted":
            return AppendResult(outcome=Outcome.FAIL, error=PortError(ErrorClass.FULL, text="a lie"))
        if struck and self._fault == "misplaced" and result.positions:
            return replace(result, positions=(*result.positions[:-1], result.positions[-1] + 1))
        if struck and self._fault == "garbage":
            nonsense: Any = AppendResult(outcome=Outcome.OK, positions=("here", "there"))  # type: ignore[arg-type]
            return nonsense  # type: ignore[no-any-return]
        return result

    def sync(self) -> CallResult:
        self._store()
        return self._inner.sync()

    def close(self) -> CallResult:
        self._store()
        return self._inner.close()

    def _store(self) -> None:
        held, self._held = self._held, []
        if held:
            self._inner.append_batch(held)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class FaultyReader:
    def __init__(self, inner: ReaderPort, fault: str, nth: int) -> None:
        self._inner = inner
        self._fault = fault
        self._nth = nth
        self._count = 0
        self._spoil: Callable[[list[Record], int], None] | None = _SPOILERS.get(fault)
        self.granted = inner.granted

    def read_batch(self, limit: int, wait_s: float) -> ReadBatch:
        if self._fault == "hang-read" and self._count >= self._nth:
            _hang()
        if self._fault == "early-end" and self._count >= self._nth:
            return ReadBatch(outcome=Outcome.OK, end=True)
        if self._fault == "early-end":
            limit = min(limit, self._nth - self._count)
        # Neighbours must come in one batch to be exchanged.
        batch = self._inner.read_batch(max(limit, 2) if self._fault == "reorder" else limit, wait_s)
        before, self._count = self._count, self._count + len(batch.records)
        records = list(batch.records)
        if self._fault == "garbage" and self._count >= self._nth:
            nonsense: Any = None
            return nonsense  # type: ignore[no-any-return]
        if self._fault == "phantom" and batch.end and 0 < self._count < FAR:
            self._count = FAR
            body = random.Random(7).randbytes(64)
            return replace(batch, records=(Record(position=FAR, payload=body),), end=False)
        if self._spoil is not None and before < self._nth <= self._count:
            self._spoil(records, self._nth - before - 1)
        return replace(batch, records=tuple(records))

    def commit(self, position: int) -> CallResult:
        return CallResult(outcome=Outcome.OK) if self._fault == "lose-cursor" else self._inner.commit(position)

    def seek(self, by: SeekBy, request: int | bytes) -> SeekResult:
        behind = self._fault == "seek-behind" and isinstance(request, int)
        return self._inner.seek(by, request + 1 if behind and isinstance(request, int) else request)

    def close(self) -> CallResult:
        return self._inner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


# -- what is done to the records of one batch, of which `at` is the one to strike


def _drop(records: list[Record], at: int) -> None:
    del records[at]


def _duplicate(records: list[Record], at: int) -> None:
    records.insert(at, records[at])


def _reorder(records: list[Record], at: int) -> None:
    other = at + 1 if at + 1 < len(records) else at - 1
    if other >= 0:
        records[at], records[other] = records[other], records[at]


def _corrupt(records: list[Record], at: int) -> None:
    changed = bytearray(records[at].payload)
    if changed:
        changed[-1] ^= 0x20
        records[at] = replace(records[at], payload=bytes(changed))


_SPOILERS: Mapping[str, Callable[[list[Record], int], None]] = MappingProxyType(
    {"drop": _drop, "duplicate": _duplicate, "reorder": _reorder, "corrupt": _corrupt, "corrupt-first": _corrupt}
)
