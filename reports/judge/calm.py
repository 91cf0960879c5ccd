"""Stretches of time in which no fault was at work."""

from fireassay.reports.judge.deaths import Crash
from fireassay.reports.judge.schemas import INFINITE
from fireassay.reports.judge.trial import Trial
from fireassay.spec.history.ops import Op

__all__ = ["calm", "disturbed"]

Stretch = tuple[int, int]


def disturbed(trial: Trial) -> list[Stretch]:
    deaths = trial.deaths
    recovered = [e.t_row for e in trial.said(Op.RECOVERY_END)]
    starts = [e.t_row for e in trial.said(Op.RECOVERY_BEGIN)]
    found: list[Stretch] = []
    for fault in trial.said(Op.FAULT_BEGIN):
        over = deaths.taken_back(fault)
        if over == INFINITE:
            ends = [c.t_end for c in deaths.crashes if _ends_with(trial, c, fault)]
            over = ends[-1] if ends else over
        found.append((fault.t_row, over))
    found += [(crash.t_begin, _recovery_over(trial, crash, recovered)) for crash in deaths.crashes]
    found += [(max((t for t in starts if t <= end), default=end), end) for end in recovered]
    return sorted(found)


def _ends_with(trial: Trial, crash: Crash, fault: object) -> bool:
    """A kill ends with its victim, a power loss with the last of them."""
    kind, key, seq = (getattr(fault, name) for name in ("digest", "key", "seq"))
    if kind == 1:
        return crash.power and crash.event.seq == seq
    return trial.actors.index.get(key) in crash.victims


def _recovery_over(trial: Trial, crash: Crash, recovered: list[int]) -> int:
    later = [t for t in recovered if t >= crash.t_end]
    if later:
        return min(later)
    callers = {actor for actor, words in trial.words.items() if words.in_run}
    mere_callers = bool(crash.victims) and crash.victims <= callers
    return crash.t_end if mere_callers and not crash.power else INFINITE


def calm(trial: Trial, begin: int, end: int) -> list[Stretch]:
    found: list[Stretch] = []
    for trouble, over in disturbed(trial):
        if trouble > begin:
            found.append((begin, min(trouble, end)))
        begin = max(begin, over)
    found.append((begin, end))
    return [(one, two) for one, two in found if one < two]
