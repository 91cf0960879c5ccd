"""A reader's place in a queue for as long as a block runs."""

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.mutants import is_selected

__all__ = ["INTERVAL_S", "Registration"]

INTERVAL_S = 1.0


class Registration:
    """Opens the reader, making the directory of readers where it is missing; when the block ends the reader's meta file is gone.

    It has no thread: the owner's loop calls `beat` as often as it likes. A kill leaves the file behind, and the TTL takes care of it.
    """

    def __init__(
        self,
        queue: Path,
        name: str,
        *,
        interval_s: float = INTERVAL_S,
        clock: Callable[[], float] = time.monotonic,
        variant: str | None = None,
    ) -> None:
        self.reader = Reader(queue, name, heartbeat_s=0, variant=variant)
        self.meta_path = queue / "readers" / f"{name}.meta"
        self._interval_s, self._clock = interval_s, clock
        self._due = clock() + interval_s

    def beat(self) -> bool:
        """Says that the reader lives, when it is time to; whether it was."""
        if self._clock() < self._due:
            return False
        self.reader.heartbeat()
        self._due = self._clock() + self._interval_s
        return True

    def remove(self) -> None:
        """Twice is harmless."""
        if is_selected("chronicle_registration_stays"):
            self.reader.close()
        self.reader.unregister()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.remove()
