"""The workloads of om_bus for `exercise`: every store and system call of its streams."""

import os
from collections.abc import Callable
from typing import Any

__all__ = ["WORKLOADS"]

CAPACITY, SLOT_SIZE, CONSUMERS = 4, 64, 2


class _Bus:
    """Calls of om_bus that stop at the first error and leave nothing open."""

    def __init__(self, ffi: Any, lib: Any, directory: int, err: Any) -> None:
        self.ffi, self.lib, self.err = ffi, lib, err
        self.where = f"/proc/self/fd/{directory}".encode()
        self.name = ffi.new("char[]", b"/bus")
        self.records = ffi.new("OmBusRecord[8]")
        self.seq = 0
        self._closing: list[Callable[[Any], int]] = []
        self.failed = False

    def __enter__(self) -> "_Bus":
        return self

    def __exit__(self, *_: object) -> None:
        for close in self._closing:
            close(self.ffi.NULL)

    def do(self, call: Callable[[], int]) -> bool:
        self.failed = self.failed or call() < 0
        return not self.failed

    def opened(self, kind: str, close: str, call: Callable[[Any], int]) -> Any:
        """The handle; closed in order by close_all, and at the end in any case."""
        one = self.ffi.new(f"{kind} *")
        if self.do(lambda: call(one)):
            self._closing.append(lambda err: int(getattr(self.lib, close)(one, err)))
        return one

    def close_all(self) -> None:
        while self._closing and not self.failed:
            closing = self._closing.pop(0)
            self.do(lambda: closing(self.err))  # noqa: B023

    def stream(self) -> Any:
        config = self.ffi.new("OmBusStreamConfig *", (self.name, CAPACITY, SLOT_SIZE, CONSUMERS, 1))
        made = self.opened("ombus_stream", "ombus_stream_destroy", lambda s: self.lib.ombus_stream_create(s, self.where, config, self.err))
        made.block_ns = 0
        return made

    def endpoint(self, consumer: int, zero_copy: bool) -> Any:
        config = self.ffi.new("OmBusEndpointConfig *", (self.name, consumer, zero_copy))
        return self.opened(
            "ombus_endpoint", "ombus_endpoint_close", lambda e: self.lib.ombus_endpoint_open(e, self.where, config, 0, self.err)
        )

    def publish(self, stream: Any, count: int) -> None:
        for _ in range(count):
            self.seq += 1
            self.do(lambda: self.lib.ombus_stream_publish(stream, self.seq, 1, b"payload", 7, self.err))

    def poll(self, *endpoints: Any) -> None:
        for one in endpoints:
            self.do(lambda: self.lib.ombus_endpoint_poll_batch(one, self.records, 8, self.err))  # noqa: B023


def _ring(ffi: Any, lib: Any, directory: int, err: Any) -> int:
    """A stream is made where one was left behind, used by two consumers, of which one is released, and destroyed."""
    with _Bus(ffi, lib, directory, err) as bus:
        bus.stream()
        if not bus.failed:
            with open(bus.where + b"/bus", "rb") as file:
                left = file.read()
            bus.close_all()
            with open(bus.where + b"/bus", "wb") as file:
                file.write(left)
        stream = bus.stream()
        copies, views = bus.endpoint(0, False), bus.endpoint(1, True)
        monitor = bus.opened("ombus_monitor", "ombus_monitor_close", lambda m: lib.ombus_monitor_open(m, bus.where, bus.name, err))
        bus.publish(stream, 3)
        bus.poll(copies, views)
        bus.publish(stream, 1)
        bus.poll(copies)
        bus.do(lambda: lib.ombus_monitor_look(monitor, 1, 0, err))
        bus.do(lambda: lib.ombus_monitor_release(monitor, 1, err))
        bus.publish(stream, 4)
        bus.poll(copies)
        bus.close_all()
        return int(err.status) if bus.failed else 0


def _refused(ffi: Any, lib: Any, directory: int, err: Any) -> int:
    """The stream's name is a directory, so what was made for it is removed."""
    os.mkdir("bus", dir_fd=directory)
    with _Bus(ffi, lib, directory, err) as bus:
        bus.stream()
        os.rmdir("bus", dir_fd=directory)
        return int(err.status)


def _wal_of(bus: _Bus, path: bytes) -> Any:
    kept = bus.ffi.new("char[]", bus.where + path)
    config = bus.ffi.new("OmWalConfig *", (kept, 256, 0, 1))
    return bus.opened("ombus_wal", "ombus_wal_close", lambda wal: bus.lib.ombus_wal_open(wal, config, bus.err))


def _append(bus: _Bus, wal: Any, count: int) -> None:
    seq = bus.ffi.new("uint64_t *")
    for _ in range(count):
        bus.do(lambda: bus.lib.ombus_wal_append(wal, 1, b"payload", 7, seq, bus.err))


def _wal(ffi: Any, lib: Any, directory: int, err: Any) -> int:
    """A WAL that nobody has used is made, rolled, closed, gone on with and replayed."""
    number = sum(name.startswith("wal") for name in os.listdir(directory))
    with _Bus(ffi, lib, directory, err) as bus:
        path = b"/wal%d-%%u" % number
        for _ in range(2):
            wal = _wal_of(bus, path)
            _append(bus, wal, 10)
            bus.do(lambda: lib.ombus_wal_sync(wal, err))  # noqa: B023
            bus.close_all()
        replay, kept = ffi.new("ombus_replay *"), ffi.new("char[]", bus.where + path)
        if bus.do(lambda: lib.ombus_replay_open(replay, kept, 15, 0, err)):
            bus.do(lambda: lib.ombus_replay_next(replay, bus.records, 8, err))
            lib.ombus_replay_close(replay)
        return int(err.status) if bus.failed else 0


def _wal_refused(ffi: Any, lib: Any, directory: int, err: Any) -> int:
    """The name of the next file is taken, so what was made for it is removed."""
    with _Bus(ffi, lib, directory, err) as bus:
        wal = _wal_of(bus, b"/refused-%u")
        os.mkdir("refused-1", dir_fd=directory)
        _append(bus, wal, 20)
        return int(err.status)


WORKLOADS: dict[str, Callable[[Any, Any, int, Any], int]] = {
    "ombus-ring": _ring,
    "ombus-refused": _refused,
    "ombus-wal": _wal,
    "ombus-wal-refused": _wal_refused,
}
