"""Each deliberate fault beside chronicle's hot path (bus, archive, stream, tools) shows itself, and the same steps without it do not."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fireassay.reference import mutants
from fireassay.reference.chronicle.archive import store
from fireassay.reference.chronicle.archive.archiver import Archiver
from fireassay.reference.chronicle.archive.importer import Importer
from fireassay.reference.chronicle.archive.joint_reader import JointReader
from fireassay.reference.chronicle.archive.snapshots import Snapshot, Snapshots, join
from fireassay.reference.chronicle.archive.store import archive_name
from fireassay.reference.chronicle.archive.tap import Tap
from fireassay.reference.chronicle.bus.feeds import MissingFeed, require_feeds
from fireassay.reference.chronicle.bus.layout import Bus, make_endpoint
from fireassay.reference.chronicle.bus.markers import Lease, clear_ready, lease_of, mark_ready, ready_of
from fireassay.reference.chronicle.bus.names import BadName
from fireassay.reference.chronicle.bus.registration import Registration
from fireassay.reference.chronicle.bus.router_discovery import Added, RouterDiscovery
from fireassay.reference.chronicle.bus.subscriber_discovery import Connected, Disconnected, Reason, SubscriberDiscovery
from fireassay.reference.chronicle.log_view import Damaged, LiveSegments, LogView
from fireassay.reference.chronicle.protocol.book_event import BookEvent, EventType, Level, Side
from fireassay.reference.chronicle.reader import Message, Reader
from fireassay.reference.chronicle.stream.aligned import aligned
from fireassay.reference.chronicle.stream.book_table import Book
from fireassay.reference.chronicle.tools.doctor import examine
from fireassay.reference.chronicle.tools.survey import survey
from fireassay.reference.chronicle.writer import Writer
from fireassay.reference.tests.chronicle_files import readable
from fireassay.reference.tests.test_chronicle_discovery import comes, overflow
from fireassay.spec.layouts import LayoutError
from fireassay.spec.layouts import chronicle as layout

OK = "ok"
NEVER = 1e9


def a_strategy_stays_below_the_root(where: Path) -> str:
    try:
        return f"{Bus(where).strategy('../../other').orders_out} was given"
    except BadName:
        return OK


def ready_is_whole_when_it_is_seen(where: Path) -> str:
    thread = threading.Thread(target=mark_ready, args=(where,))
    thread.start()
    try:
        while ready_of(where) is None:
            pass
        return OK
    except LayoutError as error:
        return str(error)
    finally:
        thread.join()


def a_lease_is_refreshed(where: Path) -> str:
    clock = iter([1, 2, 3])
    with Lease(where, clock=lambda: next(clock)) as lease:
        lease.refresh()
        found = lease_of(where)
        return OK if found is not None and found.timestamp_ns == 2 else "the lease is as old as its first writing"


def polled(router: RouterDiscovery, seconds: float = 0.0) -> str:
    changes = router.poll(seconds)
    return " ".join(("+" if isinstance(change, Added) else "-") + change.strategy for change in changes)


def dropped_events_are_made_up_for(where: Path) -> str:
    bus = Bus(where)
    comes(bus, "a")
    with RouterDiscovery(bus, rescan_s=0.05) as router:
        first = polled(router)
        overflow(bus)
        clear_ready(bus.strategy("a").orders_out)
        return OK if (first, polled(router, 1.0)) == ("+a", "-a") else "what came after the overflow was missed"


def each_strategy_is_added_once(where: Path) -> str:
    bus = Bus(where)
    with RouterDiscovery(bus, rescan_s=0) as router:
        comes(bus, "a")
        first, second = polled(router), polled(router)
        return OK if (first, second) == ("+a", "") else f"{first}, then {second}"


def a_strategy_is_added_when_it_is_ready(where: Path) -> str:
    bus = Bus(where)
    make_endpoint(bus.strategy("a").orders_out)
    with RouterDiscovery(bus) as router:
        return OK if polled(router) == "" else "it was added before it was ready"


def a_missing_feed_stops_the_start(where: Path) -> str:
    try:
        require_feeds(Bus(where), ["none"])
    except MissingFeed:
        return OK
    return "the start went on"


def inspect_tells_the_lag(where: Path) -> str:
    with Writer(where / "q", 1024, heartbeat_s=0) as writer, Reader(where / "q", "r") as reader:
        writer.append_batch([b"x"] * 5)
        reader.commit(*reader.read_batch(2).messages[1].next)
        (found,) = survey(where / "q").readers
        return OK if (found.lag_records, found.lag_bytes) == (3, 3 * 128) else f"a lag of {found.lag_records} records"


def the_doctor_finds_damage(where: Path) -> str:
    Writer(where / "q", 1024, heartbeat_s=0).close()
    (where / "q" / "control.meta").write_bytes(b"")
    return OK if any(finding.problem.wrong for finding in examine(where / "q")) else "it found nothing"


def stamped(queue: Path) -> list[tuple[int, bytes]]:
    return [(record.timestamp_ns, record.payload) for record in readable(queue)]


def a_tap_keeps_timestamps(where: Path) -> str:
    with Writer(where / "live", 1024, heartbeat_s=0) as writer, Tap(where / "live", where / "archive") as tap:
        writer.append_stamped([(5, 0, 0, b"a"), (6, 0, 0, b"b")])
        tap.step()
        return OK if stamped(where / "archive") == [(5, b"a"), (6, b"b")] else "the archive has other timestamps"


def a_tap_that_died_before_its_commit_repeats_nothing(where: Path) -> str:
    with Writer(where / "live", 1024, heartbeat_s=0) as writer:
        writer.append_stamped([(5, 0, 0, b"a"), (6, 0, 0, b"b")])
        for _ in range(2):
            with Tap(where / "live", where / "archive") as tap:
                tap.step()
        return OK if stamped(where / "archive") == [(5, b"a"), (6, b"b")] else "records are in the archive twice"


def an_import_keeps_timestamps(where: Path) -> str:
    with Importer(where / "archive", 1024) as importer:
        importer.append([(5, 0, 0, b"a")])
    return OK if stamped(where / "archive") == [(5, b"a")] else "the import got the time of day"


def sealed(queue: Path) -> Path:
    with Writer(queue, 1024, heartbeat_s=0) as writer:
        writer.append_batch([bytes(200)] * 9)
    return queue


def committed_segment(queue: Path, name: str) -> int:
    return int(layout.committed_slot((queue / "readers" / f"{name}.meta").read_bytes())["segment"])


def nothing_is_given_free_before_its_archive_is_there(where: Path) -> str:
    (where / "store" / archive_name(0)).mkdir(parents=True)  # in the way of the first archive
    with Archiver(sealed(where / "q"), where / "store") as archiver, pytest.raises(OSError, match="directory"):
        archiver.step()
    return OK if committed_segment(where / "q", "archiver") == 0 else "the segment may be deleted and has no archive"


def an_archive_is_unpacked_again_before_it_counts(where: Path) -> str:
    """The disk gives other bytes back than were written."""
    sound = store._compress

    def broken(memory: Any, file: int, level: int) -> None:
        sound(memory, file, level)
        os.pwrite(file, b"\xff", os.fstat(file).st_size // 2)

    with Archiver(sealed(where / "q"), where / "store") as archiver, pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "_compress", broken)
        try:
            archiver.step()
        except LayoutError:
            return OK
        return "a broken archive was committed"


def a_damaged_archive_is_told(where: Path) -> str:
    with Archiver(sealed(where / "q"), where / "store") as archiver:
        archiver.step()
    (where / "q" / "000000000.q").unlink()
    (where / "store" / archive_name(0)).write_bytes(b"x")
    with JointReader(where / "q", where / "store", 1024) as reader:
        try:
            reader.read_batch(1)
        except Damaged:
            return OK
        return "it was passed over in silence"


def a_late_joiner_counts_each_record_once(where: Path) -> str:
    with Writer(where / "q", 4096, heartbeat_s=0) as writer:
        writer.append_stamped([(n, 0, 0, b"x") for n in range(9)])
    Snapshots(where / "q").write(Snapshot(4, 4, b"5"))
    with LogView(LiveSegments(where / "q", 4096)) as log:
        counted = []
        join(log, Snapshots(where / "q"), lambda state: counted.extend([0] * int(state)))
        counted += log.read_batch(99).messages
        return OK if len(counted) == 9 else f"{len(counted)} of 9 records were counted"


def a_damaged_snapshot_is_not_taken(where: Path) -> str:
    with Writer(where / "q", 4096, heartbeat_s=0) as writer:
        writer.append_stamped([(n, 0, 0, b"x") for n in range(9)])
    path = Snapshots(where / "q").write(Snapshot(4, 4, b"5"))
    path.write_bytes(path.read_bytes().replace(b"5", b"6"))
    with LogView(LiveSegments(where / "q", 4096)) as log:
        restored: list[bytes] = []
        join(log, Snapshots(where / "q"), restored.append)
        return OK if not restored else "its state was restored"


def a_registration_leaves_nothing_behind(where: Path) -> str:
    Writer(where / "q", 1024, heartbeat_s=0).close()
    with Registration(where / "q", "r") as registration:
        pass
    return OK if not registration.meta_path.exists() else "its meta file is still there"


def a_subscriber_is_told_that_its_writer_went(where: Path) -> str:
    with Writer(where / "q", 1024, heartbeat_s=0):
        mark_ready(where / "q")
        discovery = SubscriberDiscovery(where / "q", "s", ttl_s=1e6)
        (event,) = discovery.poll()
    if isinstance(event, Connected):
        event.reader.close()
    return OK if discovery.poll() == [Disconnected(Reason.LOCK_LOST)] else "it was not told"


def a_level_without_quantity_is_gone(where: Path) -> str:
    book = Book()
    for seq, quantity in enumerate((5, 0)):
        kind = EventType.DELTA if seq else EventType.SNAPSHOT
        book.apply(BookEvent(event_type=kind, ingest_ts_ns=0, book_seq=seq, instrument_id=1, levels=(Level(Side.BID, 7, quantity),)))
    return OK if book.best(Side.BID) is None else "an empty level is the best"


def streams_are_merged_by_time(where: Path) -> str:
    streams = [[Message(0, time_ns, 0, 0, b"", (0, 0)) for time_ns in row] for row in ((1, 4), (2, 3))]
    times = [item.time_ns for item in aligned(streams)]
    return OK if times == [1, 2, 3, 4] else f"replayed in the order {times}"


SHOWN_BY: dict[str, Callable[[Path], str]] = {
    "chronicle_path_unchecked": a_strategy_stays_below_the_root,
    "chronicle_ready_early": ready_is_whole_when_it_is_seen,
    "chronicle_lease_stale": a_lease_is_refreshed,
    "chronicle_discovery_deaf": dropped_events_are_made_up_for,
    "chronicle_discovery_twice": each_strategy_is_added_once,
    "chronicle_discovery_unready": a_strategy_is_added_when_it_is_ready,
    "chronicle_feed_unasked": a_missing_feed_stops_the_start,
    "chronicle_tap_restamps": a_tap_keeps_timestamps,
    "chronicle_tap_repeats": a_tap_that_died_before_its_commit_repeats_nothing,
    "chronicle_import_restamps": an_import_keeps_timestamps,
    "chronicle_archive_early": nothing_is_given_free_before_its_archive_is_there,
    "chronicle_archive_unverified": an_archive_is_unpacked_again_before_it_counts,
    "chronicle_archive_skipped": a_damaged_archive_is_told,
    "chronicle_snapshot_replayed": a_late_joiner_counts_each_record_once,
    "chronicle_snapshot_trusted": a_damaged_snapshot_is_not_taken,
    "chronicle_registration_stays": a_registration_leaves_nothing_behind,
    "chronicle_disconnect_unseen": a_subscriber_is_told_that_its_writer_went,
    "chronicle_book_zero_kept": a_level_without_quantity_is_gone,
    "chronicle_merge_in_turn": streams_are_merged_by_time,
    "chronicle_lag_absolute": inspect_tells_the_lag,
    "chronicle_doctor_blind": the_doctor_finds_damage,
}


@pytest.mark.parametrize("name", SHOWN_BY)
def test_the_mutant_shows_and_the_sound_build_does_not(tmp_path: Path, name: str) -> None:
    (tmp_path / "sound").mkdir()
    (tmp_path / "mutant").mkdir()
    assert SHOWN_BY[name](tmp_path / "sound") == OK
    with mutants.selected(name):
        assert SHOWN_BY[name](tmp_path / "mutant") != OK
