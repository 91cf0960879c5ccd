"""When no fault was at work. Only then is anything late."""

from fireassay.spec.history.crashes import fault_over
from fireassay.spec.history.history import History
from fireassay.spec.history.model import NEVER, Crash
from fireassay.spec.history.ops import FaultKind, Op
from fireassay.spec.history.pairing import CALLS
from fireassay.spec.history.power import fault_kind

__all__ = ["Stretch", "calm", "disturbances"]

Stretch = tuple[int, int]


def disturbances(history: History) -> list[Stretch]:
    """Faults until they are taken back, deaths until they are seen, and with them the recovery that follows."""
    dead = {victim: crash.t_end for crash in history.crashes for victim in crash.victims}
    outages = {crash.row.seq: crash.t_end for crash in history.crashes if crash.grade == "power"}
    taken_back = history.events_of(Op.FAULT_END, Op.HEAL)
    found: list[Stretch] = []
    for row in history.events_of(Op.FAULT_BEGIN):
        over = fault_over(row, taken_back)
        # A kill ends with its victim, and a power loss with the last of them.
        ended = outages.get(row.seq) if fault_kind(row) is FaultKind.POWER else dead.get(row.key)
        found.append((row.t_ns, ended if over == NEVER and ended is not None else over))
    recovered = [row.t_ns for row in history.events_of(Op.RECOVERY_END)]
    callers = {row.actor for row in history.rows if row.op in CALLS}
    found += [(crash.t_begin, _crash_over(crash, recovered, callers)) for crash in history.crashes]
    begun = [row.t_ns for row in history.events_of(Op.RECOVERY_BEGIN)]
    found += [(max((t for t in begun if t <= end), default=end), end) for end in recovered]
    return _merged(found)


def _crash_over(crash: Crash, recovered: list[int], callers: set[int]) -> int:
    """A dead caller leaves a log that goes on; where others may have been the log itself, it is down until it was recovered."""
    after = min((t for t in recovered if t >= crash.t_end), default=None)
    if after is not None:
        return after
    return crash.t_end if crash.grade == "process" and crash.victims and crash.victims <= callers else NEVER


def _merged(stretches: list[Stretch]) -> list[Stretch]:
    found: list[Stretch] = []
    for begin, end in sorted(stretches):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def calm(history: History, t_from: int, t_until: int) -> list[Stretch]:
    """The stretches between, in which no fault was at work."""
    found: list[Stretch] = []
    at = t_from
    for begin, end in disturbances(history):
        if begin > at:
            found.append((at, min(begin, t_until)))
        at = max(at, end)
    found.append((at, t_until))
    return [(begin, end) for begin, end in found if begin < end]
