"""What a queue's directory says of itself: control block, writer, segments, readers; and every file that does not say it well.

It looks at the headers and at the first record of each segment, not at every record: that is for the doctor.
"""

import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fireassay.reference.chronicle.control import CONTROL, Control, read_control
from fireassay.reference.chronicle.holder import LOCK, Holder, HolderState, holder_of, start_ticks
from fireassay.reference.chronicle.limits import READER_TTL_S
from fireassay.reference.chronicle.reader import HEADER
from fireassay.reference.chronicle.segments import MAX_SEGMENT_SIZE, SegmentView, Stop, map_segment, name_of, segment_ids
from fireassay.reference.files import read_small
from fireassay.reference.mutants import is_selected
from fireassay.spec.layouts import LayoutError
from fireassay.spec.layouts import chronicle as layout
from fireassay.spec.outcomes import HarnessError

__all__ = ["DEFAULT_TTL_S", "Problem", "ReaderFacts", "SegmentFacts", "Survey", "is_queue", "survey"]

DEFAULT_TTL_S = READER_TTL_S
_READERS, _META = "readers", ".meta"
_LOCK_ADVICE = {
    HolderState.UNREADABLE: "the next writer writes it anew; look for who changed it",
    HolderState.INHERITED: "end the child process that inherited the descriptor: no writer can open the queue before",
    HolderState.DEAD: "it did not close; start it again: the next writer takes over and repairs the tail",
}


@dataclass(frozen=True, slots=True)
class Problem:
    file: str  # within the queue
    what: str
    advice: str
    wrong: bool = True  # False: worth knowing, and no reason to act


@dataclass(frozen=True, slots=True)
class SegmentFacts:
    segment: int
    sealed: bool
    first_seq: int | None  # None where it holds no record
    records: int | None  # None where its first record cannot be trusted


@dataclass(frozen=True, slots=True)
class ReaderFacts:
    name: str
    segment: int
    offset: int
    next_seq: int | None  # the record it reads next; None where its segment cannot be read
    lag_bytes: int
    lag_segments: int
    lag_records: int | None
    pid: int
    alive: bool  # its process
    heartbeat_age_s: float
    live: bool  # its heartbeat is within the TTL


@dataclass(frozen=True, slots=True)
class Survey:
    queue: Path
    control: Control | None
    holder: Holder
    heartbeat_age_s: float | None  # the writer's
    segment_size: int | None
    segments: tuple[SegmentFacts, ...]
    next_seq: int | None  # of the record that will be appended next
    readers: tuple[ReaderFacts, ...]
    problems: tuple[Problem, ...]


def is_queue(path: Path) -> bool:
    try:
        return (path / CONTROL).exists() or bool(segment_ids(path))
    except (FileNotFoundError, NotADirectoryError):
        return False


def survey(queue: Path, ttl_s: float = DEFAULT_TTL_S, now_ns: int | None = None) -> Survey:
    """HarnessError where there is no queue at all; whatever else is wrong stands among the problems."""
    if not is_queue(queue):
        raise HarnessError(
            f"{queue} is no queue of chronicle: there is neither {CONTROL} nor a segment in it; name a queue's own directory"
        )
    return _Surveyor(queue, ttl_s, time.time_ns() if now_ns is None else now_ns).survey()


