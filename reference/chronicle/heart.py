"""A heartbeat that goes on while its owner is idle."""

import threading
from collections.abc import Callable

__all__ = ["Heart"]


class Heart:
    """Calls `beat` from a thread of its own until it is stopped; an interval of 0 never does."""

    def __init__(self, beat: Callable[[], object], interval_s: float) -> None:
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        if interval_s > 0:
            self._thread = threading.Thread(target=self._run, args=(beat, interval_s), name="chronicle-heartbeat", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Returns when no beat is under way any more."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, beat: Callable[[], object], interval_s: float) -> None:
        while not self._stop.wait(interval_s):
            beat()
