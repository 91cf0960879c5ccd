"""Reads everything there is, up to a sentinel and END twice behind it, and records that as a drain."""

import time
from dataclasses import dataclass

from fireassay.conformance.workload.payload import sentinel
from fireassay.conformance.workload.recorded import RecordedReader
from fireassay.spec.history.ops import Op, Phase
from fireassay.spec.outcomes import Outcome

__all__ = ["Drained", "drain"]

ENDS = 2
BATCH = 256
AFTER_S = 0.005  # how long an END behind the sentinel waits for what should not come


@dataclass(frozen=True, slots=True)
class Drained:
    complete: bool
    keys: tuple[int, ...]  # in the order delivered; 0 where a payload does not say whose it is
    positions: tuple[int, ...]
    reason: str = ""  # why it was given up


def drain(reader: RecordedReader, ordinal: int, *, deadline_s: float, wait_s: float = 0.05) -> Drained:
    """From where the reader stands, freshly opened. Given up at the deadline, or at the first read that is not ok."""
    scribe, wanted = reader.scribe, sentinel(ordinal).key
    until = time.monotonic() + deadline_s
    keys: list[int] = []
    positions: list[int] = []
    met, ends, reason = False, 0, ""
    scribe.event(Op.DRAIN_BEGIN, seq=reader.granted, value=ordinal)
    while not (met and ends >= ENDS) and not reason:
        got = reader.read(BATCH, AFTER_S if met else wait_s)
        if got.batch.records:
            ends = 0
            keys += [each.key for each in got.checked]
            positions += [record.position for record in got.batch.records]
            if not met and wanted in (each.key for each in got.checked if each.ok):
                met = True
                scribe.event(Op.SENTINEL, seq=positions[keys.index(wanted)], key=wanted, value=ordinal)
        ends += got.batch.outcome is Outcome.OK and got.batch.end
        if got.batch.outcome is not Outcome.OK:
            reason = f"a read was {got.batch.outcome.value}: {got.batch.error.text if got.batch.error else ''}"
        elif time.monotonic() > until and not (met and ends >= ENDS):
            reason = f"no {'second END' if met else 'sentinel'} within {deadline_s:g} s"
    scribe.event(Op.DRAIN_END, Phase.INFO if reason else Phase.EVENT, seq=positions[-1] if positions else 0, value=ordinal)
    return Drained(not reason, tuple(keys), tuple(positions), reason)
