"""The smallest honest log: one file per stream, and the example to copy for a target of your own.

| offset | frame of a record, little-endian |
|---|---|
| 0 | length u32 |
| 4 | crc u32, over position u64, length u32 and payload |
| 8 | payload |

A frame is valid if and only if it ends within the file and its checksum holds. A record's position is the number of frames before it.

- append: one write. What a dead writer left half-written ends the file; the next writer cuts it off.
- sync: fsync, then `durable` says how far. A bad frame before that mark is damage, and the log is not opened; one behind it is a torn tail.
- commit: fsync of the log first, so that no cursor outlives the records before it; then the cursor's file is replaced.
- one writer: flock on `lock`, which the kernel gives back when its holder dies.
"""

import errno
import fcntl
import hashlib
import os
import struct
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from fireassay.conformance.targets.options import refuse_unknown, whole_number
from fireassay.spec.capability import Capability
from fireassay.spec.outcomes import ErrorClass, Outcome, TargetError
from fireassay.spec.ports import AppendResult, CallResult, PortError, ReadBatch, Record, Report, ReportCause, SeekResult
from fireassay.spec.promises import Promises, SeekBy

__all__ = ["PlainLog", "Refused", "make"]

FRAME = struct.Struct("<II")
MARK = struct.Struct("<QI")
MAX_PAYLOAD = 1 << 24
CHUNK = 1 << 16
POLL_S = 0.0005

PROMISES = """
version = 1
visible = "append"
[survives.process_death]
after = "append"
[survives.power_loss]
after = "sync"
[cursors.process_death]
after = "commit"
[cursors.power_loss]
after = "commit"
[sync]
scope = "stream"
covers_other_processes = true
[writers]
count = "one"
order = "total"
[readers]
kinds = ["independent"]
redelivery = ["restart"]
[position]
kind = "dense"
[retention]
protects = "all"
[damage]
detection = "checksum"
[seek]
by = ["position"]
[bounds]
max_payload = {max_payload}
"""

OK = CallResult(outcome=Outcome.OK)


class Refused(TargetError):
    """An open that was refused, with its class."""

    def __init__(self, error: ErrorClass, text: str) -> None:
        super().__init__(text)
        self.error = error


def make(place: Path, options: Mapping[str, str]) -> "PlainLog":
    refuse_unknown("plainlog", options, ["max_payload"])
    return PlainLog(place, whole_number("plainlog", options, "max_payload", MAX_PAYLOAD, least=1, most=MAX_PAYLOAD))


class PlainLog:
    name = "plainlog"
    capabilities: Sequence[Capability] = ()

    def __init__(self, place: Path, max_payload: int = MAX_PAYLOAD) -> None:
        self.place = place
        self.promises = Promises.from_toml(PROMISES.format(max_payload=max_payload), "plainlog")
        self.digest = "sha256:" + hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
        self._max_payload = max_payload

    def open_writer(self, stream: str) -> "PlainWriter":
        return PlainWriter(self._folder(stream), self._max_payload)

    def open_reader(self, stream: str, name: str, group: str | None = None) -> "PlainReader":
        if group is not None:
            raise Refused(ErrorClass.UNSUPPORTED, "plainlog has no groups")
        if not name or "/" in name or "\0" in name:
            raise Refused(ErrorClass.INVALID, f"no name of a reader: {name!r}")
        return PlainReader(self._folder(stream), name)

    def _folder(self, stream: str) -> Path:
        if not stream or "/" in stream or "\0" in stream or stream.startswith("."):
            raise Refused(ErrorClass.INVALID, f"no name of a stream: {stream!r}")
        folder = self.place / stream
        if not (folder / "log").exists():
            folder.mkdir(parents=True, exist_ok=True)
            os.close(os.open(folder / "log", os.O_RDWR | os.O_CREAT, 0o644))
            for directory in (folder, self.place):
                _fsync(directory)
        return folder


