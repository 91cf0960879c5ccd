"""The tap copies each record once and as it is, whatever kills it; importers and strangers may write the archive in between."""

import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from fireassay.reference.chronicle.archive.importer import Importer
from fireassay.reference.chronicle.archive.origin import ORIGIN, Origin, append_origin, copied_of, origins_of
from fireassay.reference.chronicle.archive.tap import Start, Tap, TapGap
from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.writer import Writer
from fireassay.reference.failpoints import Action, ControlFile
from fireassay.reference.tests.chronicle_files import readable
from fireassay.reference.tests.killed import Victims, victims
from fireassay.spec.layouts import LayoutError

SEGMENT = 1024
Content = tuple[int, int, int, bytes]


def write(queue: Path, count: int, seed: int = 0) -> None:
    """Also records that cannot be told from each other."""
    with Writer(queue, SEGMENT, heartbeat_s=0) as writer:
        writer.append_batch([b"same"] * (count // 3))
        for number in range(count - count // 3):
            writer.append(b"%d" % number * ((number * 31 + seed) % 80), type_id=number % 5, flags=number % 3)
        writer.flush_sync()


def contents(queue: Path) -> list[Content]:
    return [(record.timestamp_ns, record.type_id, record.flags, record.payload) for record in readable(queue)]


def drain(live: Path, archive: Path, **options: bool) -> Start:
    with Tap(live, archive, **options) as tap:  # type: ignore[arg-type]
        while tap.step(5):
            pass
        tap.commit()
        return tap.start


def test_it_keeps_order_and_everything_but_the_numbers(tmp_path: Path) -> None:
    live, archive = tmp_path / "live", tmp_path / "archive"
    write(live, 60)
    assert drain(live, archive) is Start.FRESH
    assert contents(archive) == contents(live)
    assert drain(live, archive) is Start.GOES_ON
    write(live, 20, 1)
    assert drain(live, archive) is Start.GOES_ON
    assert contents(archive) == contents(live)
    assert origins_of(archive) == [Origin(0, str(live), 0)]


def test_it_follows_a_live_writer_and_lets_retention_go_behind_it(tmp_path: Path) -> None:
    live, archive = tmp_path / "live", tmp_path / "archive"
    with Writer(live, SEGMENT, heartbeat_s=0) as writer, Tap(live, archive) as tap:
        assert tap.step() == 0
        for number in range(50):
            writer.append(b"%d" % number * 20)
            assert tap.step(wait_s=5) == 1
        with Reader(live, "archive_tap") as port:
            assert port.opened_at == 0, "nothing is committed before the archive is durable"
        tap.commit()
        with Reader(live, "archive_tap") as port:
            assert port.opened_at == 50
        stops = iter([False, False, True])
        writer.append(b"last")
        tap.run(lambda: next(stops), commit_s=0.01)
    assert contents(archive) == contents(live)


def test_what_the_archive_cannot_hold_is_said_at_the_start(tmp_path: Path) -> None:
    write(tmp_path / "live", 3)
    Writer(tmp_path / "archive", 512, heartbeat_s=0).close()
    with pytest.raises(ValueError, match="smaller than those of the live queue"):
        Tap(tmp_path / "live", tmp_path / "archive")


def test_imports_go_between_with_their_own_timestamps(tmp_path: Path) -> None:
    live, archive = tmp_path / "live", tmp_path / "archive"
    history = [(5, 1, 2, b"old"), (7, 3, 4, b""), (7, 3, 4, b"")]
    with Importer(archive, SEGMENT) as importer:
        assert importer.append(history) == (0, 1, 2)
        importer.sync()
    write(live, 10)
    first = contents(live)
    drain(live, archive)
    with Importer(archive, SEGMENT) as importer:
        assert importer.append(history[:1]) == (13,)
    write(live, 10, 1)
    assert drain(live, archive) is Start.GOES_ON
    assert contents(archive) == [*history, *first, history[0], *contents(live)[10:]]
    assert [(origin.archive_seq, origin.source_seq) for origin in origins_of(archive)] == [(0, 0), (3, 0), (13, 13), (14, 10)]


def test_a_stranger_who_wrote_the_archive_costs_no_record(tmp_path: Path) -> None:
    live, archive = tmp_path / "live", tmp_path / "archive"
    write(live, 20)
    drain(live, archive)
    with Writer(archive, SEGMENT, heartbeat_s=0) as stranger:
        stranger.append_batch([b"stranger"] * 3)
    strange = contents(archive)[20:]
    write(live, 20, 1)
    assert drain(live, archive) is Start.DIVERGED
    assert contents(archive) == [*contents(live)[:20], *strange, *contents(live)[20:]]


@pytest.mark.parametrize("kept", [0, 1, 7, 19, 20])
def test_a_live_queue_that_lost_its_tail_is_followed_from_where_it_differs(tmp_path: Path, kept: int) -> None:
    """As power loss leaves it: the archive was durable, the live queue was not."""
    live, archive, other = tmp_path / "live", tmp_path / "archive", tmp_path / "other"
    write(live, 20)
    history = contents(live)
    drain(live, archive)
    with Writer(other, SEGMENT, heartbeat_s=0) as writer:
        writer.append_stamped(history[:kept])
    shutil.rmtree(live)
    other.rename(live)
    write(live, 9, 3)
    assert drain(live, archive) is (Start.GOES_ON if kept == 20 else Start.DIVERGED)
    assert contents(archive) == [*history, *contents(live)[kept:]]


def test_records_that_left_before_they_were_copied_are_told(tmp_path: Path) -> None:
    live, archive = tmp_path / "live", tmp_path / "archive"
    write(live, 20)
    drain(live, archive)
    write(live, 40, 1)
    (live / "readers" / "archive_tap.meta").unlink()
    for path in sorted(live.glob("*.q"))[:-2]:
        path.unlink()
    with pytest.raises(TapGap, match="left the live queue before they were archived") as gap:
        Tap(live, archive)
    assert gap.value.wanted == 20
    before = contents(archive)
    assert drain(live, archive, accept_gap=True) is Start.GAP
    assert contents(archive) == [*before, *contents(live)]


def test_origins_are_found_whole_or_not_at_all(tmp_path: Path) -> None:
    assert origins_of(tmp_path) == []
    append_origin(tmp_path, Origin(0, "a", 5))
    append_origin(tmp_path, Origin(4, "b", 0))
    append_origin(tmp_path, Origin(4, "a", 9))
    found = origins_of(tmp_path)
    assert found == [Origin(0, "a", 5), Origin(4, "a", 9)]
    assert copied_of(found, "a", 10) == (Origin(4, "a", 9), 6)
    assert copied_of(found, "b", 10) is None
    whole = (tmp_path / ORIGIN).read_bytes()
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    damaged = [whole[: rng.randrange(len(whole))] for _ in range(20)] + [b"", b"[]", b"{}", b"null", b'{"origins": [1], "crc32": 0}']
    for at in rng.sample(range(len(whole)), 40):
        damaged.append(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(7)]) + whole[at + 1 :])
    for data in damaged:
        (tmp_path / ORIGIN).write_bytes(data)
        try:
            assert origins_of(tmp_path) == found, "blanks and names of keys carry nothing"
        except LayoutError:
            continue


# -- killed


@pytest.fixture(scope="module")
def forge() -> Iterator[Victims]:
    with victims() as made:
        yield made


def killed_and_followed(forge: Victims, place: Path, original: Path, rng: random.Random, **death: object) -> int:
    """One death as asked, one more anywhere, and then a whole run; the lines of the first."""
    where = place / str(len(list(place.iterdir())))
    shutil.copytree(original, where / "live")
    first = forge.run("tap", where, **death)  # type: ignore[arg-type]
    assert first.status == (-signal.SIGKILL if death.get("line") else first.status)
    assert first.status in (0, -signal.SIGKILL)
    if rng.random() < 0.5:
        write(where / "live", 9, 4)
    second = forge.run("tap", where, line=rng.randrange(1, 700))
    assert second.status in (0, -signal.SIGKILL)
    assert forge.run("tap", where).status == 0
    assert contents(where / "archive") == contents(where / "live"), death
    shutil.rmtree(where)
    return first.lines


def deaths(forge: Victims, tmp_path: Path, original: Path, share: float) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    place = tmp_path / "place"
    place.mkdir()
    whole = killed_and_followed(forge, place, original, rng)
    print(f"{whole} lines")
    for line in sorted(rng.sample(range(1, whole), int((whole - 1) * share))):
        killed_and_followed(forge, place, original, rng, line=line)


def test_killed_at_any_line_it_copies_each_record_once(forge: Victims, tmp_path: Path) -> None:
    write(tmp_path / "original", 45)
    deaths(forge, tmp_path, tmp_path / "original", 0.04)


@pytest.mark.long
def test_killed_at_every_line_it_copies_each_record_once(forge: Victims, tmp_path: Path) -> None:
    write(tmp_path / "original", 45)
    deaths(forge, tmp_path, tmp_path / "original", 1.0)


POINTS = [
    "chronicle_header", "chronicle_payload", "chronicle_commit", "chronicle_notify", "chronicle_segment_create", "chronicle_segment_rename",
    "chronicle_publish_segment", "chronicle_seal", "chronicle_pad_commit", "chronicle_flush_current", "chronicle_index_pwrite",
    "replace_pwrite", "replace_rename", "replace_fsync_dir", "chronicle_meta_slot", "chronicle_meta_crc", "chronicle_control_rename",
]  # fmt: skip


@pytest.mark.parametrize("name", POINTS)
def test_killed_inside_the_core_it_copies_each_record_once(forge: Victims, tmp_path: Path, name: str) -> None:
    write(tmp_path / "original", 45)
    (tmp_path / "place").mkdir()
    rng = random.Random(name)
    with ControlFile.create(tmp_path / "control") as control:
        control.arm(name, Action.COUNT)
        killed_and_followed(forge, tmp_path / "place", tmp_path / "original", rng, control=control.path)
        passed = control.hits(name)
        assert passed > 0
        for nth in sorted({1, 1 + passed // 2, passed}):
            control.arm(name, Action.CRASH, nth=nth)
            killed_and_followed(forge, tmp_path / "place", tmp_path / "original", rng, control=control.path)
            assert control.fired(name) == 1
