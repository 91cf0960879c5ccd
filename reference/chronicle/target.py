"""chronicle as a target of the examination. A stream is a queue's directory; a position is a record's sequence number.

Importing this loads no core: its variant comes from the environment of the process that first opens something.
"""

import bisect
import dataclasses
import os
import shutil
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import resources
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from fireassay.spec.capability import Capability
from fireassay.spec.outcomes import ErrorClass, HarnessError, Outcome, TargetError
from fireassay.spec.ports import AppendResult, CallResult, PortError, ReadBatch, Record, Report, ReportCause, SeekResult
from fireassay.spec.promises import Promises, Protects, Retention, SeekBy

if TYPE_CHECKING:
    from fireassay.reference.chronicle.reader import Batch
    from fireassay.reference.core import CoreError
    from fireassay.reference.failpoints import ControlFile

__all__ = ["SMALL", "Chronicle", "Refused", "control_file", "failpoints", "make"]

DEFAULT_SEGMENT_SIZE = 1 << 20
SMALL = "segment_size=4096"  # options under which some hundred records roll often
OVERHEAD = 128  # the segment's header and the record's own
OK = CallResult(outcome=Outcome.OK)


class Refused(TargetError):
    """An open that was refused, with its class and whether it certainly changed nothing."""

    def __init__(self, error: ErrorClass, text: str, outcome: Outcome = Outcome.FAIL) -> None:
        super().__init__(text)
        self.error, self.outcome = error, outcome


def make(place: Path, options: Mapping[str, str]) -> "Chronicle":
    unknown = sorted(set(options) - {"segment_size", "max_segments"})
    if unknown:
        raise HarnessError(f"target chronicle has no option {unknown[0]!r}; it knows segment_size and max_segments")
    text = options.get("segment_size", str(DEFAULT_SEGMENT_SIZE))
    if not text.isdecimal() or int(text) % 64 or not 192 <= int(text) <= 1 << 32:
        raise HarnessError(f"target chronicle: segment_size is a multiple of 64 from 192 to 4 GiB, not {text!r}")
    bound = options.get("max_segments")
    if bound is not None and (not bound.isdecimal() or int(bound) < 2):
        raise HarnessError(f"target chronicle: max_segments is a number from 2 on, not {bound!r}")
    return Chronicle(place, int(text), None if bound is None else int(bound))


def failpoints() -> Sequence[tuple[str, str, str]]:
    """(name, kind, what) of each place in chronicle where its process can be made to die."""
    from fireassay.reference.failpoints import failpoints as all_failpoints

    return [(point.name, point.kind.name.lower(), point.what) for point in all_failpoints() if point.name.startswith("chronicle_")]


def control_file(path: Path) -> AbstractContextManager["ControlFile"]:
    """Arms failpoints of another process that has FIREASSAY_FAILPOINTS=path, in the variant this process would load."""
    from fireassay.reference import core
    from fireassay.reference.failpoints import ControlFile

    variant = core.variant_from_environment()
    return ControlFile.create(path, variant if variant in ("failpoints", "mutants") else "failpoints")


def speeds(place: Path) -> Mapping[str, Callable[[], float]]:
    """Nanoseconds per record of what chronicle does, one round per call."""
    from fireassay.reference.chronicle.speed import speeds as measured

    return measured(place)


