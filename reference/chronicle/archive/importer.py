"""Records of the past, straight into an archive queue under their own timestamps: the live queue never sees them."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from fireassay.reference.chronicle.archive.origin import IMPORT, Origin, append_origin
from fireassay.reference.chronicle.writer import DEFAULT_SEGMENT_SIZE, Writer
from fireassay.reference.mutants import is_selected

__all__ = ["Importer"]


class Importer:
    """The only writer of the archive while it is open. A tap goes on behind what was imported."""

    def __init__(self, archive: Path, segment_size: int = DEFAULT_SEGMENT_SIZE, *, variant: str | None = None) -> None:
        self._writer = Writer(archive, segment_size, heartbeat_s=0, variant=variant)
        try:
            append_origin(archive, Origin(self._writer.next_seq, IMPORT, self._writer.next_seq))
        except BaseException:
            self._writer.close()
            raise

    def append(self, records: Sequence[tuple[int, int, int, bytes]]) -> tuple[int, ...]:
        """Records of (timestamp_ns, type_id, flags, payload), in order; their numbers in the archive."""
        if is_selected("chronicle_import_restamps"):
            return self._writer.append_batch([record[3] for record in records])
        return self._writer.append_stamped(records)

    def sync(self) -> None:
        """What was imported survives power loss."""
        self._writer.flush_sync()

    def close(self) -> None:
        """Twice is harmless."""
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
