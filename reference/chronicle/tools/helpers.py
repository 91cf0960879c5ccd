"""What lies around a queue, one request a line: python -m fireassay.reference.chronicle.tools.helpers

For whoever examines it from outside, in the framing of the driver protocol: {"id": 1, "op": "router", "root": "/bus"} is answered with
{"id": 1, "outcome": "ok", "value": …}, or with fail, the class of an error and a sentence. What stays open (a discovery, a lease, a
tap) has a handle, a number that `poll`, `step` and the like take and that `end` closes. Bytes are base64.
"""

import base64
import json
import sys
from pathlib import Path
from typing import Any

from fireassay.reference.chronicle.archive.archiver import Archiver
from fireassay.reference.chronicle.archive.importer import Importer
from fireassay.reference.chronicle.archive.joint_reader import JointReader
from fireassay.reference.chronicle.archive.snapshots import NoWayIn, Snapshot, Snapshots, join
from fireassay.reference.chronicle.archive.tap import Tap, TapGap
from fireassay.reference.chronicle.bus.feeds import MissingFeed, require_feeds
from fireassay.reference.chronicle.bus.layout import Bus
from fireassay.reference.chronicle.bus.markers import Lease, clear_ready, mark_ready
from fireassay.reference.chronicle.bus.registration import Registration
from fireassay.reference.chronicle.bus.router_discovery import Added, RouterDiscovery
from fireassay.reference.chronicle.bus.subscriber_discovery import Connected, Disconnected, SubscriberDiscovery
from fireassay.reference.chronicle.control import read_control
from fireassay.reference.chronicle.log_view import Damaged, LiveSegments, LogView
from fireassay.reference.chronicle.protocol.book_event import Side
from fireassay.reference.chronicle.reader import Message
from fireassay.reference.chronicle.stream.aligned import aligned, book_event_of, messages_of
from fireassay.reference.chronicle.stream.book_table import BookTable
from fireassay.reference.core import CoreError
from fireassay.spec.layouts import LayoutError
from fireassay.spec.outcomes import ErrorClass

__all__ = ["Helpers", "main"]

_DEPTH = 1 << 20


