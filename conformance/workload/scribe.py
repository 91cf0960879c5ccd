"""Writes an actor's rows as fireassay.spec.history pairs them: one call number per call, one row per record."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fireassay.conformance.recorder.recorder import Recorder
from fireassay.conformance.recorder.recording import ROW_DTYPE
from fireassay.spec.history.ops import Flag, Op, Phase
from fireassay.spec.history.row import ROW
from fireassay.spec.outcomes import ErrorClass, Outcome, status_of
from fireassay.spec.ports import PortError

__all__ = ["NO_FLAGS", "PHASE_OF", "Line", "Scribe", "broken", "status"]

NO_FLAGS = Flag(0)
PHASE_OF = {Outcome.OK: Phase.OK, Outcome.FAIL: Phase.FAIL, Outcome.INFO: Phase.INFO}
_U64 = (1 << 64) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row of a call, without what the call itself gives."""

    op: Op
    phase: Phase
    seq: int = 0
    key: int = 0
    value: int = 0
    flags: int = 0
    status: int = 0
    digest: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scribe:
    """As whom an actor speaks, and where its rows go. The actor stands in the recorder's table before its first row."""

    recorder: Recorder
    actor: int
    stream: int  # the stream's number in rows and payloads
    nonce: int  # of the run; in every payload
    group: int = 0

    def begin(self, op: Op, *, t_intended_ns: int = 0, flags: Flag = NO_FLAGS, **fields: int) -> int:
        """Directly before the call; the number goes into every other row of it."""
        who = {"actor": self.actor, "stream": self.stream, "t_intended_ns": t_intended_ns, "flags": int(flags)}
        return self.recorder.invoke(op, **who, **fields)

    def end(self, call: int, op: Op, phase: Phase, *, flags: Flag = NO_FLAGS, **fields: int) -> None:
        """Directly after the call."""
        self.recorder.complete(call, op, phase, actor=self.actor, stream=self.stream, flags=int(flags), **fields)

    def event(self, op: Op, phase: Phase = Phase.EVENT, *, flags: Flag = NO_FLAGS, **fields: int) -> None:
        self.recorder.event(op, phase, actor=self.actor, stream=self.stream, flags=int(flags), **fields)

    def lines(self, call: int, lines: Iterable[Line], t_intended_ns: int = 0) -> None:
        """Several rows of one call and one moment: now."""
        now, actor, stream = self.recorder.now(), self.actor, self.stream
        packed = b"".join(
            ROW.pack(
                now,
                t_intended_ns,
                each.seq & _U64,
                each.key,
                each.value & _U64,
                actor,
                stream,
                each.op,
                each.phase,
                each.flags,
                each.status,
                each.digest,
                call if each.phase is not Phase.EVENT else 0,
            )
            for each in lines
        )
        if packed:
            self.recorder.put_many(np.frombuffer(packed, dtype=ROW_DTYPE))


def status(error: PortError | None) -> int:
    return 0 if error is None else status_of(error.error, error.errno if 0 <= error.errno <= 0xFFFF else 0)


def broken(error: Exception) -> PortError:
    """An exception out of a port: the adapter's own fault, and nobody knows what it did before."""
    number = error.errno if isinstance(error, OSError) and error.errno else 0
    return PortError(ErrorClass.IO, number if 0 <= number <= 0xFFFF else 0, f"{type(error).__name__}: {error}")
