"""What a flush costs where a queue lies: the one figure of chronicle that is the file system's own."""

import tempfile
import time
from pathlib import Path

from fireassay.reference.chronicle.writer import Writer

__all__ = ["flushes"]


def flushes(place: Path, count: int, length: int) -> list[int]:
    """Nanoseconds of an append and the flush_sync behind it, in a queue of its own that is removed again."""
    figures: list[int] = []
    with tempfile.TemporaryDirectory(dir=place) as scratch, Writer(Path(scratch) / "queue", 1 << 20, heartbeat_s=0) as writer:
        for _ in range(count):
            begun = time.perf_counter_ns()
            writer.append(bytes(length))
            writer.flush_sync()
            figures.append(time.perf_counter_ns() - begun)
    return figures
