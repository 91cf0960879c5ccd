"""`fireassay record` on recordings that were really written, left open, and damaged."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fireassay.conformance.recorder.recorder import Actor, Recorder, Role
from fireassay.spec.history.ops import Op, Phase

APPENDS = 30


def fireassay(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from fireassay.cli.main import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A directory with two recordings: one closed, one whose writer never closed it."""
    with Recorder.open(tmp_path / "writer", [Actor(actor=3, role=Role.PRODUCER, name="w")]) as recorder:
        for number in range(APPENDS):
            call = recorder.invoke(Op.APPEND, actor=3, key=number, value=1)
            recorder.complete(call, Op.APPEND, Phase.OK, actor=3, key=number, seq=number, value=1)
    open_one = Recorder.open(tmp_path / "reader", [Actor(actor=4, role=Role.READER, name="r")])
    open_one.invoke(Op.READ, actor=4)
    return tmp_path


def test_a_summary_tells_what_each_recording_holds(recorded: Path) -> None:
    done = fireassay("record", "summary", recorded, "--json")
    assert done.returncode == 0, done.stderr
    reader, writer = json.loads(done.stdout)
    assert (writer["rows"], writer["complete"], writer["ops"]) == (2 * APPENDS, True, {"append": {"invoke": APPENDS, "ok": APPENDS}})
    assert (reader["rows"], reader["complete"], reader["actors"][0]["role"]) == (1, False, "reader")
    table = fireassay("record", "summary", recorded)
    assert "append:60" in table.stdout


def test_rows_are_shown_first_last_and_filtered(recorded: Path) -> None:
    def numbers(*options: object) -> list[int]:
        done = fireassay("record", "show", recorded / "writer.000.farec", "--json", *options)
        assert done.returncode == 0, done.stderr
        return [int(row["row"]) for row in json.loads(done.stdout)]

    assert numbers() == [*range(10), *range(50, 60)]
    assert numbers("--last", 3) == [57, 58, 59]
    assert numbers("--first", 1, "--last", 1) == [0, 59]
    assert numbers("--all", "--op", "append") == list(range(60))
    assert numbers("--all", "--actor", 9) == []


def test_sealing_makes_parquet_once(recorded: Path) -> None:
    out = recorded / "sealed"
    done = fireassay("record", "seal", recorded, "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [{"sealed": str(out), "recordings": 2, "rows": 2 * APPENDS + 1}]
    assert sum(pq.read_metadata(path).num_rows for path in out.glob("*.parquet")) == 2 * APPENDS + 1
    again = fireassay("record", "seal", recorded, "--out", out)
    assert again.returncode == 2
    assert "never overwritten" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "{}/nothing"], "no recording"),
        (["show", "{}/writer", "--op", "apend"], "no operation 'apend'; known are"),
        (["show", "{}/writer", "--all", "--last", "1"], "--all goes with neither"),
        (["summary", "{}/empty"], "no recording in this directory"),
        (["summary", "{}/short"], "truncated inside the header"),
        (["summary", "{}/foreign"], "not a recording"),
    ],
)
def test_bad_input_is_one_sentence(recorded: Path, arguments: list[str], words: str) -> None:
    (recorded / "empty").mkdir()
    (recorded / "short.000.farec").write_bytes((recorded / "writer.000.farec").read_bytes()[:100])
    (recorded / "foreign.000.farec").write_bytes(b"PAR1" * 2000)
    done = fireassay("record", *(argument.replace("{}", str(recorded)) for argument in arguments))
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
