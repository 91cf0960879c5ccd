"""Each deliberate fault of om_bus shows itself, and the same steps without it do not."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fireassay.reference import core, mutants
from fireassay.reference.failpoints import Action, ControlFile
from fireassay.reference.ombus.endpoint import Endpoint, Gap
from fireassay.reference.ombus.errors import BusError
from fireassay.reference.ombus.monitor import Monitor
from fireassay.reference.ombus.stream import Stream
from fireassay.reference.ombus.wal import Replay, Wal
from fireassay.reference.tests import ombus_files
from fireassay.reference.tests.ombus_files import NAME, header, left_behind, patch, publish, slot_at, tail_of
from fireassay.spec import layouts
from fireassay.spec.layouts import LayoutError
from fireassay.spec.layouts import ombus as layout
from fireassay.spec.layouts.ombus import ErrorCode

OK = "ok"


def stream(where: Path, **more: Any) -> Stream:
    return ombus_files.stream(where, variant="mutants", **more)


def endpoint(where: Path, consumer: int = 0, **more: Any) -> Endpoint:
    return ombus_files.endpoint(where, consumer, variant="mutants", **more)


def polled(port: Endpoint, limit: int = 1, times: int = 12) -> list[Any]:
    """Sequences, and in their place what was refused: the code, and of a gap what is missing and the record."""
    found: list[Any] = []
    for _ in range(times):
        try:
            records = port.poll_batch(limit)
            if not records:
                break
            found += [record.wal_seq for record in records]
        except Gap as gap:
            found += [gap.missing, gap.record.wal_seq]
        except BusError as error:
            found.append(error.code)
    return found


def told(found: object, expected: object) -> str:
    return OK if found == expected else f"{found} instead of {expected}"


def slots_are_as_specified(where: Path) -> str:
    with stream(where) as bus:
        publish(bus, 1)
        try:
            return told(layouts.parse(layout.SLOT_HEADER, (where / "bus").read_bytes()[slot_at(0) :][:24])["wal_seq"], 1)
        except LayoutError as error:
            return str(error)


def the_page_is_as_specified(where: Path) -> str:
    with stream(where):
        try:
            return told(header(where)["capacity"], ombus_files.CAPACITY)
        except LayoutError as error:
            return str(error)


def tails_tell_what_was_consumed(where: Path) -> str:
    with stream(where) as bus, endpoint(where) as port:
        publish(bus, 7, 8)
        polled(port)
        return told(tail_of(where, 0), (2, 8))


def the_region_has_its_size(where: Path) -> str:
    with stream(where):
        return told((where / "bus").stat().st_size, layout.region_size(ombus_files.SLOT_SIZE, ombus_files.CAPACITY, ombus_files.CONSUMERS))


PRODUCER = """
import sys
from fireassay.reference.ombus.stream import Stream
from fireassay.reference.ombus.wal import Replay, Wal
bus = Stream('/bus', capacity=8, slot_size=64, consumers=2, directory=sys.argv[1])
for seq in range(1, 9):
    bus.publish(seq, b'payload %d' % seq)
