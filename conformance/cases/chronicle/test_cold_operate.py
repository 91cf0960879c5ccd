"""The command line for people who operate queues (CHR-33): what it tells is true, and looking changes nothing."""

import json
import os
from pathlib import Path

import pytest

from fireassay.conformance.cases.chronicle import queue
from fireassay.conformance.cases.chronicle.helpers import operated, told
from fireassay.conformance.cases.chronicle.queue import SMALL, Queue, message, segment
from fireassay.conformance.cases.through import appended, numbered, read, well
from fireassay.conformance.driver.client import DriverTarget
from fireassay.spec.ports import Target

pytestmark = pytest.mark.clause("CHR-33")


def bytes_of(path: Path) -> dict[str, bytes]:
    """All files and their bytes; of those in which a heart beats, of the writer or a reader, only that they are there."""
    files = [file for file in sorted(path.rglob("*")) if file.is_file()]
    beating = {file for file in files if file.name == "control.meta" or file.parent.name == "readers"}
    return {str(file): b"" if file in beating else file.read_bytes() for file in files}


def test_inspect_tells_writer_segments_and_the_lag_of_readers(target: Target, apart: DriverTarget, place: Path) -> None:
    here = queue.made(place / "q", SMALL)
    with apart.open_writer("q") as writer, target.open_reader("q", "slow") as slow, target.open_reader("q", "new"):
        appended(writer, numbered(60))
        records = read(slow, 25)
        well(slow.commit(records[-1].position + 1), "commit")
        before = bytes_of(here.path)
        found = told(target, "inspect", here.path)
        after = bytes_of(here.path)
        control, first = here.control(), here.segment(0).records[0]
        pid = writer.pid
    readers = {row["name"]: row for row in found["readers"]}
    head = (int(control["current_segment"]), int(control["write_offset"]))
    place_found = (found["control"]["segment"], found["control"]["offset"])
    assert place_found == head, f"the writer is at {head}, inspect says {place_found}"
    assert (found["holder"]["state"], found["holder"]["pid"]) == ("live", pid), f"process {pid} writes; inspect says {found['holder']}"
    assert found["next_seq"] == first.seq + 60, (
        f"60 records were appended from {first.seq} on, inspect says the next is {found['next_seq']}"
    )
    assert [row["segment"] for row in found["segments"]] == here.ids(), f"segments {here.ids()}; inspect says {found['segments']}"
    assert set(readers) == {"slow", "new"}, f"two readers are there; inspect says {sorted(readers)}"
    lags = (readers["slow"]["lag_records"], readers["new"]["lag_records"])
    assert lags == (60 - len(records), 60), f"they are {60 - len(records)} and 60 records behind; inspect says {lags}"
    behind = head[0] * SMALL + head[1] - first.offset
    assert readers["new"]["lag_bytes"] == behind, f"it is {behind} bytes behind; inspect says {readers['new']['lag_bytes']}"
    assert readers["new"]["lag_segments"] == head[0], f"it is {head[0]} segments behind; inspect says {readers['new']['lag_segments']}"
    assert all(row["alive"] and row["live"] for row in readers.values()), f"both live; inspect says {found['readers']}"
    assert before == after, "looking changes nothing"


def test_tail_prints_the_last_records_and_follows(target: Target, place: Path) -> None:
    rows = [message(b"%03d" % seq * seq, seq, type_id=seq % 5, flags=seq, timestamp_ns=7000 + seq) for seq in range(20)]
    here = queue.made(place / "q", SMALL, [segment(0, SMALL, rows)])
    before = bytes_of(here.path)
    outputs = [operated(target, "tail", here.path, "--json", *more) for more in (("-n", 3), ("--from", 17), ("-n", 99))]
    shown = operated(target, "tail", here.path, "-n", 1)[1]
    assert [code for code, _, _ in outputs] == [0, 0, 0], f"expected exit code 0; found {outputs}"
    lines = [[json.loads(line) for line in out.splitlines()] for _, out, _ in outputs]
    assert [[line["seq"] for line in some] for some in lines] == [[17, 18, 19], [17, 18, 19], list(range(20))], "the last 3, from 17, all"
    fields = [(line["timestamp_ns"], line["type_id"], line["flags"], bytes.fromhex(line["payload"])) for line in lines[2]]
    assert fields == [(7000 + seq, seq % 5, seq, b"%03d" % seq * seq) for seq in range(20)], "each with its header and payload"
    assert "30 31 39 30 31 39" in shown, f"people see a hexdump of the payload 019019…; found {shown[:200]!r}"
    assert bytes_of(here.path) == before, "looking changes nothing"


def test_the_doctor_finds_damage_and_stale_locks_and_nothing_else(target: Target, apart: DriverTarget, place: Path) -> None:
    """Below one root: a queue whose writer lives, one whose writer was killed, and two that are damaged."""
    root = place
    cut = queue.made(root / "cut", SMALL)
    os.truncate(cut.control_path, 100)
    flipped = queue.made(
        root / "flipped", SMALL, [segment(0, SMALL, [message(b"a", 0)], sealed=True), segment(1, SMALL)], current_segment=1
    )
    dead = Queue(root / "dead")
    writer = apart.open_writer("dead")
    appended(writer, [b"x"])
    writer.kill()
    with apart.open_writer("live") as alive:
        appended(alive, [b"x"])
        before = bytes_of(root)
        well_code, _, _ = operated(target, "doctor", root / "live", "--json")
        rows = told(target, "doctor", root, code=1)
        assert bytes_of(root) == before, "looking changes nothing"
    wrong = {(row["queue"], row["file"]) for row in rows if row["wrong"]}
    expected = {("cut", "control.meta"), ("flipped", "000000000.q"), ("dead", "writer.lock")}
    assert well_code == 0, f"nothing is wrong with a queue whose writer lives; exit code {well_code}"
    assert wrong == expected, f"expected {sorted(expected)}; the doctor found {sorted(wrong)}"
    assert (flipped.path / "000000000.q").exists(), "nothing is repaired by looking"
    assert dead.path.exists()


def test_bench_measures_and_leaves_nothing_behind(target: Target, place: Path) -> None:
    rows = {row["what"]: row for row in told(target, "bench", place, "--records", 1000, "--rounds", 1)}
    assert {"append", "read", "wake"} <= set(rows), f"append, read and wake are measured; found {sorted(rows)}"
    assert all(row["ns p50"] > 0 and row["a second"] > 0 for row in rows.values()), f"each has figures; found {rows}"
    assert list(place.iterdir()) == [], "it leaves nothing behind"


@pytest.mark.parametrize("words", ["inspect", "tail", "doctor"])
def test_what_is_no_queue_is_refused_with_a_sentence(target: Target, place: Path, words: str) -> None:
    code, out, err = operated(target, words, place)
    assert code not in (0, None), f"{words} of an empty directory: expected an error, found exit code {code} and {out[:200]!r}"
    assert "Traceback" not in err, f"{words}: a sentence is expected, found a traceback"
    assert len(err.strip().splitlines()) == 1, f"{words}: a sentence is expected, found {err[:300]!r}"
