"""Ports that record every call: the invoke before it, what came of it after it.

    scribe = Scribe(recorder=recorder, actor=2, stream=1, nonce=nonce)
    with RecordedWriter.open(target, "orders", scribe, producer=1) as writer:
        writer.append([64, 64, 200])
        writer.sync()

Rows, as spec/history pairs them:
- a batch of appends is one call with an invoke and a completion per record; each append has a number of its own, an anonymous one, too
- a read is one call with a completion per record, then the END row; one that brought nothing and no END is a FAIL row
- what the target reports stands before the records it came with
- a zero-copy view is looked at again, as RELEASE, before the next call on its reader

An exception out of a port is recorded as info and comes back as an outcome of info: the caller decides whether it goes on, under
another incarnation. Only the death of this process leaves a call without a completion, which is info, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeVar

from fireassay.conformance.workload.payload import HEADER_SIZE, Checked, check, digest, make, sentinel
from fireassay.conformance.workload.scribe import NO_FLAGS, PHASE_OF, Line, Scribe, broken, status
from fireassay.spec.history.model import Cause
from fireassay.spec.history.ops import Flag, Op, Phase
from fireassay.spec.history.row import Identity
from fireassay.spec.outcomes import ErrorClass, Outcome, TargetError
from fireassay.spec.ports import (
    AppendResult,
    CallResult,
    PortError,
    ReadBatch,
    ReaderPort,
    Record,
    ReportCause,
    SeekResult,
    Target,
    WriterPort,
)
from fireassay.spec.promises import SeekBy

__all__ = ["MODES", "Delivered", "RecordedReader", "RecordedWriter"]

MODES = {SeekBy.POSITION: 1, SeekBy.TIME: 2, SeekBy.ID: 3}  # `key` of a seek row
_CAUSES = {ReportCause.GAP: Cause.GAP, ReportCause.DAMAGE: Cause.DAMAGE, ReportCause.RESET: Cause.RESET, ReportCause.DROP: Cause.DROP}
_U64 = (1 << 64) - 1
_ANON, _BAD, _LAST = int(Flag.ANON), int(Flag.BAD_DECODE), int(Flag.LAST_IN_BATCH)

Port = TypeVar("Port", WriterPort, ReaderPort)


@dataclass(frozen=True, slots=True)
class Delivered:
    """What a read brought, and what its payloads say; `checked` is parallel to `batch.records`."""

    batch: ReadBatch
    checked: tuple[Checked, ...]


class RecordedWriter:
    """One open writer of one stream, as one incarnation of one producer."""

    def __init__(self, port: WriterPort, scribe: Scribe, *, producer: int, incarnation: int = 0) -> None:
        self.port = port
        self.scribe = scribe
        self._next = Identity(producer, incarnation, 1)  # from 1 on: key 0 is nobody's

    @classmethod
    def open(
        cls, target: Target, stream: str, scribe: Scribe, *, producer: int, incarnation: int = 0, after_crash: int | None = None
    ) -> Self:
        """`after_crash`: the crash's ordinal; the open is then recorded as the recovery it is. Raises what the target raises."""
        if after_crash is not None:
            scribe.event(Op.RECOVERY_BEGIN, key=after_crash)
        port = _open(scribe, Op.OPEN_WRITER, lambda: target.open_writer(stream))
        if after_crash is not None:
            scribe.event(Op.RECOVERY_END, seq=port.granted, key=after_crash)
        return cls(port, scribe, producer=producer, incarnation=incarnation)

    @property
    def granted(self) -> int:
        return self.port.granted

    @property
    def next_number(self) -> int:
        return self._next.number

    def append(self, lengths: Sequence[int], *, t_intended_ns: int = 0) -> AppendResult:
        """Append one record of each length, as one batch."""
        if not lengths:
            return AppendResult(outcome=Outcome.OK)
        first = self._next
        self._next = Identity(first.producer, first.incarnation, first.number + len(lengths))
        return self._append([first.key + i for i in range(len(lengths))], lengths, t_intended_ns)

    def append_sentinel(self, ordinal: int, length: int = 64) -> AppendResult:
        """The last record before drain `ordinal`."""
        return self._append([sentinel(ordinal).key], [length], 0)

    def _append(self, keys: Sequence[int], lengths: Sequence[int], t_intended_ns: int) -> AppendResult:
        scribe = self.scribe
        payloads = [make(scribe.nonce, scribe.stream, key, length) for key, length in zip(keys, lengths, strict=True)]
        told = [_payload_line(key, payload) for key, payload in zip(keys, payloads, strict=True)]
        one = told[0]
        flags = Flag(one.flags)
        call = scribe.begin(Op.APPEND, t_intended_ns=t_intended_ns, flags=flags, key=one.key, value=one.value, digest=one.digest)
        scribe.lines(call, told[1:], t_intended_ns)
        try:
            result = _believable(self.port.append_batch(payloads), len(payloads))
        except Exception as error:
            result = AppendResult(outcome=Outcome.INFO, error=broken(error))
        rest, code = PHASE_OF[result.outcome], status(result.error)
        done = [_completed(line, Phase.OK, position, 0) for line, position in zip(told, result.positions, strict=False)]
        done += [_completed(line, rest, 0, code) for line in told[len(result.positions) :]]
        scribe.lines(call, done, t_intended_ns)
        return result

    def sync(self) -> CallResult:
        return _call(self.scribe, Op.SYNC, self.port.sync)

    def close(self) -> CallResult:
        return _call(self.scribe, Op.CLOSE, self.port.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class RecordedReader:
    """One open reader of one stream."""

    def __init__(self, port: ReaderPort, scribe: Scribe) -> None:
        self.port = port
        self.scribe = scribe
        self._views: list[tuple[Record, Checked]] = []
        self._at = port.granted  # the next position, as far as is known

    @classmethod
    def open(cls, target: Target, stream: str, scribe: Scribe, *, name: str, group: str | None = None) -> Self:
        """Raises what the target raises."""
        return cls(_open(scribe, Op.OPEN_READER, lambda: target.open_reader(stream, name, group), key=scribe.group), scribe)

    @property
    def granted(self) -> int:
        return self.port.granted

    def read(self, limit: int, wait_s: float = 0.0) -> Delivered:
        self._release()
        scribe = self.scribe
        call = scribe.begin(Op.READ, flags=Flag.WAIT if wait_s > 0 else NO_FLAGS)
        try:
            batch = self.port.read_batch(limit, wait_s)
            # Looked at before the clock is read again: a view may change under us, and then that is what was delivered.
            looked = [(check(scribe.nonce, scribe.stream, record.payload), digest(record.payload)) for record in batch.records]
            lines = _read_lines(batch, self._at, looked)
        except Exception as error:
            batch, looked = ReadBatch(outcome=Outcome.INFO, error=broken(error)), []
            lines = [Line(op=Op.READ, phase=Phase.INFO, status=status(batch.error))]
        scribe.lines(call, lines)
        self._at = batch.records[-1].position + 1 if batch.records else self._at
        checked = tuple(each for each, _ in looked)
        self._views = [(r, c) for r, c in zip(batch.records, checked, strict=True) if isinstance(r.payload, memoryview)]
        return Delivered(batch, checked)

    def commit(self, position: int) -> CallResult:
        self._release()
        return _call(self.scribe, Op.COMMIT, lambda: self.port.commit(position), seq=position, key=self.scribe.group)

    def seek(self, by: SeekBy, request: int | bytes) -> SeekResult:
        self._release()
        number = request if isinstance(request, int) else int.from_bytes(request[-8:], "big")
        mode, value = MODES[by], number & _U64
        call = self.scribe.begin(Op.SEEK, key=mode, value=value)
        try:
            result = self.port.seek(by, request)
            if not _fits(result.granted):
                raise ValueError(f"a seek to {result.granted!r}")
        except Exception as error:
            result = SeekResult(outcome=Outcome.INFO, error=broken(error))
        code = status(result.error)
        self.scribe.end(call, Op.SEEK, PHASE_OF[result.outcome], seq=result.granted, key=mode, value=value, status=code)
        self._at = result.granted if result.outcome is Outcome.OK else self._at
        return result

    def close(self) -> CallResult:
        self._release()
        return _call(self.scribe, Op.CLOSE, self.port.close, key=self.scribe.group)

    def _release(self) -> None:
        """Views are good until the next call: so they are compared once more before it."""
        views, self._views = self._views, []
        for record, then in views:
            now = check(self.scribe.nonce, self.scribe.stream, record.payload)
            flags = Flag.BAD_DECODE if then.ok and not now.ok else NO_FLAGS
            self.scribe.event(Op.RELEASE, seq=record.position, key=then.key, digest=digest(record.payload), flags=flags)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


# -- calls


def _open(scribe: Scribe, op: Op, opening: Callable[[], Port], key: int = 0) -> Port:
    """A refusal by the target is fail; where it died, hung or spoke nonsense nobody knows what it left behind."""
    call = scribe.begin(op, key=key)
    try:
        port = opening()
        granted = port.granted
    except Exception as error:
        refused = isinstance(error, TargetError) and getattr(error, "outcome", Outcome.FAIL) is Outcome.FAIL
        scribe.end(call, op, Phase.FAIL if refused else Phase.INFO, key=key, status=status(_refusal(error)))
        raise
    scribe.end(call, op, Phase.OK, seq=granted, key=key)
    return port


def _refusal(error: Exception) -> PortError:
    said = getattr(error, "error", None)
    return PortError(said) if isinstance(said, ErrorClass) else broken(error)


def _call(scribe: Scribe, op: Op, doing: Callable[[], CallResult], *, seq: int = 0, key: int = 0) -> CallResult:
    call = scribe.begin(op, seq=seq, key=key)
    try:
        result = doing()
    except Exception as error:
        result = CallResult(outcome=Outcome.INFO, error=broken(error))
    scribe.end(call, op, PHASE_OF[result.outcome], seq=seq, key=key, status=status(result.error))
    return result


# -- rows


def _payload_line(key: int, payload: bytes) -> Line:
    flags = _ANON if len(payload) < HEADER_SIZE else 0
    return Line(op=Op.APPEND, phase=Phase.INVOKE, key=key, value=len(payload), digest=digest(payload), flags=flags)


def _completed(line: Line, phase: Phase, position: int, code: int) -> Line:
    return Line(op=line.op, phase=phase, seq=position, key=line.key, value=line.value, digest=line.digest, flags=line.flags, status=code)


def _believable(result: AppendResult, count: int) -> AppendResult:
    """A result that contradicts itself proves nothing: what it does not clearly say is unknown."""
    told = len(result.positions)
    if told > count or not all(_fits(position) for position in result.positions):
        error = PortError(ErrorClass.INVALID, text=f"{told} positions for {count} appends, or one that is no position: {result.positions}")
        return AppendResult(outcome=Outcome.INFO, error=error)
    if (told == count) != (result.outcome is Outcome.OK):
        said = f"an outcome of {result.outcome.value} with {told} positions for {count} appends"
        positions = result.positions[: count - 1] if told == count else result.positions
        return AppendResult(outcome=Outcome.INFO, error=PortError(ErrorClass.INVALID, text=said), positions=positions)
    return result


def _fits(position: object) -> bool:
    return isinstance(position, int) and 0 <= position <= _U64


def _read_lines(batch: ReadBatch, at: int, looked: Sequence[tuple[Checked, int]]) -> list[Line]:
    """ValueError where the batch says what no row can hold."""
    odd = [p for p in (*(r.position for r in batch.records), *(p for r in batch.reports for p in (r.begin, r.end))) if not _fits(p)]
    if odd:
        raise ValueError(f"a position of {odd[0]!r}")
    lines = [Line(op=Op.REPORT, phase=Phase.EVENT, seq=r.begin, key=_CAUSES[r.cause], value=r.end) for r in batch.reports]
    last = len(batch.records) - 1
    for number, (record, (seen, mark)) in enumerate(zip(batch.records, looked, strict=True)):
        flags = (_ANON if seen.anonymous else 0) | (0 if seen.ok else _BAD) | (_LAST if number == last else 0)
        length = len(record.payload)
        lines.append(Line(op=Op.READ, phase=Phase.OK, seq=record.position, key=seen.key, value=length, digest=mark, flags=flags))
        if record.id or record.timestamp_ns is not None:
            whole = int.from_bytes(record.id[-16:], "big")
            stamp = record.timestamp_ns or 0
            lines.append(Line(op=Op.ATTR, phase=Phase.EVENT, seq=whole >> 64, key=whole & _U64, value=stamp))
    if batch.outcome is not Outcome.OK:
        # Records beside a failure contradict it; they were delivered all the same.
        phase = Phase.INFO if batch.records else PHASE_OF[batch.outcome]
        lines.append(Line(op=Op.READ, phase=phase, status=status(batch.error)))
    elif batch.end:
        after = batch.records[-1].position + 1 if batch.records else at
        lines.append(Line(op=Op.READ, phase=Phase.OK, seq=after, value=len(batch.records), flags=int(Flag.END)))
    elif not batch.records:
        lines.append(Line(op=Op.READ, phase=Phase.FAIL, status=status(PortError(ErrorClass.TIMEOUT))))
    return lines
