"""kill -9 at random instants: what the recorder had written is there, whole, in order."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fireassay.conformance.recorder._killed_writer import CAPACITY, judge
from fireassay.conformance.recorder._recorder import ffi, lib
from fireassay.conformance.recorder.recorder import Recorder
from fireassay.conformance.recorder.recording import State, open_recording
from fireassay.spec.history.row import FIELDS

ROUNDS = 200


@pytest.mark.parametrize("seed", [20_240_607])
def test_rows_survive_kill_9_whole_and_as_a_prefix_two_hundred_times(tmp_path: Path, seed: int) -> None:
    command = [sys.executable, "-m", "fireassay.conformance.recorder._killed_writer", str(tmp_path), str(ROUNDS), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{done.stderr}\nrepeat with: {' '.join(command)}"
    rounds = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rounds) == ROUNDS
    assert [(number, result) for number, result in enumerate(rounds) if result["wrong"]] == []
    for kind in ("events", "chained", "runs"):
        of_kind = [result for result in rounds if result["kind"] == kind]
        assert all(result["published"] > 0 for result in of_kind)
        assert len({result["published"] for result in of_kind}) >= 10, f"{kind}: the instants of death do not vary"
    chained = [result for result in rounds if result["kind"] == "chained"]
    assert max(result["parts"] for result in chained) > 3
    assert any(result["published"] % CAPACITY["chained"] == 0 for result in chained), "no kill fell between two parts"


@pytest.mark.parametrize("field", [name for name in FIELDS if name != "t_ns"])
def test_the_judge_of_killed_writers_sees_a_single_torn_field(tmp_path: Path, field: str) -> None:
    published = ffi.new("uint64_t *")
    with Recorder.open(tmp_path / "a", capacity=100) as recorder:
        lib.fr_loop_events(recorder.pointer, published, 50)
    recording = replace(open_recording(tmp_path / "a"), headers=(replace(open_recording(tmp_path / "a").header, state=State.OPEN),))
    assert judge("events", published[0], recording) == ""
    assert judge("events", published[0] - 1, recording) == ""
    assert "51 published" in judge("events", published[0] + 1, recording)
    rows = recording.rows.copy()
    rows[field][49] += 1
    assert judge("events", 50, replace(recording, chunks=(rows,))) == f"torn: ['{field}']"
    rows = recording.rows.copy()
    rows["t_ns"][49] = 1
    assert judge("events", 50, replace(recording, chunks=(rows,))) == "time runs backwards"
