"""The tap: a live queue re-appended to an archive queue in its order, each record once, whatever kills the tap.

The archive itself tells where to go on (origin.json, and its length). The live queue's reader is committed only behind what the archive
has made durable; it is there to hold retention back, never to find the place.
"""

import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self

from fireassay.reference.chronicle.archive.origin import Origin, append_origin, copied_of, origins_of
from fireassay.reference.chronicle.log_view import LiveSegments, LogView
from fireassay.reference.chronicle.reader import Message, Reader, span
from fireassay.reference.chronicle.writer import Writer
from fireassay.reference.mutants import is_selected

__all__ = ["TAP", "Start", "Tap", "TapGap"]

TAP = "archive_tap"
_BATCH = 1024


class Start(StrEnum):
    """How a tap found its place."""

    FRESH = "fresh"  # nothing of this queue was in the archive
    GOES_ON = "goes on"
    DIVERGED = "diverged"  # the archive holds records that the live queue has lost, or has others in their place
    GAP = "gap"  # accepted: see TapGap


class TapGap(Exception):
    """Records have left the live queue before they were copied."""

    def __init__(self, wanted: int, oldest: int) -> None:
        super().__init__(f"records {wanted} to {oldest - 1} left the live queue before they were archived; accept_gap goes on at {oldest}")
        self.wanted, self.oldest = wanted, oldest


class Tap:
    """The only writer of its archive. Used by one thread; `step` copies, `commit` makes durable and lets retention go."""

    def __init__(
        self,
        live: Path,
        archive: Path,
        *,
        name: str = TAP,
        segment_size: int | None = None,
        accept_gap: bool = False,
        variant: str | None = None,
    ) -> None:
        self.source = str(live.resolve())
        self._done: tuple[int, int] | None = None  # behind the last record copied and not committed
        self._aligned = False  # whether origin.json speaks of the next record
        self._reader = Reader(live, name, variant=variant)
        try:
            self._writer = Writer(archive, segment_size or self._reader.segment_size, heartbeat_s=0, variant=variant)
        except BaseException:
            self._reader.close()
            raise
        try:
            if self._writer.segment_size < self._reader.segment_size:
                sizes = f"{self._writer.segment_size} and {self._reader.segment_size} bytes"
                raise ValueError(f"segments of the archive are smaller than those of the live queue ({sizes}): some records would not fit")
            self.start = self._find_place(accept_gap, variant)
        except BaseException:
            self.close()
            raise

    def step(self, limit: int = _BATCH, wait_s: float = 0.0) -> int:
        """Copies what there is, up to that many records; how many it were."""
        if not self._aligned:
            first = self._peek(wait_s)
            if first is None:
                return 0
            self._align(first.seq)
        if is_selected("chronicle_tap_restamps"):
            payloads = [message.payload for message in self._reader.read_batch(limit, wait_s).messages]
            return len(self._writer.append_batch(payloads))
        copied = self._reader.copy_to(self._writer, limit, wait_s)
        self._done = copied.next or self._done
        return copied.count

    def commit(self) -> None:
        """What was copied survives power loss, and the live queue may forget it."""
        if self._done is not None:
            self._writer.flush_sync()
            self._reader.commit(*self._done)
            self._done = None

    def run(self, stop: Callable[[], bool], commit_s: float = 0.05) -> None:
        """Until it is told to stop, looked at between steps."""
        due = time.monotonic() + commit_s
        while not stop():
            self.step(wait_s=commit_s)
            if time.monotonic() >= due:
                self.commit()
                due = time.monotonic() + commit_s
        self.commit()

    def close(self) -> None:
        """What was not committed is found again by its length. Twice is harmless."""
        self._writer.close()
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _find_place(self, accept_gap: bool, variant: str | None) -> Start:
        """Puts the reader before the first record that is not in the archive."""
        known = copied_of(origins_of(self._writer.path), self.source, self._writer.next_seq)
        if known is None or is_selected("chronicle_tap_repeats"):
            if self._reader.missing:
                self._reader.seek_oldest()  # nothing of what is gone was ever promised to the archive
            return Start.FRESH
        origin, count = known
        with (
            LogView(LiveSegments(self._reader.path, self._reader.segment_size, variant)) as live,
            LogView(LiveSegments(self._writer.path, self._writer.segment_size, variant)) as archive,
        ):
            there = live.numbers()
            if not there:
                return Start.GOES_ON
            start, wanted = Start.GOES_ON, origin.source_seq + _agreeing(live, archive, origin, count, there)
            if wanted != origin.source_seq + count:
                start = Start.DIVERGED
            if wanted > there.stop:  # the live queue was made anew
                start, wanted = Start.DIVERGED, there.start
            if wanted < there.start:
                if not accept_gap:
                    raise TapGap(wanted, there.start)
                start, wanted = Start.GAP, there.start
            live.seek(wanted)
            self._reader.seek(*live.place)
            return start

    def _peek(self, wait_s: float) -> Message | None:
        """The next record of the live queue, which stays the next one."""
        messages = self._reader.read_batch(1, wait_s).messages
        if not messages:
            return None
        segment, end = messages[0].next
        self._reader.seek(segment, end - span(len(messages[0].payload)))
        return messages[0]

    def _align(self, seq: int) -> None:
        """The next record to be copied is that one: origin.json says so before it is."""
        known, next_seq = origins_of(self._writer.path), self._writer.next_seq
        last = known[-1] if known else None
        if last is None or last.source != self.source or last.source_seq + next_seq - last.archive_seq != seq:
            append_origin(self._writer.path, Origin(next_seq, self.source, seq))
        self._aligned = True


def _agreeing(live: LogView, archive: LogView, origin: Origin, count: int, there: range) -> int:
    """How many of the copies stand in the live queue as they were copied, as far as it still has them.

    All of them, or after a loss of its tail the first of them; so what differs is found by halving.
    """

    def same(index: int) -> bool:
        original, copy = _content(live, origin.source_seq + index), _content(archive, origin.archive_seq + index)
        return original is not None and original == copy

    low = max(0, there.start - origin.source_seq)
    if low >= count or same(count - 1):
        return count
    high = count - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if same(middle) else (low, middle)
    return low


def _content(log: LogView, seq: int) -> tuple[int, int, int, bytes] | None:
    log.seek(seq)
    messages = log.read_batch(1).messages
    if not messages or messages[0].seq != seq:
        return None
    return messages[0].timestamp_ns, messages[0].type_id, messages[0].flags, messages[0].payload
