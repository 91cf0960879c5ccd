"""LOG-10 and LOG-11: neither the death of a process nor a loss of power takes what is owed to it."""

import numpy as np

from fireassay.reports.judge.findings import Case, Verdicts, not_applicable
from fireassay.reports.judge.owed import Excuses, Seen
from fireassay.reports.judge.trial import Chain, Mask
from fireassay.spec.history.model import Cause

__all__ = ["power_loss", "process_death"]

_RETENTION = {int(Cause.GAP), int(Cause.DROP)}


def process_death(case: Case) -> Verdicts:
    if case.t.declared.survives_process_death == "never":
        return not_applicable("LOG-10", "nothing is promised to survive the death of a process")
    return _losses(case, "LOG-10", "lost-write-process", "a process died", power=False)


def power_loss(case: Case) -> Verdicts:
    if case.t.declared.survives_power_loss == "never":
        return not_applicable("LOG-11", "nothing is promised to survive a loss of power")
    return _losses(case, "LOG-11", "lost-write-power", "the power failed", power=True)


class _Owing:
    """The crashes of which somebody knows what they took, each with what it had to leave of what was there."""

    def __init__(self, case: Case, *, power: bool) -> None:
        deaths = case.t.deaths
        self.deaths = deaths
        known = [n for n, crash in enumerate(deaths.crashes) if crash.known]
        self.mine = [n for n in known if deaths.crashes[n].power == power]
        self.others = [n for n in known if deaths.crashes[n].power != power]
        self.left: dict[int, Mask] = {
            n: np.asarray(case.owed.owed[n] & ~deaths.after_crash(case.t.a, deaths.crashes[n]), dtype=np.bool_) for n in known
        }

    def before(self, chain: Chain, numbers: list[int]) -> list[int]:
        return [n for n in numbers if self.deaths.after_crash(chain.begin, self.deaths.crashes[n])]


def _losses(case: Case, clause: str, anomaly: str, when: str, *, power: bool) -> Verdicts:
    said, owing = Verdicts(clause), _Owing(case, power=power)
    drains = case.owed.complete_drains()
    for chain in drains:
        _lost(case, said, owing, chain, anomaly, when)
    said.evidence = _evidence(case, said, owing, drains)
    said.counts = {"crashes": len(owing.mine), "drains": len(drains), "owed": said.evidence}
    return said


def _lost(case: Case, said: Verdicts, owing: _Owing, chain: Chain, anomaly: str, when: str) -> None:
    t, a = case.t, case.t.a
    missing = case.owed.missing_from(chain)
    mine, others = owing.before(chain, owing.mine), owing.before(chain, owing.others)
    lost = [int(n) for n in missing if any(owing.left[c][n] for c in mine)]
    if others and lost:
        lost = _mine_alone(case, said, owing, chain, mine, others, lost)
    excuses = Excuses(case.owed, chain)
    dropped = [n for n in lost if excuses.cause(int(a.position[n])) in _RETENTION]
    if dropped:
        said.doubts.append(f"{len(dropped)} records that were owed when {when} were dropped from the drain after it by a report")
    gone = [n for n in lost if n not in set(dropped)]
    if gone and chain.begin is not None:
        last = max((t.deaths.crashes[n] for n in mine), key=lambda crash: crash.t_begin)
        rows = [case.row(last.event), case.row(chain.begin), *case.rows(a, gone)]
        said.convict(anomaly, chain.stream, rows, f"{len(gone)} records were owed when {when}, and the drain after it lacks them")


def _mine_alone(case: Case, said: Verdicts, owing: _Owing, chain: Chain, mine: list[int], others: list[int], lost: list[int]) -> list[int]:
    """A record that was read after a crash outlived it; one that may have gone with either grade convicts neither."""
    t = case.t
    here = t.d.stream == chain.stream
    outlived = {c: Seen(t, np.flatnonzero(here & t.deaths.after_crash(t.d, t.deaths.crashes[c]))).of(t.a) for c in (*mine, *others)}
    blamed = {c: owing.left[c] & ~outlived[c] for c in (*mine, *others)}
    by_me = [n for n in lost if any(blamed[c][n] for c in mine)]
    alone = [n for n in by_me if not any(blamed[c][n] for c in others)]
    if len(alone) < len(by_me):
        unclear = len(by_me) - len(alone)
        said.doubts.append(f"{unclear} records were lost in a power loss or when a process died, and nothing between the two says in which")
    return alone


def _evidence(case: Case, said: Verdicts, owing: _Owing, drains: list[Chain]) -> int:
    t = case.t
    judged = 0
    undrained = set()
    for n in owing.mine:
        drained = {chain.stream for chain in drains if owing.before(chain, [n])}
        left = owing.left[n] & t.expected
        shown = np.isin(t.a.stream, list(drained))
        judged += int((left & shown).sum())
        if not drained or (left & ~shown).any():
            undrained.add(n)
    if undrained:
        flaw = next((f": {chain.flaw}" for chain in t.chains if chain.flaw), "")
        said.doubts.append(f"after {len(undrained)} crashes a stream was not drained completely{flaw}")
    elif owing.mine and not judged:
        said.doubts.append("nothing was owed at any crash")
    return judged
