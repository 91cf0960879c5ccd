"""LOG-09: after faults heal, everything expected reaches every reader within the deadline."""

import numpy as np

from fireassay.reports.judge.calm import calm
from fireassay.reports.judge.clauses.standing import Standing
from fireassay.reports.judge.findings import Case, Verdicts
from fireassay.reports.judge.owed import Excuses
from fireassay.reports.judge.schemas import INFINITE
from fireassay.reports.judge.trial import Chain, Moment

__all__ = ["arrival"]

Stretches = list[tuple[int, int]]


def arrival(case: Case) -> Verdicts:
    t, a, said = case.t, case.t.a, Verdicts("LOG-09")
    drains = case.owed.complete_drains()
    for chain in drains:
        excuses = Excuses(case.owed, chain)
        missing = [int(n) for n in case.owed.missing_from(chain) if not excuses.cause(int(a.position[n]))]
        if missing and chain.begin is not None:
            text = f"a complete drain by {t.actors.ids[chain.actor]} lacks {len(missing)} records that were due"
            said.convict("unseen", chain.stream, [case.row(chain.begin), *case.rows(a, missing)], text)
    deadline = t.declared.deadline_ns
    stretches = [s for s in calm(t, 0, INFINITE) if s[1] - s[0] > deadline + t.epsilon]
    tails = [chain for chain in t.chains if deadline and t.one_clock and _asked(case, chain, stretches)]
    for chain in tails:
        _unseen(case, said, chain, stretches)
    flawed = [chain for chain in t.chains if chain.flaw]
    said.doubts += [f"the drain of stream {chain.stream} says nothing: {chain.flaw}" for chain in flawed]
    said.counts = {"drains": len(drains), "readers": len(tails)}
    said.evidence = len(drains) + len(tails)
    return said


def _asked(case: Case, chain: Chain, stretches: Stretches) -> bool:
    declared = case.t.declared
    if chain.draining or declared.competes(chain.group):
        return False
    return any(begin + declared.deadline_ns < end.t_inv and end.t_done < over for end in chain.ends for begin, over in stretches)


def _unseen(case: Case, said: Verdicts, chain: Chain, stretches: Stretches) -> None:
    t, a = case.t, case.t.a
    standing, excuses, reader = Standing(case, chain), Excuses(case.owed, chain), t.actors.ids[chain.actor]
    late: list[int] = []
    told: Moment | None = None
    for n in np.flatnonzero(t.expected & (a.stream == chain.stream)).tolist():
        if excuses.cause(int(a.position[n])):
            continue
        for end in _late_ends(case, n, chain, stretches):
            if standing.got(n, end.done):
                break
            if case.owed.due(n, end) and standing.ahead(n, end.done):
                if standing.sure(end.done):
                    late.append(n)
                    told = told or end
                else:
                    said.doubts.append(f"reader {reader} was told END too early, unless a read of unknown outcome took what was due")
                break
    if told is not None:
        text = f"reader {reader} was told END while {len(late)} records were due"
        said.convict("unseen", chain.stream, [case.row(told), *case.rows(a, late)], text)


def _late_ends(case: Case, number: int, chain: Chain, stretches: Stretches) -> list[Moment]:
    """In each calm stretch the first END asked for after the record was due."""
    visible = int(case.owed.visible_from[number])
    patience = case.t.declared.deadline_ns + case.t.epsilon
    found = []
    for begin, over in stretches:
        first = next((end for end in chain.ends if end.t_inv > max(visible, begin) + patience), None)
        if first is not None and first.t_done < over:
            found.append(first)
    return found