class Helpers:
    """A method an operation; what it returns is the value of the reply."""

    def __init__(self) -> None:
        self._open: dict[int, Any] = {}

    def answer(self, line: str) -> dict[str, Any]:
        number: object = None
        try:
            request = json.loads(line)
            number, op = request.pop("id"), request.pop("op")
            method = None if op.startswith("_") or op == "answer" else getattr(self, op, None)
            if method is None:
                return {"id": number, **_failed(ErrorClass.UNSUPPORTED, f"there is no operation {op!r}")}
            return {"id": number, "outcome": "ok", "value": method(**request)}
        except CoreError as error:
            return {"id": number, **_failed(error.error_class, str(error))}
        except (LayoutError, Damaged) as error:
            return {"id": number, **_failed(ErrorClass.CORRUPT, str(error))}
        except (MissingFeed, TapGap, NoWayIn, FileNotFoundError) as error:
            return {"id": number, **_failed(ErrorClass.MISSING, str(error))}
        except OSError as error:
            return {"id": number, **_failed(ErrorClass.IO, str(error))}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            return {"id": number, **_failed(ErrorClass.INVALID, f"{type(error).__name__}: {error}")}

    # -- layout, markers, registration

    def raw_queue(self, root: str, venue: str) -> str:
        return str(Bus(Path(root)).raw_queue(venue))

    def clean_queue(self, root: str, venue: str, symbol: str, stream: str) -> str:
        return str(Bus(Path(root)).clean_queue(venue, symbol, stream))

    def strategy(self, root: str, name: str) -> dict[str, str]:
        found = Bus(Path(root)).strategy(name)
        return {"orders_out": str(found.orders_out), "orders_in": str(found.orders_in)}

    def ready(self, queue: str) -> None:
        mark_ready(Path(queue))

    def unready(self, queue: str) -> None:
        clear_ready(Path(queue))

    def lease(self, queue: str, epoch: int) -> int:
        made = Lease(Path(queue), epoch)
        made.refresh()
        return self._keep(made)

    def refresh(self, handle: int) -> None:
        self._open[handle].refresh()

    def register(self, queue: str, name: str) -> int:
        return self._keep(Registration(Path(queue), name, interval_s=0))

    def beat(self, handle: int) -> bool:
        return bool(self._open[handle].beat())

    # -- discovery

    def feeds(self, root: str, venues: list[str]) -> dict[str, str]:
        return {venue: str(path) for venue, path in require_feeds(Bus(Path(root)), venues).items()}

    def router(self, root: str, rescan_s: float) -> int:
        return self._keep(RouterDiscovery(Bus(Path(root)), rescan_s=rescan_s))

    def subscriber(self, queue: str, name: str, ttl_s: float) -> int:
        return self._keep(SubscriberDiscovery(Path(queue), name, ttl_s=ttl_s))

    def poll(self, handle: int, wait_s: float = 0.0) -> list[list[str]]:
        polled = self._open[handle]
        events = polled.poll(wait_s) if isinstance(polled, RouterDiscovery) else polled.poll()
        return [_event(event) for event in events]

    # -- archive, snapshots

    def tap(self, live: str, archive: str) -> int:
        return self._keep(Tap(Path(live), Path(archive)))

    def step(self, handle: int, limit: int) -> int:
        return int(self._open[handle].step(limit))

    def commit(self, handle: int) -> None:
        self._open[handle].commit()

    def bring_in(self, archive: str, records: list[tuple[int, int, int, str]], segment_size: int) -> list[int]:
        with Importer(Path(archive), segment_size) as importer:
            return list(importer.append([(stamp, type_id, flags, base64.b64decode(data)) for stamp, type_id, flags, data in records]))

    def archive(self, queue: str, store: str) -> list[int]:
        with Archiver(Path(queue), Path(store)) as archiver:
            return list(iter(archiver.step, None))

    def joint(self, queue: str, store: str) -> dict[str, Any]:
        """All records up to the end or up to damage, which is told and then passed."""
        records: list[list[Any]] = []
        damage: list[str] = []
        with JointReader(Path(queue), Path(store), read_control(Path(queue)).segment_size) as reader:
            while True:
                try:
                    records += map(_record, messages_of(reader))
                    return {"records": records, "damage": damage}
                except Damaged as damaged:
                    damage.append(str(damaged))
                    reader.skip()

    def snapshot(self, queue: str, seq: int, timestamp_ns: int, state: str) -> str:
        return str(Snapshots(Path(queue)).write(Snapshot(seq, timestamp_ns, base64.b64decode(state))))

    def join(self, queue: str) -> dict[str, Any]:
        """The state that a late joiner restores, and the records that it goes on with."""
        restored: list[bytes] = []
        with _log(queue) as log:
            how = join(log, Snapshots(Path(queue)), restored.append)
            state = base64.b64encode(restored[0]).decode() if restored else None
            return {"snapshot": how.snapshot, "state": state, "refused": how.refused, "records": [_record(m) for m in messages_of(log)]}

    # -- streams

    def books(self, queue: str) -> dict[str, Any]:
        table = BookTable()
        with _log(queue) as log:
            for message in messages_of(log):
                table.apply(book_event_of(message))
        return {str(instrument): {side.name.lower(): book.depth(side, _DEPTH) for side in Side} for instrument, book in table.books.items()}

    def aligned(self, queues: list[str]) -> list[tuple[int, int, int]]:
        """(stream, seq, timestamp_ns) in the order of replay."""
        logs = [_log(queue) for queue in queues]
        try:
            return [(item.stream, item.message.seq, item.message.timestamp_ns) for item in aligned([messages_of(log) for log in logs])]
        finally:
            for log in logs:
                log.close()

    def end(self, handle: int) -> None:
        ended = self._open.pop(handle)
        for leave in ("release", "remove", "close"):
            if hasattr(ended, leave):
                getattr(ended, leave)()
                return

    def _keep(self, what: Any) -> int:
        handle = max(self._open, default=0) + 1
        self._open[handle] = what
        return handle


def _failed(error: ErrorClass, text: str) -> dict[str, Any]:
    return {"outcome": "fail", "error": {"class": error.name, "text": text}}


def _event(event: Any) -> list[str]:
    if isinstance(event, Added):
        return ["added", event.strategy, str(event.orders_out)]
    if isinstance(event, Connected):
        event.reader.close()
        return ["connected"]
    if isinstance(event, Disconnected):
        return ["disconnected", event.reason.value]
    return ["removed", event.strategy] if hasattr(event, "strategy") else ["waiting", event.why]


def _record(message: Message) -> list[Any]:
    payload = base64.b64encode(message.payload).decode()
    return [message.seq, message.timestamp_ns, message.type_id, message.flags, payload]


def _log(queue: str) -> LogView:
    return LogView(LiveSegments(Path(queue), read_control(Path(queue)).segment_size))


def main() -> int:
    helpers = Helpers()
    for line in sys.stdin:
        print(json.dumps(helpers.answer(line)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