class _Surveyor:
    def __init__(self, queue: Path, ttl_s: float, now_ns: int) -> None:
        self.queue, self.ttl_s, self.now_ns = queue, ttl_s, now_ns
        self.problems: list[Problem] = []
        self.control: Control | None = None
        self.segments: dict[int, SegmentFacts] = {}
        self.next_seq: int | None = None

    def survey(self) -> Survey:
        holder = holder_of(self.queue)
        if holder.state in _LOCK_ADVICE:
            self._say(LOCK, holder.what, _LOCK_ADVICE[holder.state])
        self._read_control(holder)
        self._read_segments(holder)
        readers = tuple(self._readers())
        size = self.control.segment_size if self.control else None
        age = self._age(self.control.heartbeat_ns) if self.control else None
        facts = tuple(self.segments.values())
        return Survey(self.queue, self.control, holder, age, size, facts, self.next_seq, readers, tuple(self.problems))

    def _say(self, file: str, what: str, advice: str, *, wrong: bool = True) -> None:
        self.problems.append(Problem(file, what, advice, wrong))

    def _age(self, timestamp_ns: int) -> float:
        return (self.now_ns - timestamp_ns) / 1e9

    def _read_control(self, holder: Holder) -> None:
        try:
            self.control = read_control(self.queue)
        except FileNotFoundError:
            self._say(CONTROL, "it is missing", "restore it from a copy; without it nobody opens the queue")
            return
        except LayoutError as error:
            self._say(CONTROL, str(error), "restore it from a copy; as it is nobody opens the queue")
            return
        if not self.control.settled:
            self._say(CONTROL, "a writer died while it published its place", "start the writer: it repairs this when it opens the queue")
        age = self._age(self.control.heartbeat_ns)
        if holder.state is HolderState.LIVE and age > self.ttl_s:
            what = f"process {holder.pid} holds the queue and has given no sign of life for {age:.1f} s"
            self._say(CONTROL, what, "see whether it is stopped or stuck")

    def _open(self, segment: int) -> SegmentView:
        size = self.control.segment_size if self.control else _size_of(self.queue / name_of(segment))
        return map_segment(self.queue, segment, size)

    def _read_segments(self, holder: Holder) -> None:
        ids = segment_ids(self.queue)
        for segment in ids:
            try:
                with self._open(segment) as view:
                    found, _, stop = view.scan(limit=1)
                    known = None if stop is Stop.BAD else 0
                    self.segments[segment] = SegmentFacts(segment, view.sealed, found[0].seq if found else None, known)
                    if not view.sealed and segment < ids[-1] and holder.state is not HolderState.LIVE:
                        advice = "start the writer: it seals this when it opens the queue"
                        self._say(name_of(segment), "a later segment is there, and this one is not sealed", advice)
            except FileNotFoundError:
                continue  # retention was faster
            except LayoutError as error:
                self._say(name_of(segment), str(error), "restore it from an archive or a copy; readers stop before it")
        for before, after in itertools.pairwise(ids):
            if after > before + 1:
                what = f"segments {before + 1} to {after - 1} are missing"
                self._say(name_of(before + 1), what, "restore them from an archive or a copy; no reader passes the hole")
        self._count(ids)

    def _count(self, ids: list[int]) -> None:
        """From the newest back: a segment holds what lies between its first number and that of its successor."""
        follows: int | None = None
        after = ids[-1] + 1 if ids else 0
        for segment in reversed(ids):
            facts = self.segments.get(segment)
            follows = follows if after == segment + 1 else None
            after = segment
            if facts is None or facts.records is None:
                follows = None
            elif facts.first_seq is not None:
                records = follows - facts.first_seq if follows is not None else self._count_here(segment)
                self.segments[segment] = SegmentFacts(segment, facts.sealed, facts.first_seq, records)
                self.next_seq = facts.first_seq + records if self.next_seq is None else self.next_seq
                follows = facts.first_seq
        if self.next_seq is None and 0 in self.segments:
            self.next_seq = 0

    def _count_here(self, segment: int) -> int:
        try:
            with self._open(segment) as view:
                return view.extent().records
        except (FileNotFoundError, LayoutError):
            return 0  # it went while it was looked at

    def _readers(self) -> Iterator[ReaderFacts]:
        try:
            files = sorted(os.listdir(self.queue / _READERS))
        except (FileNotFoundError, NotADirectoryError):
            return
        for file in files:
            if not file.endswith(_META):
                continue
            shown = file if file.isprintable() else ascii(file)
            try:
                slot = layout.committed_slot(read_small(self.queue / _READERS / file, layout.READER_META.size))
            except FileNotFoundError:
                continue  # it has just left
            except LayoutError as error:
                advice = "remove the file, and its reader starts at the oldest segment; or restore it from a copy"
                self._say(f"{_READERS}/{shown}", str(error), advice)
                continue
            yield self._reader(shown.removesuffix(_META), slot["segment"], slot["offset"], slot["pid"], slot["heartbeat_ns"])

    def _reader(self, name: str, segment: int, offset: int, pid: int, heartbeat_ns: int) -> ReaderFacts:
        next_seq = self._seq_at(name, segment, offset)
        head = (self.control.segment, self.control.offset) if self.control else (segment, offset)
        size = self.control.segment_size if self.control else 0
        behind = head[0] - segment
        lag = max(0, behind * size + head[1] - offset)
        age = self._age(heartbeat_ns)
        records = self.next_seq - next_seq if self.next_seq is not None and next_seq is not None else None
        if is_selected("chronicle_lag_absolute"):
            lag, behind, records = segment * size + offset, segment, next_seq
        return ReaderFacts(
            name, segment, offset, next_seq, lag, max(0, behind), records, pid, start_ticks(pid) is not None, age, age <= self.ttl_s
        )

    def _seq_at(self, name: str, segment: int, offset: int) -> int | None:
        if segment not in self.segments:
            gone = bool(self.segments) and segment < min(self.segments)
            what = f"it stands in segment {segment}, which {'was deleted' if gone else 'is not there or cannot be read'}"
            self._say(f"{_READERS}/{name}{_META}", what, "its reader has to go to the oldest segment, or be restored from an archive")
            return None
        try:
            with self._open(segment) as view:
                found, _, stop = view.scan(offset, 1)
        except (FileNotFoundError, LayoutError):
            return None
        if found:
            return found[0].seq
        later = (facts.first_seq for facts in self.segments.values() if facts.segment > segment and facts.first_seq is not None)
        return None if stop is Stop.BAD else next(later, self.next_seq)


def _size_of(path: Path) -> int:
    """What stands in for the control block's word."""
    size = os.stat(path).st_size
    if size % HEADER or not 2 * HEADER <= size <= MAX_SEGMENT_SIZE:
        raise LayoutError("wrong size", path.name, f"a multiple of 64 from 128 to {MAX_SEGMENT_SIZE} bytes", f"{size} bytes")
    return size
