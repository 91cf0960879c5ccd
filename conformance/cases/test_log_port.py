"""Clauses of the LOG contract that a few calls on the port decide: one writer, payload limits, streams, seeks, a clean reopen."""

import os
import signal
from contextlib import suppress

import pytest

from fireassay.conformance.cases.through import appended, numbered, payloads_of, read, refusal, unlike, well
from fireassay.conformance.driver.client import DriverTarget, DriverWriter
from fireassay.spec.outcomes import ErrorClass, Outcome, TargetError
from fireassay.spec.ports import Target
from fireassay.spec.promises import SeekBy

LARGEST_TRIED = 1 << 25


def content(target: Target, stream: str, name: str) -> list[bytes]:
    """Of the whole stream, by a reader that is new to it."""
    with target.open_reader(stream, name) as reader:
        return payloads_of(read(reader))


# -- one writer


@pytest.mark.clause("LOG-21")
def test_no_writer_goes_on_beside_its_successor(apart: DriverTarget) -> None:
    """The first is frozen while the second tries, and wakes up afterwards: at most one of them may go on."""
    first = apart.open_writer("s")
    appended(first, [b"before"])
    os.kill(first.pid, signal.SIGSTOP)
    try:
        second = opened(apart)
    finally:
        os.kill(first.pid, signal.SIGCONT)
    if second is None:
        appended(first, [b"after"])
    else:
        appended(second, [b"after"])
        said = first.append_batch([b"beside"]).outcome
        second.close()
        assert said is not Outcome.OK, "a second writer was opened while the first was frozen, and then an append by the first was ok"
    first.close()
    found = content(apart, "s", "reader")
    assert found == [b"before", b"after"], unlike(found, [b"before", b"after"])


def opened(target: DriverTarget) -> DriverWriter | None:
    with suppress(TargetError):
        return target.open_writer("s")
    return None


@pytest.mark.clause("LOG-21")
def test_a_second_writer_is_refused_while_the_first_lives_and_replaces_it_when_it_is_dead(target: Target, apart: DriverTarget) -> None:
    first = apart.open_writer("s")
    appended(first, [b"one"])
    assert refusal(target, "s") is not None, "one writer is promised; the first one lives, and a second was opened"
    appended(first, [b"two"])
    first.kill()
    refused = refusal(target, "s")
    assert refused is None, f"the first writer is dead: expected an open writer, found {refused}"


# -- limits


@pytest.mark.clause("LOG-28")
def test_the_empty_and_the_largest_payload_are_records_and_a_larger_one_leaves_no_trace(target: Target) -> None:
    largest = target.promises.bounds.max_payload
    assert largest is not None
    if largest > LARGEST_TRIED:
        pytest.skip(f"not run: payloads of {largest} bytes are promised, and more than {LARGEST_TRIED} are not tried")
    whole, too_large = b"w" * largest, b"x" * (largest + 1)
    with target.open_writer("s") as writer:
        kept = [b"", whole, b"between", b""]
        appended(writer, kept[:3])
        alone = writer.append_batch([too_large])
        batch = writer.append_batch([kept[3], too_large, b"behind it"])
        for result, before in ((alone, 0), (batch, 1)):
            what = f"an append of {largest + 1} bytes, where {largest} are promised, with {before} before it"
            assert result.outcome is Outcome.FAIL, f"{what}: expected fail, found {result.outcome.value}"
            assert result.error is not None
            assert result.error.error is ErrorClass.TOO_LARGE, f"{what}: expected TOO_LARGE, found {result.error.error.name}"
            assert len(result.positions) == before, f"{what}: {len(result.positions)} positions were told, expected {before}"
        appended(writer, [b"after"])
    found = content(target, "s", "reader")
    assert found == [*kept, b"after"], unlike(found, [*kept, b"after"])


# -- streams


@pytest.mark.clause("LOG-29")
def test_streams_share_neither_records_nor_commits(target: Target) -> None:
    sent = {"left": numbered(24), "right": numbered(20, 100)}
    with target.open_writer("left") as left, target.open_writer("right") as right:
        for at in range(0, 24, 4):
            appended(left, sent["left"][at : at + 4])
            if sent["right"][at : at + 4]:
                appended(right, sent["right"][at : at + 4])
    with target.open_reader("left", "same") as reader:
        well(reader.commit(read(reader, 10, limit=1)[-1].position + 1), "commit of 10 records")
    for stream, name, committed in (("right", "same", 0), ("left", "other", 0), ("left", "same", 10)):
        found, expected = content(target, stream, name), sent[stream][committed:]
        assert found == expected, f"reader {name} of stream {stream}, with {committed} records committed: {unlike(found, expected)}"


# -- seeks


@pytest.mark.clause("LOG-31")
def test_a_seek_by_position_lands_on_the_first_record_at_or_behind_it(target: Target) -> None:
    if SeekBy.POSITION not in target.promises.seek.by:
        pytest.skip("not applicable: it does not seek by position")
    sent = numbered(30)
    with target.open_writer("s") as writer:
        positions = [position for payload in sent for position in appended(writer, [payload])]
    with target.open_reader("s", "reader") as reader:
        for number in (17, 0, 29, 5, 6):
            result = reader.seek(SeekBy.POSITION, positions[number])
            well(result, f"seek to position {positions[number]}")
            assert result.granted == positions[number], f"a seek to {positions[number]}, where a record is, was granted {result.granted}"
            found = payloads_of(read(reader, 1, limit=1))
            assert found == [sent[number]], f"behind a seek to position {positions[number]}: {unlike(found, [sent[number]])}"


# -- a clean reopen


@pytest.mark.clause("LOG-32")
def test_after_a_reopen_the_old_content_is_a_prefix_of_the_new(target: Target) -> None:
    """Read whole after each of some reopens, by readers that never saw it before."""
    sent: list[bytes] = []
    for number, count in enumerate((7, 0, 1, 12)):
        more = numbered(count, len(sent))
        with target.open_writer("s") as writer:
            if more:
                appended(writer, more)
        found, old = content(target, "s", f"reader{number}"), len(sent)
        sent += more
        assert found[:old] == sent[:old], f"after reopen {number} of what was there before: {unlike(found[:old], sent[:old])}"
        assert found[old:] == more, f"after reopen {number} of what was appended then: {unlike(found[old:], more)}"
