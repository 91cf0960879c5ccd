"""Committed positions over restarts and deaths, and where new readers begin (CHR-25)."""

from pathlib import Path

import pytest

from fireassay.conformance.cases.chronicle import queue
from fireassay.conformance.cases.chronicle.queue import SMALL
from fireassay.conformance.cases.through import appended, numbered, payloads_of, read, unlike, well
from fireassay.conformance.driver.client import DriverTarget
from fireassay.spec.ports import ReaderPort, Target

pytestmark = pytest.mark.clause("CHR-25")

SENT = numbered(60)


@pytest.fixture
def filled(target: Target, place: Path) -> None:
    """Some segments full of SENT."""
    here = queue.made(place / "q", SMALL)
    with target.open_writer("q") as writer:
        appended(writer, SENT)
    assert len(here.ids()) > 3


def resumed(reader: ReaderPort, committed: int) -> None:
    """What it reads first is what follows its commit."""
    found = payloads_of(read(reader, 3, limit=3))
    expected = SENT[committed : committed + 3]
    assert found[:3] == expected, f"{committed} records were committed; next {unlike(found, expected)}"


@pytest.mark.usefixtures("filled")
def test_a_restarted_reader_resumes_exactly_at_its_commit(target: Target) -> None:
    """Committed in the middle of what was delivered, at its end, and at both ends of a segment; what was not committed comes again."""
    committed = 0
    for step, ahead in ((1, 5), (4, 0), (13, 2), (1, 1), (7, 9), (12, 0)):
        with target.open_reader("q", "reader") as reader:
            found = read(reader, step + ahead, limit=1)
            said, expected = payloads_of(found), SENT[committed : committed + step + ahead]
            assert said == expected, f"{committed} records were committed: {unlike(said, expected)}"
            well(reader.commit(found[step - 1].position + 1), f"commit of {committed + step} records")
        committed += step
    with target.open_reader("q", "reader") as reader:
        resumed(reader, committed)


@pytest.mark.usefixtures("filled")
def test_a_commit_survives_the_death_of_its_reader(target: Target, apart: DriverTarget) -> None:
    committed = 0
    for step in (6, 17):
        reader = apart.open_reader("q", "reader")
        found = read(reader, step + 3, limit=1)
        said, expected = payloads_of(found), SENT[committed : committed + step + 3]
        assert said == expected, f"{committed} records were committed; next {unlike(said, expected)}"
        well(reader.commit(found[step - 1].position + 1), f"commit of {committed + step} records")
        reader.kill()
        committed += step
    with target.open_reader("q", "reader") as after:
        resumed(after, committed)


@pytest.mark.usefixtures("filled")
def test_commits_of_one_name_are_nobody_elses(target: Target) -> None:
    for name, count in (("one", 9), ("two", 30), ("three", 0)):
        with target.open_reader("q", name) as reader:
            if count:
                well(reader.commit(read(reader, count, limit=1)[-1].position + 1), f"commit of {count} records by {name}")
    for name, count in (("one", 9), ("two", 30), ("three", 0)):
        with target.open_reader("q", name) as reader:
            resumed(reader, count)


@pytest.mark.usefixtures("filled")
def test_a_new_reader_begins_at_the_oldest_segment(target: Target, place: Path) -> None:
    with target.open_reader("q", "new") as reader:
        resumed(reader, 0)
    oldest = queue.Queue(place / "q")
    oldest.segment_path(0).unlink()  # as retention does; it holds no records
    with target.open_reader("q", "newer") as reader:
        resumed(reader, 0)
