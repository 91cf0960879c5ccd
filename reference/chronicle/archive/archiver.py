"""The archiver: a reader of a queue that compresses each sealed segment and commits only what it has found again in its archive."""

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from fireassay.reference.chronicle.archive.store import holds, write_archive
from fireassay.reference.chronicle.log_view import Damaged
from fireassay.reference.chronicle.reader import HEADER, Reader
from fireassay.reference.chronicle.segments import Stop, map_segment, segment_ids
from fireassay.reference.core import CoreError
from fireassay.reference.files import read_small
from fireassay.reference.mutants import is_selected
from fireassay.spec.layouts import chronicle as layout
from fireassay.spec.outcomes import ErrorClass

__all__ = ["ARCHIVER", "Archiver"]

ARCHIVER = "archiver"
LEVEL = 3


class Archiver:
    """Used by one thread; `step` does one segment. Killed anywhere, the next one goes on; retention never passes what is not archived."""

    def __init__(self, queue: Path, store: Path, *, name: str = ARCHIVER, level: int = LEVEL, variant: str | None = None) -> None:
        self.queue, self.store, self.level = queue, store, level
        self._variant = variant
        store.mkdir(parents=True, exist_ok=True)
        self._reader = Reader(queue, name, variant=variant)
        slot = layout.committed_slot(read_small(queue / "readers" / f"{name}.meta", layout.READER_META.size))
        self._segment = int(slot["segment"])

    def step(self) -> int | None:
        """The segment that was archived, or None where none is sealed yet. One that is Damaged stays, and holds retention back."""
        segment = self._segment
        try:
            done = self._archive(segment)
        except FileNotFoundError:
            oldest = min(segment_ids(self.queue), default=segment)
            if oldest > segment:
                raise Damaged(segment, HEADER, f"retention took the segments before {oldest} while no archiver lived") from None
            return None
        if not done:
            return None
        self._segment = segment + 1
        return segment

    def run(self, stop: Callable[[], bool], wait_s: float = 0.05) -> None:
        """Until it is told to stop, looked at between segments."""
        while not stop():
            if self.step() is None:
                time.sleep(wait_s)  # a seal wakes nobody, and nobody waits for the archiver

    def close(self) -> None:
        """Its place stays. Twice is harmless."""
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _archive(self, segment: int) -> bool:
        with map_segment(self.queue, segment, self._reader.segment_size, self._variant) as view:
            if not view.sealed:
                return False
            found = view.extent()
            if found.stop is not Stop.END:
                raise Damaged(segment, found.end, "no record here can be trusted, so the segment cannot be archived")
            if is_selected("chronicle_archive_early"):
                self._commit_behind(segment)
            if not holds(self.store, view):
                write_archive(self.store, view, self.level)
        return self._commit_behind(segment)

    def _commit_behind(self, segment: int) -> bool:
        """Only now may retention delete the segment."""
        try:
            self._reader.seek(segment + 1, HEADER)
        except CoreError as error:
            if error.error_class is ErrorClass.MISSING:
                return False  # the next one has no name yet
            raise
        self._reader.commit(segment + 1, HEADER)
        return True
