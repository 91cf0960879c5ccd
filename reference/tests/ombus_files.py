"""What the tests of om_bus share: small streams in a directory of their own, and a look at their bytes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fireassay.reference.ombus.endpoint import Endpoint
from fireassay.reference.ombus.errors import BusError
from fireassay.reference.ombus.stream import Stream
from fireassay.spec import layouts
from fireassay.spec.layouts import ombus as layout
from fireassay.spec.layouts.ombus import ErrorCode

NAME = "/bus"
CAPACITY, SLOT_SIZE, CONSUMERS = 8, 64, 2
UNREGISTERED = (1 << 64) - 1


def stream(where: Path, capacity: int = CAPACITY, slot_size: int = SLOT_SIZE, consumers: int = CONSUMERS, **more: Any) -> Stream:
    return Stream(NAME, capacity=capacity, slot_size=slot_size, consumers=consumers, directory=where, **more)


def endpoint(where: Path, consumer: int = 0, **more: Any) -> Endpoint:
    return Endpoint(NAME, consumer, directory=where, **more)


def refused(code: ErrorCode, call: Callable[[], object]) -> BusError:
    with pytest.raises(BusError) as caught:
        call()
    assert caught.value.code is code, caught.value
    return caught.value


def left_behind(where: Path, **more: Any) -> Path:
    """The object of a producer that died after it had published 1, 2 and 3."""
    with stream(where, **more) as bus:
        publish(bus, 1, 2, 3)
        data = (where / "bus").read_bytes()
    (where / "bus").write_bytes(data)
    return where / "bus"


def publish(bus: Stream, *seqs: int) -> None:
    for seq in seqs:
        bus.publish(seq, b"payload %d" % seq, timeout_s=0.0)


def seqs(port: Endpoint) -> list[int]:
    return [record.wal_seq for record in port]


def patch(where: Path, at: int, data: bytes) -> None:
    with (where / "bus").open("r+b") as file:
        file.seek(at)
        file.write(data)


def slot_at(position: int) -> int:
    """Where the slot lies in the file of a small stream."""
    return 4096 + 64 * CONSUMERS + position % CAPACITY * SLOT_SIZE


def header(where: Path) -> dict[str, Any]:
    return layouts.parse(layout.SHM_HEADER, (where / "bus").read_bytes()[:4096])


def tail_of(where: Path, consumer: int) -> tuple[int, int]:
    found = layouts.parse(layout.CONSUMER_TAIL, (where / "bus").read_bytes()[4096 + 64 * consumer :][:64])
    return int(found["tail"]), int(found["wal_seq"])
