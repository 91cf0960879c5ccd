"""Python face of the flight recorder, for control events and batches.

Each call here crosses into C and costs about a microsecond: a hot path records in C, through flight_recorder.h, or hands over
a batch of rows at once. A recorder belongs to one thread and to the process that opened it.
"""

import errno
import os
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from fireassay.conformance.recorder._recorder import ffi, lib
from fireassay.conformance.recorder.recording import ROW_DTYPE, Actor, Role
from fireassay.spec.history.ops import Flag, Op, Phase
from fireassay.spec.history.row import FIELDS, Row

__all__ = ["DEFAULT_CAPACITY", "Actor", "Recorder", "RecorderError", "Role", "Run"]

DEFAULT_CAPACITY = 1 << 16
NO_FLAGS = Flag(0)


class RecorderError(OSError):
    """The recorder could not do it; errno and the C side's words are kept."""


class _Completion(IntEnum):
    OK = Phase.OK
    FAIL = Phase.FAIL
    INFO = Phase.INFO


@dataclass(slots=True)
class Run:
    """An open run: `step` after each operation that was ok, then `Recorder.end_run`."""

    pointer: Any
    call: int

    def first(self, seq: int) -> None:
        """The first position, where only the first operation tells it; before the first step."""
        lib.fr_run_first(self.pointer, seq)

    def step(self, count: int = 1) -> None:
        lib.fr_run_steps(self.pointer, count)

    @property
    def count(self) -> int:
        return int(self.pointer.count)


class Recorder:
    """An open recording, written under `prefix`.NNN.farec."""

    def __init__(self, pointer: Any, prefix: Path) -> None:
        self.pointer = pointer
        self.prefix = prefix
        self._owner = os.getpid()
        self._lost: int | None = None

    @classmethod
    def open(
        cls,
        prefix: str | os.PathLike[str],
        actors: Iterable[Actor] = (),
        *,
        capacity: int = DEFAULT_CAPACITY,
        nonce: int = 0,
        epsilon_ns: int = 0,
    ) -> Self:
        """Make and prefault the first part; `capacity` is in rows per part."""
        if not 0 < capacity < 1 << 63:
            raise RecorderError(errno.EINVAL, f"capacity of {capacity} rows")
        pointer = ffi.new("fr_recorder *")
        recorder = cls(pointer, Path(prefix))
        recorder._check(lib.fr_open(pointer, os.fsencode(prefix), capacity, nonce, epsilon_ns))
        try:
            for actor in actors:
                recorder.add_actor(actor)
        except BaseException:
            recorder.close()
            raise
        return recorder

    def _check(self, rc: int) -> None:
        if rc < 0:
            raise RecorderError(-rc, ffi.string(self.pointer.error).decode("utf-8", "replace"))

    def add_actor(self, actor: Actor) -> None:
        """Enter an actor into the table; pid 0 means this process."""
        name = actor.name.encode()
        if len(name) > 32:
            raise RecorderError(errno.EINVAL, f"actor name longer than 32 bytes: {actor.name!r}")
        entry = ffi.new("fr_actor *")
        entry.actor, entry.role, entry.pid = actor.actor, int(actor.role), actor.pid
        entry.incarnation, entry.group, entry.start_ticks = actor.incarnation, actor.group, actor.start_ticks
        ffi.memmove(entry.name, name, len(name))
        self._check(lib.fr_add_actor(self.pointer, entry))

    def now(self) -> int:
        """The recorder's clock: CLOCK_MONOTONIC of the kernel itself, in ns."""
        return int(lib.fr_now(self.pointer))

    def event(self, op: Op, phase: Phase = Phase.EVENT, **fields: int) -> bool:
        """Record what happens now; False if the row was lost (and counted)."""
        return self._recorded(lib.fr_event(self.pointer, _row(op, phase, fields)))

    def invoke(self, op: Op, **fields: int) -> int:
        """Record an invoke, directly before the call; the id returned goes to `complete`."""
        return int(lib.fr_invoke(self.pointer, _row(op, Phase.INVOKE, fields)))

    def complete(self, call: int, op: Op, phase: Phase, **fields: int) -> bool:
        """Record a completion (ok, fail or info), directly after the call."""
        return self._recorded(lib.fr_complete(self.pointer, _row(op, phase, fields), call, _Completion(phase)))

    def begin_run(self, op: Op, **fields: int) -> Run:
        """Open a run row; op is APPEND_RUN or READ_RUN."""
        if op not in (Op.APPEND_RUN, Op.READ_RUN):
            raise ValueError(f"not a run: {op.name}")
        run = ffi.new("fr_run *")
        call = int(lib.fr_run_begin(self.pointer, run, _row(op, Phase.INVOKE, fields)))
        return Run(run, call)

    def end_run(self, run: Run, phase: Phase = Phase.OK, *, status: int = 0, flags: Flag = NO_FLAGS, digest: int = 0) -> bool:
        return self._recorded(lib.fr_run_end(self.pointer, run.pointer, _Completion(phase), status, int(flags), digest))

    def put(self, row: Row) -> bool:
        """Record a row as it is, its time included."""
        fields = {field: int(getattr(row, field)) for field in FIELDS}
        return self._recorded(lib.fr_put(self.pointer, ffi.new("fr_row *", fields)))

    def put_many(self, rows: npt.NDArray[np.void]) -> int:
        """Record a batch as it is (dtype ROW_DTYPE); returns how many were recorded, the others are counted as lost."""
        if rows.dtype != ROW_DTYPE:
            raise TypeError("rows must be of ROW_DTYPE")
        if len(rows) and not rows["phase"].all():
            raise ValueError("phase 0 would end the recording")
        batch = np.ascontiguousarray(rows)
        return int(lib.fr_put_many(self.pointer, ffi.cast("fr_row *", ffi.from_buffer(batch)), len(batch)))

    def _recorded(self, rc: int) -> bool:
        if rc == -errno.EBADF:
            self._check(rc)
        return bool(rc == 0)

    @property
    def lost(self) -> int:
        """Rows that found no room; the judge says unknown when there are any."""
        return int(lib.fr_lost(self.pointer)) if self._lost is None else self._lost

    @property
    def error(self) -> str:
        """The C side's last words; empty if nothing went wrong."""
        return bytes(ffi.string(self.pointer.error)).decode("utf-8", "replace")

    def close(self) -> None:
        """Mark as closed, flush to disk, unmap. In a forked child: do nothing, the recording is its parent's."""
        if self._lost is None and os.getpid() == self._owner:
            self._lost = int(lib.fr_lost(self.pointer))
            self._check(lib.fr_close(self.pointer))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _row(op: Op, phase: Phase, fields: dict[str, int]) -> Any:
    row = ffi.new("fr_row *", {field: int(value) for field, value in fields.items()})
    row.op, row.phase = int(op), int(phase)
    return row