"""


def killed_at(where: Path, failpoint: str, nth: int) -> None:
    """A producer that dies there, with the mutant that is selected here."""
    ffi, lib = core.load("mutants")
    mutant = lib.fa_mutant_current()
    with ControlFile.create(where / "control", "mutants") as control:
        control.arm(failpoint, Action.CRASH, nth=nth)
        settings = {"FIREASSAY_CORE": "mutants", "FIREASSAY_FAILPOINTS": str(control.path), "FIREASSAY_MUTANT": ""}
        if mutant != ffi.NULL:
            settings["FIREASSAY_MUTANT"] = ffi.string(mutant).decode()
        done = subprocess.run([sys.executable, "-c", PRODUCER, where], env={**os.environ, **settings}, capture_output=True, timeout=60)
        assert done.returncode == -signal.SIGKILL, done


def nothing_is_published_before_its_payload(where: Path) -> str:
    killed_at(where, "ombus_payload", 4)
    with endpoint(where) as port:
        return told((polled(port), port.duplicates), ([1, 2, 3], 0))


def a_large_record_is_refused(where: Path) -> str:
    with stream(where) as bus:
        try:
            bus.publish(1, bytes(41))
        except BusError as error:
            return told(error.code, ErrorCode.RECORD_TOO_LARGE)
        return "it was published"


def a_full_ring_refuses(where: Path) -> str:
    with stream(where) as bus, endpoint(where) as port:
        publish(bus, *range(1, 9))
        try:
            publish(bus, 9)
        except BusError as error:
            return told((error.code, polled(port)), (ErrorCode.BLOCKED, list(range(1, 9))))
        return told(polled(port), list(range(1, 10)))


def who_is_not_there_does_not_count(where: Path) -> str:
    with stream(where) as bus:
        try:
            publish(bus, *range(1, 30))
        except BusError as error:
            return str(error)
        return OK


def a_slot_of_a_later_lap_is_not_ready(where: Path) -> str:
    with stream(where) as bus, endpoint(where) as port:
        publish(bus, 1, 2)
        patch(where, slot_at(0), (9).to_bytes(8, "little"))
        return told(polled(port), [ErrorCode.CRC_MISMATCH, (1, 2), 2])


def a_view_stays_until_the_next_poll(where: Path) -> str:
    with stream(where) as bus, endpoint(where, zero_copy=True) as port:
        publish(bus, *range(1, 9))
        view = port.poll()
        assert view is not None
        try:
            publish(bus, 9)
        except BusError as error:
            return told((error.code, bytes(view.payload)), (ErrorCode.BLOCKED, b"payload 1"))
        return f"it reads {bytes(view.payload)!r} now"


def batches_and_single_polls_are_the_same(where: Path) -> str:
    with stream(where) as bus, endpoint(where, 0) as one, endpoint(where, 1) as batch:
        publish(bus, 1, 2, 5, 6, 6, 9)
        return told(polled(batch, 4), polled(one))


def a_gap_is_told_once(where: Path) -> str:
    with stream(where) as bus, endpoint(where) as port:
        publish(bus, 1, 4, 5, 6)
        return told(polled(port), [1, (2, 4), 4, 5, 6])


def a_duplicate_is_not_delivered(where: Path) -> str:
    with stream(where) as bus, endpoint(where) as port:
        publish(bus, 1, 2, 2, 1, 3)
        return told(polled(port), [1, 2, 3])


def damage_is_told_and_passed(where: Path) -> str:
    with stream(where, crc=True) as bus, endpoint(where) as port:
        publish(bus, 1, 2, 3)
        patch(where, slot_at(1) + 24, b"P")
        return told(polled(port), [1, ErrorCode.CRC_MISMATCH, 3])


def versions_have_their_code(where: Path) -> str:
    left_behind(where)
    patch(where, 4, b"\2")
    try:
        endpoint(where).close()
    except BusError as error:
        return told(error.code, ErrorCode.VERSION_MISMATCH)
    return "it was opened"


def tails_are_independent(where: Path) -> str:
    with stream(where) as bus, endpoint(where, 0), endpoint(where, 1) as second:
        publish(bus, 1, 2)
        polled(second)
        return told((tail_of(where, 0), tail_of(where, 1)), ((0, 0), (2, 2)))


def an_endpoint_maps_read_only(where: Path) -> str:
    with stream(where, capacity=1024), endpoint(where):
        maps = re.findall(r"(?m)^([0-9a-f]+)-([0-9a-f]+) rw-s .*" + re.escape(str(where / "bus")), Path("/proc/self/maps").read_text())
        return told(sorted(int(end, 16) - int(start, 16) > 4096 for start, end in maps), [False, True])  # its tail's page, the producer's


def the_idle_are_not_stale(where: Path) -> str:
    with stream(where) as bus, endpoint(where) as port, Monitor(NAME, 0, directory=where, variant="mutants") as monitor:
        publish(bus, 1)
        polled(port)
        return told([one.stale for one in monitor.look()], [False])


def the_released_find_their_gap(where: Path) -> str:
    with stream(where) as bus, endpoint(where) as port, Monitor(NAME, 0, directory=where, variant="mutants") as monitor:
        publish(bus, 1, 2)
        assert [one.consumer for one in monitor.release_stale()] == [0]
        publish(bus, *range(3, 12))
        return told(polled(port), [(1, 9), 9, 10, 11])


def who_attaches_is_told_what_it_missed(where: Path) -> str:
    with stream(where) as bus:
        publish(bus, *range(1, 11))
        with endpoint(where, from_seq=4) as port:
            return told(polled(port), [(4, 9), 9, 10])


def the_old_object_is_retired(where: Path) -> str:
    left_behind(where)
    with endpoint(where) as port, stream(where) as bus:
        publish(bus, 4)
        return told(polled(port, times=4), [1, 2, 3, ErrorCode.REPLACED])


def wal(where: Path, **more: Any) -> Wal:
    return Wal(where / "wal-%u", file_size=512, variant="mutants", **more)


def replayed(where: Path, from_seq: int = 0, to_seq: int = 0) -> Any:
    try:
        with Replay(where / "wal-%u", from_seq, to_seq, variant="mutants") as replay:
            return [record.wal_seq for record in replay]
    except BusError as error:
        return error.code


def written(where: Path, count: int = 20) -> list[Path]:
    """Of thirteen bytes each, so that records need fill."""
    with wal(where) as writer:
        for number in range(count):
            writer.append(b"%013d" % number, 1)
    return sorted(where.glob("wal-*"))


def sequences_never_restart(where: Path) -> str:
    written(where)
    return told(replayed(where), list(range(1, 21)))


def wal_records_are_as_specified(where: Path) -> str:
    data = written(where, 3)[0].read_bytes()
    at, found = 64, []
    try:
        while at < len(data):
            record, used = layouts.parse_prefix(layout.WAL_RECORD_CRC, data[at:])
            found.append((record["seq"], record["type"], record["payload"]))
            at += used
    except LayoutError as error:
        return str(error)
    return told(found, [(number + 1, 1, b"%013d" % number) for number in range(3)])


def wal_files_keep_their_size(where: Path) -> str:
    return told([path.stat().st_size <= 512 for path in written(where)], [True, True])


def damage_is_no_end(where: Path) -> str:
    path = written(where)[0]
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"!" + data[101:])
    return told(replayed(where), ErrorCode.WAL_DAMAGED)


def a_range_is_half_open(where: Path) -> str:
    written(where)
    return told(replayed(where, 3, 7), [3, 4, 5, 6])


def a_sync_syncs(where: Path) -> str:
    ffi, lib = core.load("mutants")
    err = ffi.new("fa_error *")
    with ControlFile.create(where / "control", "mutants") as control:
        core.check(ffi, err, lib.fa_failpoint_attach(os.fsencode(control.path), err))
        try:
            control.arm("ombus_wal_fdatasync", Action.COUNT)
            with wal(where, sync_every=2) as writer:
                for _ in range(4):
                    writer.append(b"x")
            return told(control.hits("ombus_wal_fdatasync"), 2)
        finally:
            lib.fa_failpoint_detach(err)


def a_position_is_the_last_sequence(where: Path) -> str:
    """Through the C interface, which knows streams of the machine only."""
    ffi, lib = core.load("mutants")
    name = f"/fireassay-{where.name}-{os.getpid()}"
    kept, handle, record = ffi.new("char[]", name.encode()), ffi.new("OmBusEndpoint **"), ffi.new("OmBusRecord *")
    with Stream(name, capacity=2, variant="mutants") as bus:
        bus.publish(7, b"x")
        assert lib.om_bus_endpoint_open_at(handle, ffi.new("OmBusEndpointConfig *", (kept, 0, False)), 7) == 0
        try:
            assert lib.om_bus_endpoint_poll(handle[0], record) == 1
            return told(lib.om_bus_endpoint_wal_seq(handle[0]), 7)
        finally:
            lib.om_bus_endpoint_close(handle[0])


SHOWN_BY: dict[str, Callable[[Path], str]] = {
    "ombus_slot_dirty": slots_are_as_specified,
    "ombus_page_dirty": the_page_is_as_specified,
    "ombus_tail_seq_unset": tails_tell_what_was_consumed,
    "ombus_region_rounded": the_region_has_its_size,
    "ombus_seq_first": nothing_is_published_before_its_payload,
    "ombus_large_truncated": a_large_record_is_refused,
    "ombus_full_overwrites": a_full_ring_refuses,
    "ombus_unregistered_counts": who_is_not_there_does_not_count,
    "ombus_lap_ready": a_slot_of_a_later_lap_is_not_ready,
    "ombus_view_released": a_view_stays_until_the_next_poll,
    "ombus_batch_gapless": batches_and_single_polls_are_the_same,
    "ombus_gap_unmoved": a_gap_is_told_once,
    "ombus_duplicate_delivered": a_duplicate_is_not_delivered,
    "ombus_damage_delivered": damage_is_told_and_passed,
    "ombus_damage_stuck": damage_is_told_and_passed,
    "ombus_codes_merged": versions_have_their_code,
    "ombus_tail_shared": tails_are_independent,
    "ombus_map_writable": an_endpoint_maps_read_only,
    "ombus_idle_stale": the_idle_are_not_stale,
    "ombus_release_unnoticed": the_released_find_their_gap,
    "ombus_attach_at_head": who_attaches_is_told_what_it_missed,
    "ombus_old_unretired": the_old_object_is_retired,
    "ombus_wal_seq_restarts": sequences_never_restart,
    "ombus_wal_header_swapped": wal_records_are_as_specified,
    "ombus_wal_unaligned": wal_records_are_as_specified,
    "ombus_wal_oversized": wal_files_keep_their_size,
    "ombus_wal_damage_silent": damage_is_no_end,
    "ombus_replay_inclusive": a_range_is_half_open,
    "ombus_wal_unsynced": a_sync_syncs,
    "ombus_position_ahead": a_position_is_the_last_sequence,
}


def test_every_mutant_of_om_bus_is_shown() -> None:
    assert set(SHOWN_BY) == {mutant.name for mutant in mutants.mutants() if mutant.name.startswith("ombus_")}


@pytest.mark.parametrize("name", SHOWN_BY)
def test_the_mutant_shows_and_the_sound_build_does_not(tmp_path: Path, name: str) -> None:
    for which in ("sound", "mutant"):
        (tmp_path / which).mkdir()
    assert SHOWN_BY[name](tmp_path / "sound") == OK
    with mutants.selected(name):
        assert SHOWN_BY[name](tmp_path / "mutant") != OK
