"""Records in columns, without an object for each."""

from pathlib import Path

import numpy as np
import pytest

from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.writer import Appended, Writer
from fireassay.reference.tests.chronicle_files import assert_consistent

SEGMENT = 1024


def test_columns_hold_what_the_objects_hold(tmp_path: Path) -> None:
    payloads = [bytes([number]) * (number * 37 % 200) for number in range(40)]
    joined, lengths = b"".join(payloads), [len(payload) for payload in payloads]
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer:
        assert writer.append_joined(joined, lengths, type_id=3, flags=5) == range(40)
        assert writer.append_joined(bytearray(joined), np.array(lengths, np.int32)) == range(40, 80)
        assert writer.append_joined(memoryview(b"abcdef"), 2) == range(80, 83)
        assert writer.append_joined(b"", []) == range(83, 83)
    assert [record.payload for record in assert_consistent(tmp_path / "q")] == [*payloads, *payloads, b"ab", b"cd", b"ef"]
    with Reader(tmp_path / "q", "objects") as one, Reader(tmp_path / "q", "columns") as other:
        while not (batch := one.read_batch(9)).end:
            columns = other.read_columns(9)
            cut = np.split(columns.payloads, np.cumsum(columns.lengths)[:-1])
            assert [bytes(payload) for payload in cut] == [message.payload for message in batch.messages]
            assert columns.seqs.tolist() == [message.seq for message in batch.messages]
            assert columns.timestamps_ns.tolist() == [message.timestamp_ns for message in batch.messages]
            assert list(zip(columns.type_ids, columns.flags, strict=True)) == [(m.type_id, m.flags) for m in batch.messages]
            assert (columns.next, columns.end) == (batch.messages[-1].next, False)
        columns = other.read_columns(9)
        assert (len(columns), columns.next, columns.end) == (0, None, True)


def test_columns_stay_when_the_reader_goes_on(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer, Reader(tmp_path / "q", "r") as reader:
        writer.append_joined(b"".join(b"%04d" % number for number in range(100)), 4)
        batches = [reader.read_columns(7) for _ in range(30)]
    rows = np.concatenate([batch.rows() for batch in batches if len(batch)])
    assert [bytes(row) for row in rows] == [b"%04d" % number for number in range(100)]


@pytest.mark.parametrize("lengths", [3, 0, -1, [5, 6], [10, 1], [-1, 11], [2**64 - 1, 11], [[5, 5]], ["a"], 10.0])
def test_lengths_that_do_not_cut_the_bytes_are_refused_before_anything_is_read(tmp_path: Path, lengths: object) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer:
        with pytest.raises((ValueError, OverflowError)):
            writer.append_joined(bytes(10), lengths)  # type: ignore[arg-type]
        assert writer.next_seq == 0


def test_a_joined_batch_that_ends_in_the_middle_says_what_is_in_the_queue(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer:
        with pytest.raises(Appended, match="PayloadTooLarge") as ended:
            writer.append_joined(bytes(10 + 897 + 3), [10, 897, 3])
        assert (ended.value.seqs, writer.next_seq) == ((0,), 1)


def test_rows_need_payloads_of_one_length(tmp_path: Path) -> None:
    with Writer(tmp_path / "q", SEGMENT, heartbeat_s=0) as writer, Reader(tmp_path / "q", "r") as reader:
        writer.append_joined(b"abc", [1, 2])
        with pytest.raises(ValueError, match="different lengths"):
            reader.read_columns(9).rows()