class PlainWriter:
    def __init__(self, folder: Path, max_payload: int) -> None:
        self._folder = folder
        self._max_payload = max_payload
        self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        self._log = -1
        self._broken = ""
        try:
            _lock(self._lock, folder)
            self._log = os.open(folder / "log", os.O_RDWR)
            self._mark = os.open(folder / "durable", os.O_RDWR | os.O_CREAT, 0o644)
            self._next, self._end = self._repaired()
        except BaseException:
            self._let_go()
            raise
        self.granted = self._next

    def _repaired(self) -> tuple[int, int]:
        """The position and the offset of the next record, with what a dead writer left half-written cut off."""
        position, end = 0, 0
        for payload, offset in _frames(self._log, 0, 0):
            position, end = position + 1, offset + FRAME.size + len(payload)
        size, durable = os.fstat(self._log).st_size, _read_mark(self._mark)
        if end < durable:
            raise Refused(ErrorClass.CORRUPT, f"the record at position {position}, offset {end}, was durable and is damaged")
        if end < size:
            os.ftruncate(self._log, end)
            os.fsync(self._log)
        return position, end

    def append_batch(self, payloads: Sequence[bytes]) -> AppendResult:
        if self._broken:
            return AppendResult(outcome=Outcome.FAIL, error=PortError(ErrorClass.CLOSED, text=self._broken))
        fit = next((n for n, payload in enumerate(payloads) if len(payload) > self._max_payload), len(payloads))
        data = b"".join(_frame(self._next + n, payload) for n, payload in enumerate(payloads[:fit]))
        try:
            written = _write_at(self._log, data, self._end)
        except OSError as error:
            return self._failed(error)
        if written < len(data):
            self._broken = "the disk took half a record; reopen to repair"
            return AppendResult(outcome=Outcome.INFO, error=PortError(ErrorClass.FULL, errno.ENOSPC, self._broken))
        positions = tuple(range(self._next, self._next + fit))
        self._next, self._end = self._next + fit, self._end + len(data)
        if fit < len(payloads):
            refusal = PortError(ErrorClass.TOO_LARGE, text=f"{len(payloads[fit])} bytes, at most {self._max_payload}")
            return AppendResult(outcome=Outcome.FAIL, error=refusal, positions=positions)
        return AppendResult(outcome=Outcome.OK, positions=positions)

    def _failed(self, error: OSError) -> AppendResult:
        """Nothing was written: nothing is in the log."""
        kind = ErrorClass.FULL if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else ErrorClass.IO
        return AppendResult(outcome=Outcome.FAIL, error=PortError(kind, error.errno or 0, str(error)))

    def sync(self) -> CallResult:
        if self._broken:
            return CallResult(outcome=Outcome.FAIL, error=PortError(ErrorClass.CLOSED, text=self._broken))
        try:
            os.fsync(self._log)
            os.pwrite(self._mark, MARK.pack(self._end, zlib.crc32(struct.pack("<Q", self._end))), 0)
        except OSError as error:
            # A failed fsync may have thrown pages away: only a fresh look at the file tells.
            self._broken = f"sync failed: {error}; reopen"
            return CallResult(outcome=Outcome.INFO, error=PortError(ErrorClass.IO, error.errno or 0, self._broken))
        return OK

    def close(self) -> CallResult:
        if self._log < 0:
            return OK
        done = OK if self._broken else self.sync()
        self._broken = self._broken or "closed"
        self._let_go()
        return done

    def _let_go(self) -> None:
        for name in ("_log", "_mark", "_lock"):
            descriptor = getattr(self, name, -1)
            if descriptor >= 0:
                os.close(descriptor)
            setattr(self, name, -1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class PlainReader:
    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._cursor = folder / f"cursor-{name}"
        self._log = os.open(folder / "log", os.O_RDONLY)
        wanted = _read_cursor(self._cursor)
        self._position, self._offset = self._walk(wanted)
        self.granted = self._position
        lost = Report(cause=ReportCause.RESET, begin=self._position, end=wanted)
        self._reports = (lost,) if self._position < wanted else ()

    def _walk(self, position: int) -> tuple[int, int]:
        """To that position, or to the end where the log is shorter."""
        at, offset = 0, 0
        for payload, begin in _frames(self._log, 0, 0):
            if at == position:
                break
            at, offset = at + 1, begin + FRAME.size + len(payload)
        return at, offset

    def read_batch(self, limit: int, wait_s: float) -> ReadBatch:
        if self._log < 0:
            return ReadBatch(outcome=Outcome.FAIL, error=PortError(ErrorClass.CLOSED, text="closed"))
        until = time.monotonic() + wait_s
        records: list[Record] = []
        while True:
            for payload, offset in _frames(self._log, self._offset, self._position):
                records.append(Record(position=self._position, payload=payload))
                self._position, self._offset = self._position + 1, offset + FRAME.size + len(payload)
                if len(records) == limit:
                    break
            if records or time.monotonic() >= until:
                break
            time.sleep(POLL_S)
        if not records and self._damaged():
            return ReadBatch(outcome=Outcome.FAIL, error=PortError(ErrorClass.CORRUPT, text=f"damage at position {self._position}"))
        reports, self._reports = self._reports, ()
        return ReadBatch(outcome=Outcome.OK, records=tuple(records), end=not records, reports=reports)

    def _damaged(self) -> bool:
        """A bad frame before the durable mark; one behind it is an append under way or a torn tail. The mark is read first: it moves."""
        try:
            mark = os.open(self._folder / "durable", os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            return self._offset < _read_mark(mark) and next(_frames(self._log, self._offset, self._position), None) is None
        finally:
            os.close(mark)

    def commit(self, position: int) -> CallResult:
        if self._log < 0 or not 0 <= position <= self._position:
            text = f"commit of {position}, read up to {self._position}" if self._log >= 0 else "closed"
            return CallResult(outcome=Outcome.FAIL, error=PortError(ErrorClass.INVALID, text=text))
        try:
            os.fsync(self._log)
            _replace(self._cursor, MARK.pack(position, zlib.crc32(struct.pack("<Q", position))))
        except OSError as error:
            return CallResult(outcome=Outcome.INFO, error=PortError(ErrorClass.IO, error.errno or 0, str(error)))
        return OK

    def seek(self, by: SeekBy, request: int | bytes) -> SeekResult:
        if by is not SeekBy.POSITION or not isinstance(request, int):
            return SeekResult(outcome=Outcome.FAIL, error=PortError(ErrorClass.UNSUPPORTED, text=f"no seek by {by}"))
        position, offset = self._walk(request)
        if position < request:
            return SeekResult(outcome=Outcome.FAIL, error=PortError(ErrorClass.MISSING, text=f"the log ends at {position}"))
        self._position, self._offset = position, offset
        return SeekResult(outcome=Outcome.OK, granted=position)

    def close(self) -> CallResult:
        if self._log >= 0:
            os.close(self._log)
            self._log = -1
        return OK

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


# -- frames


def _sum(position: int, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(struct.pack("<QI", position, len(payload))))


def _frame(position: int, payload: bytes) -> bytes:
    return FRAME.pack(len(payload), _sum(position, payload)) + payload


def _frames(log: int, offset: int, position: int) -> Iterator[tuple[bytes, int]]:
    """Payload and offset of every valid frame from there on, up to the first that is none."""
    chunk, base = b"", offset
    while True:
        at = offset - base
        if len(chunk) - at < FRAME.size:
            chunk, base, at = os.pread(log, CHUNK, offset), offset, 0
            if len(chunk) < FRAME.size:
                return
        length, said = FRAME.unpack_from(chunk, at)
        if length > MAX_PAYLOAD:
            return
        if len(chunk) - at < FRAME.size + length:
            chunk, base, at = os.pread(log, max(CHUNK, FRAME.size + length), offset), offset, 0
            # The length is read anew with it: a writer may have repaired this very place in between.
            if len(chunk) < FRAME.size or FRAME.unpack_from(chunk) != (length, said) or len(chunk) < FRAME.size + length:
                return
        payload = chunk[at + FRAME.size : at + FRAME.size + length]
        if _sum(position, payload) != said:
            return
        yield payload, offset
        offset, position = offset + FRAME.size + length, position + 1


def _write_at(log: int, data: bytes, offset: int) -> int:
    """How much was written; OSError only where nothing was."""
    written = 0
    while written < len(data):
        try:
            written += os.pwrite(log, data[written:], offset + written)
        except OSError:
            if not written:
                raise
            break
    return written


# -- small files


def _lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Refused(ErrorClass.LOCKED, f"another writer of {folder.name} is alive") from None


def _read_mark(descriptor: int) -> int:
    """0 where nothing was ever synced, or the mark itself is torn: then every bad frame counts as a torn tail."""
    data = os.pread(descriptor, MARK.size, 0)
    if len(data) < MARK.size:
        return 0
    value, said = MARK.unpack(data)
    return int(value) if zlib.crc32(struct.pack("<Q", value)) == said else 0


def _read_cursor(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return 0
    try:
        return _read_mark(descriptor)
    finally:
        os.close(descriptor)


def _replace(path: Path, data: bytes) -> None:
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(fresh, path)
    _fsync(path.parent)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
