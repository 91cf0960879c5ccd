"""What `fireassay record` shows of a recording: pure functions of an opened one."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from fireassay.conformance.recorder.recording import Recording
from fireassay.spec.history.ops import Flag, Op, Phase
from fireassay.spec.history.row import Row, unpack

__all__ = ["COLUMNS", "lines", "select", "summary"]

COLUMNS = ("row", "t", "actor", "op", "phase", "stream", "seq", "key", "value", "status", "flags", "digest", "call")


def summary(recording: Recording) -> dict[str, Any]:
    """Rows, counts per op and phase, actors, time span, clock domain, completeness; ready for JSON."""
    header = recording.header
    counts: dict[str, dict[str, int]] = {}
    first, last = None, None
    for chunk in recording.chunks:
        if not len(chunk):
            continue
        kinds, numbers = np.unique(chunk["op"].astype(np.uint16) << 8 | chunk["phase"], return_counts=True)
        for kind, number in zip(kinds.tolist(), numbers.tolist(), strict=True):
            of_op = counts.setdefault(Op(kind >> 8).name.lower(), {})
            phase = Phase(kind & 0xFF).name.lower()
            of_op[phase] = of_op.get(phase, 0) + number
        low, high = int(chunk["t_ns"].min()), int(chunk["t_ns"].max())
        first, last = low if first is None else min(first, low), high if last is None else max(last, high)
    return {
        "name": recording.name,
        "parts": len(recording.paths),
        "rows": len(recording),
        "capacity": header.capacity,
        "complete": recording.closed and recording.lost == 0,
        "closed": recording.closed,
        "lost": recording.lost,
        "nonce": header.nonce,
        "epsilon_ns": header.epsilon_ns,
        "clock_domain": {"host": f"{header.clock.host:016x}", "boot_id": header.clock.boot_id, "time_ns": header.clock.time_ns},
        "pid": header.pid,
        "start_mono_ns": header.start_mono,
        "start_real_ns": header.start_real,
        "first_t_ns": first,
        "last_t_ns": last,
        "span_ns": 0 if first is None or last is None else last - first,
        "ops": {op: dict(sorted(phases.items())) for op, phases in sorted(counts.items())},
        "actors": [
            {
                "actor": actor.actor,
                "role": actor.role.name.lower(),
                "name": actor.name,
                "pid": actor.pid,
                "incarnation": actor.incarnation,
                "group": actor.group,
            }
            for actor in recording.actors
        ],
    }


def select(recording: Recording, *, op: Op | None = None, actor: int | None = None, backwards: bool = False) -> Iterator[tuple[int, Row]]:
    """Rows with their numbers, filtered; from the end if `backwards`."""
    bases = [0]
    for chunk in recording.chunks:
        bases.append(bases[-1] + len(chunk))
    step = -1 if backwards else 1
    for base, chunk in list(zip(bases, recording.chunks, strict=False))[::step]:
        wanted = np.ones(len(chunk), dtype=bool)
        if op is not None:
            wanted &= chunk["op"] == op
        if actor is not None:
            wanted &= chunk["actor"] == actor
        for index in np.flatnonzero(wanted)[::step]:
            yield base + int(index), unpack(chunk[index].tobytes())


def lines(
    recording: Recording, *, first: int | None = None, last: int | None = None, op: Op | None = None, actor: int | None = None
) -> Iterator[tuple[str, ...]]:
    """Cells under COLUMNS for the first and/or last n rows that pass the filter (all if neither is given); none appears twice."""
    start = recording.header.start_mono
    if first is None and last is None:
        for number, row in select(recording, op=op, actor=actor):
            yield _cells(number, row, start)
        return
    shown = -1
    for number, row in islice(select(recording, op=op, actor=actor), first or 0):
        shown = number
        yield _cells(number, row, start)
    tail = list(islice(select(recording, op=op, actor=actor, backwards=True), last or 0))
    for number, row in reversed(tail):
        if number > shown:
            yield _cells(number, row, start)


def _cells(number: int, row: Row, start: int) -> tuple[str, ...]:
    flags = "|".join(flag.name.lower() for flag in Flag if flag in row.flags and flag.name)
    unknown = int(row.flags) & ~sum(Flag)
    return (
        str(number),
        f"{(row.t_ns - start) / 1e9:+.9f}",
        str(row.actor),
        row.op.name.lower(),
        row.phase.name.lower(),
        str(row.stream),
        str(row.seq),
        f"{row.key:#x}",
        str(row.value),
        str(row.status),
        flags + (f"|{unknown:#x}" if unknown else ""),
        f"{row.digest:08x}",
        str(row.call),
    )
