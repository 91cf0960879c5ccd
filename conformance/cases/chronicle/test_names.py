"""The files of a queue and what may become the name of one (CHR-35), and the numbers of its records (CHR-34)."""

import re
from contextlib import suppress
from pathlib import Path

import pytest

from fireassay.conformance.cases.chronicle import queue
from fireassay.conformance.cases.chronicle.queue import SMALL
from fireassay.conformance.cases.chronicle.watch import assert_born_well, without_segment
from fireassay.conformance.cases.through import appended, numbered, payloads_of, read, unlike, well
from fireassay.conformance.driver.client import DriverTarget
from fireassay.spec.outcomes import TargetError
from fireassay.spec.ports import Target

KNOWN = re.compile(r"\d{9}\.q|control\.meta|writer\.lock|index\.meta|readers|snapshots")
HOSTILE = ("../stray", "../../stray", "/stray", "a/../../../stray", "..", "", "x\0/../stray", "s" * 400)


def tree(path: Path) -> set[str]:
    return {entry.relative_to(path).as_posix() for entry in path.rglob("*")}


@pytest.mark.clause("CHR-35")
def test_the_files_of_a_queue_have_their_names(target: Target, place: Path) -> None:
    here = queue.made(place / "q", SMALL)
    with target.open_writer("q") as writer, target.open_reader("q", "billing") as reader:
        appended(writer, numbered(60))
        writer.sync()
        well(reader.commit(read(reader, 5)[-1].position + 1), "commit")
        last = here.control()["current_segment"]
        files = sorted(entry.name for entry in here.path.iterdir())
        readers = sorted(entry.name for entry in (here.path / "readers").iterdir())
    expected = [f"{number:09d}.q" for number in range(last + 1)]
    segments = [name for name in files if name.endswith(".q")]
    assert segments == expected, f"segments 0 to {last} are expected as {expected[0]} and so on; found {segments}"
    assert {"control.meta", "writer.lock"} <= set(files), f"control.meta and writer.lock are expected; found {files}"
    strange = [name for name in files if not KNOWN.fullmatch(name)]
    assert not strange, f"nothing else belongs into a queue at rest; found {strange}"
    assert readers == ["billing.meta"], f"readers/billing.meta is expected; found {readers}"


@pytest.mark.clause("CHR-35")
def test_segment_0_is_there_when_control_appears(apart: DriverTarget, place: Path) -> None:
    assert_born_well(apart, place, without_segment)


@pytest.mark.clause("CHR-35")
@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: repr(name)[1:17])
def test_no_name_of_a_reader_leaves_its_directory(target: Target, place: Path, tmp_path: Path, name: str) -> None:
    queue.made(place / "q", SMALL, [queue.segment(0, SMALL, [queue.message(b"x", 0)])])
    before = tree(tmp_path)
    with suppress(TargetError), target.open_reader("q", name) as reader:
        reader.commit(read(reader, 1)[-1].position + 1)
    strays = sorted(new for new in tree(tmp_path) - before if not re.fullmatch(r"place/q/readers(/[^/]+)?", new))
    assert not strays, f"a reader named {name[:40]!r} made files outside of place/q/readers: {strays}"


@pytest.mark.clause("CHR-34")
def test_numbers_go_on_over_rolls_restarts_and_deaths(target: Target, apart: DriverTarget, place: Path) -> None:
    here, sent = queue.made(place / "q", SMALL), numbered(100)
    parts = (sent[:30], sent[30:33], sent[33:34], sent[34:80], sent[80:])
    for number, part in enumerate(parts):
        writer = apart.open_writer("q")
        appended(writer, part)
        if number % 2:
            writer.kill()
        else:
            writer.close()
    records = here.records()
    found = [record.payload for record in records]
    assert found == sent, f"in the order of the files: {unlike(found, sent)}"
    first = records[0].seq
    wrong = next((at for at, record in enumerate(records) if record.seq != first + at), None)
    opened = [sum(map(len, parts[:number])) for number in range(len(parts))]
    assert wrong is None, (
        f"record {wrong} has seq {records[wrong].seq}, expected {first + wrong}, as record 0 has {first}; writers opened at {opened}"
    )
    with target.open_reader("q", "reader") as reader:
        read_back = payloads_of(read(reader))
    assert read_back == sent, f"read: {unlike(read_back, sent)}"


@pytest.mark.clause("CHR-34")
def test_padding_takes_no_number(target: Target, place: Path) -> None:
    here = queue.made(place / "q", 1024)
    with target.open_writer("q") as writer:
        for payload in (b"a" * 700, b"b" * 700, b"c", b"d" * 700):
            appended(writer, [payload])
    found = [record.seq for record in here.records()]
    assert found == list(range(found[0], found[0] + 4)), (
        f"four records over three segments are numbered {found}, expected one after the other"
    )


@pytest.mark.clause("CHR-34")
def test_a_new_writer_goes_on_behind_the_last_number_that_another_build_gave(target: Target, place: Path) -> None:
    size = 1024
    here = queue.made(place / "q", size, [queue.segment(0, size, [queue.message(b"x", 41), queue.message(b"", 42)])])
    with target.open_writer("q") as writer:
        appended(writer, [b"y"])
    found = [record.seq for record in here.records()]
    assert found == [41, 42, 43], f"the last number in the queue is 42: expected 43 next, found {found}"
