"""Where the queues of a bus lie.

    ROOT/streams/raw/VENUE/queue                  what a venue sent, as it came
    ROOT/streams/clean/VENUE/SYMBOL/STREAM/queue  the same, sorted and in canonical form
    ROOT/orders/queue/STRATEGY/orders_out         strategy → router
    ROOT/orders/queue/STRATEGY/orders_in          router → strategy

Paths are only computed here; the writer of a queue makes its parents with `make_endpoint`.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from fireassay.reference.chronicle.bus.names import plain_name

__all__ = ["ORDERS_OUT", "Bus", "Endpoints", "make_endpoint"]

ORDERS_OUT = "orders_out"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The two queues of one strategy."""

    orders_out: Path
    orders_in: Path


@dataclass(frozen=True, slots=True)
class Bus:
    """The layout below a root, which may be anywhere. BadName where a name would not be one directory."""

    root: Path

    def raw_queue(self, venue: str) -> Path:
        return self.root / "streams" / "raw" / plain_name(venue, "venue") / "queue"

    def clean_queue(self, venue: str, symbol: str, stream: str) -> Path:
        place = self.root / "streams" / "clean"
        return place / plain_name(venue, "venue") / plain_name(symbol, "symbol") / plain_name(stream, "stream") / "queue"

    @property
    def strategies(self) -> Path:
        """The directory in which each strategy has one of its own."""
        return self.root / "orders" / "queue"

    def strategy(self, name: str) -> Endpoints:
        place = self.strategies / plain_name(name, "strategy")
        return Endpoints(place / ORDERS_OUT, place / "orders_in")


def make_endpoint(endpoint: Path) -> Path:
    """The directory, with all above it; one that is there already is as good."""
    os.makedirs(endpoint, exist_ok=True)
    return endpoint
