"""Feeds that a configuration names: they are there when a router starts, or it does not start."""

from collections.abc import Sequence
from pathlib import Path

from fireassay.reference.chronicle.bus.layout import Bus
from fireassay.reference.mutants import is_selected

__all__ = ["MissingFeed", "require_feeds"]


class MissingFeed(Exception):
    """Names every configured feed that has no queue."""

    def __init__(self, missing: dict[str, Path]) -> None:
        places = ", ".join(f"{venue} (no control.meta in {path})" for venue, path in missing.items())
        super().__init__(f"configured feeds are missing: {places}; start their writers first, or take them out of the configuration")
        self.missing = missing


def require_feeds(bus: Bus, venues: Sequence[str]) -> dict[str, Path]:
    """The raw queue of each; at once MissingFeed where one of them is not there."""
    queues = {venue: bus.raw_queue(venue) for venue in venues}
    missing = {venue: path for venue, path in queues.items() if not (path / "control.meta").is_file()}
    if missing and not is_selected("chronicle_feed_unasked"):
        raise MissingFeed(missing)
    return queues