class Chronicle:
    name = "chronicle"
    capabilities: Sequence[Capability] = ()

    def __init__(self, place: Path, segment_size: int = DEFAULT_SEGMENT_SIZE, max_segments: int | None = None) -> None:
        """With a bound its writers delete what no live reader needs, and refuse when that is not enough."""
        self.place, self.segment_size, self.max_segments = place, segment_size, max_segments
        text = resources.files("fireassay.reference.chronicle").joinpath("promises.toml").read_text(encoding="utf-8")
        promised = Promises.from_toml(text, "chronicle/promises.toml")
        self.promises = dataclasses.replace(
            promised,
            bounds=dataclasses.replace(promised.bounds, max_payload=segment_size - OVERHEAD),
            retention=promised.retention if max_segments is None else Retention(protects=Protects.LIVE),
        )

    @property
    def digest(self) -> str:
        from fireassay.reference import core

        return f"sha256:{core.digest()}"

    @property
    def tools(self) -> Mapping[str, Sequence[str]]:
        """Programs for what lies around the queues: see conformance/cases/chronicle/HELPERS.md."""
        found = {"helpers": (sys.executable, "-m", "fireassay.reference.chronicle.tools.helpers")}
        command = shutil.which("fireassay", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
        return found | ({"operate": (command, "chronicle")} if command else {})

    def open_writer(self, stream: str) -> "ChronicleWriter":
        return ChronicleWriter(self._folder(stream), self.segment_size, self.max_segments)

    def open_reader(self, stream: str, name: str, group: str | None = None) -> "ChronicleReader":
        if group is not None:
            raise Refused(ErrorClass.UNSUPPORTED, "chronicle has no groups of readers")
        return ChronicleReader(self._folder(stream), name, self.segment_size)

    def _folder(self, stream: str) -> Path:
        if not stream or stream.startswith(".") or "/" in stream or "\0" in stream:
            raise Refused(ErrorClass.INVALID, f"{stream!r} is no name of a stream: it would leave its place")
        self.place.mkdir(parents=True, exist_ok=True)
        return self.place / stream


def _said(error: "CoreError") -> PortError:
    return PortError(error.error_class, error.errno or 0, str(error))


class _Port:
    """Closing is the same for both."""

    def close(self) -> CallResult:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class ChronicleWriter(_Port):
    def __init__(self, folder: Path, segment_size: int, max_segments: int | None) -> None:
        from fireassay.reference.chronicle.limits import Limits
        from fireassay.reference.chronicle.writer import Appended, Writer
        from fireassay.reference.core import CoreError

        self._appended, self._core_error = Appended, CoreError
        try:
            limits = Limits(max_segments=max_segments, retain=max_segments is not None)
            self._writer = Writer(folder, segment_size, limits=limits)
        except CoreError as error:
            # A refused lock has touched nothing. Any other error may have left part of a creation or a recovery behind.
            certain = error.error_class in (ErrorClass.LOCKED, ErrorClass.VERSION, ErrorClass.INVALID)
            raise Refused(error.error_class, str(error), Outcome.FAIL if certain else Outcome.INFO) from error

    @property
    def granted(self) -> int:
        return self._writer.opened_at

    def append_batch(self, payloads: Sequence[bytes]) -> AppendResult:
        return self.append_typed(0, payloads)

    def append_typed(self, type_id: int, payloads: Sequence[bytes]) -> AppendResult:
        try:
            return AppendResult(outcome=Outcome.OK, positions=self._writer.append_batch(payloads, type_id))
        except self._appended as error:
            # The core refuses a record before its first byte is written: the rest of the batch left no trace.
            return AppendResult(outcome=Outcome.FAIL, error=_said(error), positions=error.seqs)

    def sync(self) -> CallResult:
        try:
            self._writer.flush_sync()
        except self._core_error as error:
            return CallResult(outcome=Outcome.INFO, error=_said(error))
        return OK

    def close(self) -> CallResult:
        try:
            self._writer.close()
        except self._core_error as error:
            return CallResult(outcome=Outcome.INFO, error=_said(error))
        return OK


class ChronicleReader(_Port):
    def __init__(self, folder: Path, name: str, segment_size: int) -> None:
        from fireassay.reference.chronicle.reader import Reader
        from fireassay.reference.core import CoreError

        self._core_error = CoreError
        try:
            self._reader: Reader = Reader(folder, name, local_size=segment_size)
        except CoreError as error:
            raise Refused(error.error_class, str(error)) from error
        if self._reader.missing:
            self._reader.close()
            raise Refused(ErrorClass.MISSING, f"SegmentMissing: what {name} would read next has been deleted")
        self._granted = self._reader.opened_at
        self._delivered = _Delivered(self._granted)
        self._reports: tuple[Report, ...] = ()
        if self._reader.was_reset:
            self._reports = (Report(cause=ReportCause.RESET, begin=self._granted, end=self._granted),)

    @property
    def granted(self) -> int:
        return self._granted

    def read_batch(self, limit: int, wait_s: float) -> ReadBatch:
        try:
            batch = self._reader.read_batch(limit, wait_s)
        except self._core_error as error:
            return ReadBatch(outcome=Outcome.FAIL, error=_said(error))
        self._delivered.add(batch)
        reports, self._reports = self._reports, ()
        records = tuple(Record(position=m.seq, payload=m.payload, timestamp_ns=m.timestamp_ns) for m in batch.messages)
        return ReadBatch(outcome=Outcome.OK, records=records, end=batch.end, reports=reports)

    def commit(self, position: int) -> CallResult:
        place = self._delivered.place(position)
        if place is None:
            text = f"position {position} is not between records that this reader has delivered and not yet committed"
            return CallResult(outcome=Outcome.FAIL, error=PortError(ErrorClass.INVALID, 0, text))
        if place != (-1, -1):
            try:
                self._reader.commit(*place)
            except self._core_error as error:
                return CallResult(outcome=Outcome.FAIL, error=_said(error))
        self._delivered.forget(position)
        return OK

    def seek(self, by: SeekBy, request: int | bytes) -> SeekResult:
        if by not in (SeekBy.POSITION, SeekBy.TIME) or not isinstance(request, int):
            return SeekResult(outcome=Outcome.FAIL, error=PortError(ErrorClass.UNSUPPORTED, 0, "chronicle seeks by position and by time"))
        if not 0 <= request < 1 << 64:
            return SeekResult(outcome=Outcome.FAIL, error=PortError(ErrorClass.INVALID, 0, f"{request} is no number of 64 bits"))
        try:
            granted = self._reader.seek_number(request) if by is SeekBy.POSITION else self._reader.seek_time(request)
        except self._core_error as error:
            return SeekResult(outcome=Outcome.FAIL, error=_said(error))
        self._delivered = _Delivered(granted, self._reader.place)
        return SeekResult(outcome=Outcome.OK, granted=granted)

    def close(self) -> CallResult:
        try:
            self._reader.close()
        except self._core_error as error:
            return CallResult(outcome=Outcome.INFO, error=_said(error))
        return OK


class _Delivered:
    """Where each delivered and uncommitted record ends, so that a commit by number finds its place in the files."""

    def __init__(self, start: int, place: tuple[int, int] = (-1, -1)) -> None:
        self._committed = start
        self._last = place  # of self._committed; unknown before the first commit, and then already stored
        self._seqs, self._segments, self._offsets = array("Q"), array("L"), array("Q")

    def add(self, batch: "Batch") -> None:
        for message in batch.messages:
            self._seqs.append(message.seq)
            self._segments.append(message.next[0])
            self._offsets.append(message.next[1])

    def place(self, position: int) -> tuple[int, int] | None:
        """Behind the last delivered record before the position; (-1, -1) where nothing has changed; None where it cannot be."""
        at = bisect.bisect_left(self._seqs, position)
        if at == 0:
            return self._last if position == self._committed else None
        if at == len(self._seqs) and position > self._seqs[-1] + 1:
            return None
        return self._segments[at - 1], self._offsets[at - 1]

    def forget(self, position: int) -> None:
        at = bisect.bisect_left(self._seqs, position)
        if at:
            self._last = (self._segments[at - 1], self._offsets[at - 1])
            self._seqs, self._segments, self._offsets = self._seqs[at:], self._segments[at:], self._offsets[at:]
        self._committed = position
