"""LOG-01: what ended before another began is read before it, and all readers agree."""

from itertools import combinations

import numpy as np

from fireassay.reports.judge.findings import Case, Verdicts, not_applicable
from fireassay.reports.judge.trial import OK, Chain, Ints

__all__ = ["order"]


def order(case: Case) -> Verdicts:
    declared = case.t.declared
    if not declared.ordered(0) and not declared.ordered(1):
        return not_applicable("LOG-01", "deliveries of competing readers, or redelivered by timeout, stand in no order")
    said = Verdicts("LOG-01")
    chains = [(chain, _firsts(case, chain)) for chain in case.t.chains if declared.ordered(chain.group)]
    for chain, firsts in chains:
        _reorders(case, said, chain, firsts)
    for (one, mine), (other, theirs) in combinations(chains, 2):
        if one.stream == other.stream:
            _disagreement(case, said, one, mine, other, theirs)
    said.evidence = sum(max(0, len(firsts) - 1) for _, firsts in chains)
    said.counts = {"chains": len(chains), "pairs": said.evidence}
    return said


def _firsts(case: Case, chain: Chain) -> Ints:
    """Deliveries of known records, each where it came first."""
    known = chain.got[(case.t.app[chain.got] >= 0) & case.t.identified[chain.got]]
    _, first = np.unique(case.t.app[known], return_index=True)
    return known[np.sort(first)]


def _reorders(case: Case, said: Verdicts, chain: Chain, firsts: Ints) -> None:
    """Against each actor that wrote in the line: of its records that come later, the first to have ended."""
    t, a = case.t, case.t.a
    apps = t.app[firsts]
    lines = np.zeros(len(apps), dtype=np.int64) if t.declared.total_order else (a.identity[apps] >> 48) & 0xFFFF
    hits: list[tuple[int, int]] = []
    for line in np.unique(lines):
        here = np.flatnonzero(lines == line)
        mine = apps[here]
        rival = np.full(len(here), -1, dtype=np.int64)
        acked = a.outcome[mine] == OK
        authors = dict.fromkeys(a.actor[mine][acked][::-1].tolist())  # whose last record is read last comes first
        for author in authors:
            earliest = _earliest_behind(np.where(acked & (a.actor[mine] == author), a.done[mine], np.iinfo(np.int64).max))
            open_ = (rival < 0) & (earliest >= 0)
            later = mine[earliest]
            ended = t.before(a.some(later), a.some(mine))
            rival = np.where(open_ & ended, earliest, rival)
        hits += [(int(here[i]), int(here[rival[i]])) for i in np.flatnonzero(rival >= 0)]
    for i, j in sorted(hits, reverse=True):
        early, late = int(apps[i]), int(apps[j])
        rows = [*case.rows(a, (late, early)), *case.rows(t.d, (firsts[i], firsts[j]))]
        names = [f"{int(a.identity[n]) % (1 << 64):#x}" for n in (late, early)]
        said.convict("reorder", chain.stream, rows, f"{names[0]} ended before {names[1]} was invoked, and was read after it")


def _earliest_behind(done: Ints) -> Ints:
    """Of each place the index behind it with the lowest value, or -1; of equals the last."""
    best = np.full(len(done), -1, dtype=np.int64)
    held = -1
    for i in range(len(done) - 1, -1, -1):
        best[i] = held
        if done[i] < np.iinfo(np.int64).max and (held < 0 or done[i] < done[held]):
            held = i
    return best


def _disagreement(case: Case, said: Verdicts, one: Chain, mine: Ints, other: Chain, theirs: Ints) -> None:
    """The ranks of common records in one reading fall somewhere in the other."""
    t = case.t
    rank = {int(app): number for number, app in enumerate(t.app[mine])}
    common = [int(n) for n in theirs if int(t.app[n]) in rank]
    ranks = np.array([rank[int(t.app[n])] for n in common], dtype=np.int64)
    falls = np.flatnonzero(np.diff(ranks) < 0)
    if len(falls):
        at = int(falls[0])
        rows = case.rows(t.d, (mine[ranks[at + 1]], mine[ranks[at]], common[at], common[at + 1]))
        ids = t.actors.ids
        said.convict(
            "reader-disagreement", one.stream, rows, f"readers {ids[one.actor]} and {ids[other.actor]} got two records in different order"
        )
