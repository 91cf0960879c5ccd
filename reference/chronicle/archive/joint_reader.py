"""A queue and the archives of its segments, read as one log."""

from pathlib import Path

from fireassay.reference.chronicle.archive.store import ArchivedSegments
from fireassay.reference.chronicle.log_view import Damaged, LiveSegments, LogView
from fireassay.reference.chronicle.reader import Batch
from fireassay.reference.chronicle.segments import SegmentView
from fireassay.reference.mutants import is_selected
from fireassay.spec.layouts import LayoutError

__all__ = ["JointReader"]


class _Joined:
    """A live segment is preferred while it is there and sound; its archive is there before retention takes it."""

    def __init__(self, live: LiveSegments, archived: ArchivedSegments) -> None:
        self._live, self._archived = live, archived
        self._distrusted: set[int] = set()

    def ids(self) -> list[int]:
        try:
            live = self._live.ids()
        except FileNotFoundError:
            live = []
        return sorted({*live, *self._archived.ids()})

    def open(self, segment: int) -> SegmentView:
        if segment in self._distrusted:
            return self._archived.open(segment)
        try:
            return self._live.open(segment)
        except FileNotFoundError:
            return self._archived.open(segment)
        except LayoutError:
            if self.distrust(segment):
                return self._archived.open(segment)
            raise

    def distrust(self, segment: int) -> bool:
        """Whether there is an archive to take in place of the live file."""
        if segment in self._distrusted or segment not in self._archived.ids():
            return False
        self._distrusted.add(segment)
        return True


class JointReader(LogView):
    """From the oldest archive to the head. Damage that no second copy makes good is Damaged, and is never given out."""

    def __init__(self, queue: Path, store: Path, segment_size: int, variant: str | None = None) -> None:
        self._joined = _Joined(LiveSegments(queue, segment_size, variant), ArchivedSegments(store, variant))
        super().__init__(self._joined)

    def read_batch(self, limit: int) -> Batch:
        while True:
            try:
                return super().read_batch(limit)
            except Damaged as damaged:
                self.close()  # another copy is opened at the same place
                if not self._joined.distrust(damaged.segment):
                    if not is_selected("chronicle_archive_skipped"):
                        raise
                    self.skip()
