"""Forks recording C loops, kills each at a random instant, and reads back what is left. One JSON line per round on stdout.

python -m fireassay.conformance.recorder._killed_writer DIRECTORY ROUNDS SEED. One process forks them all, so a round takes milliseconds.
Rounds alternate: single events in one part; events in parts so small that the kill often falls into the chaining; run rows.
"""

import json
import mmap
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from fireassay.conformance.recorder._recorder import ffi, lib
from fireassay.conformance.recorder.recorder import Recorder
from fireassay.conformance.recorder.recording import Recording, open_recording
from fireassay.spec.history.ops import Op, Phase

__all__ = ["CAPACITY", "KINDS", "judge", "main", "one_round"]

KINDS = ("events", "chained", "runs")
CAPACITY = {"events": 1 << 18, "chained": 1 << 10, "runs": 1 << 16}
# A kill comes after a drawn number of operations, not a drawn time: on a loaded machine nearly all of the time goes into chaining.
FURTHEST = {"events": 1 << 17, "chained": 1 << 15, "runs": 1 << 22}
STEPS = 1000
DEADLINE_S = 20.0


def _child(prefix: Path, kind: str, published: Any) -> None:
    with Recorder.open(prefix, capacity=CAPACITY[kind], nonce=1) as recorder:
        if kind == "runs":
            lib.fr_loop_runs(recorder.pointer, published, CAPACITY[kind] // 2 - 1, STEPS)
        else:
            lib.fr_loop_events(recorder.pointer, published, CAPACITY["events"])
        signal.pause()  # rows all written: still to be killed, never closed


def one_round(prefix: Path, kind: str, dice: random.Random) -> tuple[int, Recording]:
    """Fork, kill once the child got as far as the dice say; what it had published by then, and what it left."""
    shared = mmap.mmap(-1, mmap.PAGESIZE)
    published = ffi.cast("uint64_t *", ffi.from_buffer(shared))
    pid = os.fork()
    if pid == 0:
        try:
            _child(prefix, kind, published)
        finally:
            os._exit(70)
    deadline, enough = time.monotonic() + DEADLINE_S, dice.randint(1, FURTHEST[kind])
    while published[0] < enough and time.monotonic() < deadline:
        time.sleep(0.0002)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if not os.WIFSIGNALED(status):
        raise RuntimeError(f"the writer ended by itself: status {status}")
    return int(published[0]), open_recording(prefix)


def judge(kind: str, published: int, recording: Recording) -> str:
    """Empty if the rows are whole and exactly a prefix that reaches what was published; else what is wrong."""
    rows = recording.rows
    if recording.closed or recording.lost:
        return f"closed {recording.closed}, lost {recording.lost}"
    if kind == "runs":
        return _judge_runs(published, rows)
    if not published <= len(rows) <= published + 1:
        return f"{len(rows)} rows, {published} published"
    i = np.arange(len(rows), dtype=np.uint64)
    expected = {
        "t_intended_ns": ~i,
        "seq": i,
        "key": i * 3,
        "value": i * 5,
        "actor": i,
        "stream": i + 1,
        "op": np.full(len(i), Op.APPEND),
        "phase": 1 + i % 5,
        "flags": i & 0xFFFF,
        "status": -(i % 1000).astype(np.int64),
        "digest": i + 2,
        "call": i + 3,
    }
    wrong = [name for name, values in expected.items() if not np.array_equal(rows[name], values)]
    backwards = bool((np.diff(rows["t_ns"].astype(np.int64)) < 0).any())
    return f"torn: {wrong}" if wrong else "time runs backwards" if backwards else ""


def _judge_runs(published: int, rows: Any) -> str:
    opened, closed = rows[0::2], rows[1::2]
    starts = np.arange(len(opened)) * STEPS
    whole = (
        (opened["phase"] == Phase.INVOKE).all()
        and (closed["phase"] == Phase.OK).all()
        and (rows["op"] == Op.APPEND_RUN).all()
        and (opened["key"] == starts).all()
        and (opened["seq"][:-1] == starts[:-1] + 1).all()
        and (opened["value"][:-1] == STEPS).all()
        and (closed["value"] == STEPS).all()
        and (closed["seq"] == opened["seq"][: len(closed)]).all()
        and (closed["key"] == opened["key"][: len(closed)]).all()
        and (closed["call"] == opened["call"][: len(closed)]).all()
    )
    if not whole:
        return "torn run rows"
    counted = int(opened["value"].sum())
    return "" if published <= counted <= published + 1 else f"{counted} operations counted, {published} published"


def main(arguments: list[str]) -> int:
    directory, rounds, seed = Path(arguments[0]), int(arguments[1]), int(arguments[2])
    dice = random.Random(seed)
    for number in range(rounds):
        place = directory / f"round{number}"
        place.mkdir()
        kind = KINDS[number % len(KINDS)]
        published, recording = one_round(place / "victim", kind, dice)
        result = {"kind": kind, "published": published, "rows": len(recording), "parts": len(recording.paths)}
        print(json.dumps(result | {"wrong": judge(kind, published, recording)}), flush=True)
        shutil.rmtree(place)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
