"""`fireassay chronicle` as people and programs call it, on live, dead and damaged queues."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fireassay.cli.main import app
from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.writer import Writer

SEGMENT = 1024
MAIN = [sys.executable, "-c", "from fireassay.cli.main import main; main()", "chronicle"]


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["chronicle", *map(str, arguments)])


def filled(queue: Path, count: int = 40) -> Path:
    with Writer(queue, SEGMENT, heartbeat_s=0) as writer:
        for number in range(count):
            writer.append(b"%02d" % number * 15, type_id=number % 3, flags=number, timestamp_ns=1_700_000_000_000_000_000 + number)
    return queue


def test_inspect_tells_writer_segments_and_readers(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    with Writer(queue, SEGMENT, heartbeat_s=0) as writer, Reader(queue, "strategy") as reader:
        writer.append_batch([bytes(100)] * 30)
        reader.commit(*reader.read_batch(3).messages[2].next)
        told = json.loads(call("inspect", queue, "--json").stdout)
        shown = call("inspect", queue).stdout
    assert (told["holder"]["state"], told["holder"]["pid"], told["next_seq"]) == ("live", os.getpid(), 30)
    assert [(row["name"], row["lag_records"]) for row in told["readers"]] == [("strategy", 27)]
    assert sum(row["records"] for row in told["segments"]) == 30
    for text in (f"process {os.getpid()} writes", "strategy", "27", f"segment {told['control']['segment']}, offset"):
        assert text in shown


def test_tail_prints_the_last_records_or_those_from_a_number(tmp_path: Path) -> None:
    queue = filled(tmp_path / "q")
    shown = call("tail", queue, "-n", 2)
    assert shown.exit_code == 0
    assert "seq 38  2023-11-14T22:13:20.000000038Z  type 2  flags 0x0026  30 bytes  at" in shown.stdout
    assert "    00000000  33 39 33 39 33 39" in shown.stdout
    assert "|3939393939393939|" in shown.stdout
    assert "… 20 bytes more" in call("tail", queue, "-n", 1, "--bytes", 10).stdout
    lines = [json.loads(line) for line in call("tail", queue, "--from", 35, "--json").stdout.splitlines()]
    assert [(line["seq"], bytes.fromhex(line["payload"])) for line in lines] == [(n, b"%02d" % n * 15) for n in range(35, 40)]
    assert (lines[0]["timestamp_ns"], lines[0]["type_id"], lines[0]["flags"]) == (1_700_000_000_000_000_035, 2, 35)
    assert call("tail", queue, "-n", 0).stdout == ""
    assert len(call("tail", queue, "-n", 99, "--json").stdout.splitlines()) == 40


def test_tail_follows_a_writer_until_it_is_interrupted(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    with Writer(queue, SEGMENT, heartbeat_s=0) as writer:
        writer.append(b"%0100d" % 0)
        child = subprocess.Popen([*MAIN, "tail", queue, "-f", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert child.stdout is not None
            for number in range(1, 30):
                assert int(bytes.fromhex(json.loads(child.stdout.readline())["payload"])) == number - 1
                writer.append(b"%0100d" % number)
            child.send_signal(signal.SIGINT)
            _, errors = child.communicate(timeout=60)
        finally:
            child.kill()
            child.communicate()
    assert (child.returncode, errors) == (0, "")


def test_tail_tells_damage_and_goes_on_behind_it(tmp_path: Path) -> None:
    queue = filled(tmp_path / "q")
    path = queue / "000000001.q"
    data = bytearray(path.read_bytes())
    data[64 + 64] ^= 1
    path.write_bytes(data)
    told = call("tail", queue, "-n", 99, "--json")
    numbers = [json.loads(line)["seq"] for line in told.stdout.splitlines()]
    assert told.exit_code == 1
    assert "segment 1, offset 64: the record here cannot be trusted; going on behind that segment" in told.stderr
    assert numbers == [*range(7), *range(14, 40)]


def test_doctor_looks_below_a_root_and_fails_when_something_is_wrong(tmp_path: Path) -> None:
    with Writer(tmp_path / "a", SEGMENT, heartbeat_s=0):
        well = call("doctor", tmp_path)
        assert (well.exit_code, well.stdout) == (0, f"{tmp_path}: 1 queues, and nothing to say about them\n")
    filled(tmp_path / "b")
    os.truncate(tmp_path / "b" / "control.meta", 100)
    told = call("doctor", tmp_path, "--json")
    assert told.exit_code == 1
    (row,) = [row for row in json.loads(told.stdout) if row["wrong"]]
    assert (row["queue"], row["file"]) == ("b", "control.meta")
    assert "truncated" in row["found"]
    assert "restore it" in row["what to do"]
    assert "control.meta" in call("doctor", tmp_path).stdout
    assert json.loads(call("inspect", tmp_path / "b", "--json").stdout)["problems"][0]["file"] == "control.meta"


def test_bench_gives_figures_beside_the_floors_and_leaves_nothing_behind(tmp_path: Path) -> None:
    done = call("bench", tmp_path, "--records", 2000, "--rounds", 1, "--json")
    rows = {row["what"]: row for row in json.loads(done.stdout)}
    assert {"append", "read", "across", "wake", "append and flush"} <= set(rows)
    assert all(row["ns p50"] > 0 and row["a second"] > 0 for row in rows.values())
    assert list(rows["wake"]["times its floor"]) == ["futex"]
    assert rows["append"]["times its floor"]["clock"] > 0
    assert list(tmp_path.iterdir()) == []
    assert call("bench", tmp_path / "none").exit_code != 0


@pytest.mark.parametrize("arguments", [("inspect", "here"), ("tail", "here"), ("doctor", "here"), ("tail", "cut")])
def test_what_is_no_queue_is_one_sentence(tmp_path: Path, arguments: tuple[str, str]) -> None:
    (tmp_path / "here").mkdir()
    os.truncate(filled(tmp_path / "cut") / "control.meta", 100)
    done = subprocess.run([*MAIN, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "Traceback" not in done.stderr


def test_a_heartbeat_is_old_after_the_ttl_that_was_given(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    with Writer(queue, SEGMENT, heartbeat_s=0), Reader(queue, "r"):
        deadline = time.monotonic() + 20
        while json.loads(call("inspect", queue, "--ttl", 0.01, "--json").stdout)["readers"][0]["live"]:
            assert time.monotonic() < deadline
        assert json.loads(call("inspect", queue, "--ttl", 1000, "--json").stdout)["readers"][0]["live"]
        assert call("doctor", queue, "--ttl", 0.01).exit_code == 1
