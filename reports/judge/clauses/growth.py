"""LOG-08: positions grow per producer on append and in each chain; dense ones leave no number out."""

import numpy as np

from fireassay.reports.judge.findings import Case, Verdicts, not_applicable
from fireassay.reports.judge.owed import Excuses
from fireassay.reports.judge.trial import OK, Chain, Ints

__all__ = ["growth"]


def growth(case: Case) -> Verdicts:
    t, said = case.t, Verdicts("LOG-08")
    if t.declared.positions == "none":
        return not_applicable("LOG-08", "no positions are promised")
    _appends(case, said)
    chains = [chain for chain in t.chains if t.declared.ordered(chain.group)]
    for chain in chains:
        _reads(case, said, chain)
    acked = int((t.a.outcome == OK).sum())
    said.counts = {"appends": acked, "deliveries": sum(len(chain.got) for chain in chains)}
    ordered = t.declared.ordered(0) or t.declared.ordered(1)
    said.evidence = sum(max(0, len(chain.got) - 1) for chain in chains) if ordered else max(0, acked - 1)
    return said


def _appends(case: Case, said: Verdicts) -> None:
    """For each pair of an actor and epoch with another, of one producer: the highest that was certainly before."""
    t, a = case.t, case.t.a
    parts: dict[tuple[int, int], dict[tuple[int, int], list[int]]] = {}
    for n in np.flatnonzero(a.outcome == OK).tolist():
        line = parts.setdefault((int(a.stream[n]), int(a.identity[n]) >> 48 & 0xFFFF), {})
        line.setdefault((int(a.actor[n]), int(t.epoch_a[n])), []).append(n)
    for (stream, producer), line in parts.items():
        for (_, epoch), ones in line.items():
            for (_, later), twos in line.items():
                kept = [n for n in ones if 0 <= epoch == later or _holds(case, n, epoch, later)]
                for one, two in _falling(case, np.array(kept, dtype=np.int64), np.array(twos, dtype=np.int64)):
                    text = f"producer {producer} got {int(a.position[two])} for an append after the one that got {int(a.position[one])}"
                    said.convict("nonmonotonic-append", stream, case.rows(a, (one, two)), text)


def _holds(case: Case, number: int, epoch: int, later: int) -> bool:
    if 0 <= later < epoch:
        return False
    t = case.t
    kept = later >= 0 and t.deaths.keeps(int(t.a.stream[number]), int(t.a.position[number]), epoch, later)
    return kept or bool(case.owed.always[number])


def _falling(case: Case, ones: Ints, twos: Ints) -> list[tuple[int, int]]:
    """For each of the second the highest of the first that was certainly before it, where that is no lower."""
    t, a = case.t, case.t.a
    if not len(ones):
        return []
    actor, other = int(a.actor[ones[0]]), int(a.actor[twos[0]])
    if actor == other:
        ones = ones[np.argsort(a.done[ones], kind="stable")]
        counts = np.searchsorted(a.done[ones], a.inv[twos], side="left")
    elif t.deaths.exited_before[actor, other]:
        ones = ones[np.lexsort((a.done[ones], a.t_done[ones]))]
        counts = np.full(len(twos), len(ones))
    elif t.actors.domain[actor] != t.actors.domain[other]:
        return []
    else:
        ones = ones[np.lexsort((a.done[ones], a.t_done[ones]))]
        counts = np.searchsorted(a.t_done[ones] + t.epsilon, a.t_inv[twos], side="left")
    peaks = np.maximum.accumulate(a.position[ones])
    found = []
    for two, count in zip(twos.tolist(), counts.tolist(), strict=True):
        if count and peaks[count - 1] >= a.position[two]:
            top = int(np.argmax(a.position[ones[:count]] == peaks[count - 1]))
            found.append((int(ones[top]), int(two)))
    return found


def _reads(case: Case, said: Verdicts, chain: Chain) -> None:
    t, d, owed = case.t, case.t.d, case.owed
    positions = d.position[chain.got]
    steps = np.diff(positions)
    reader = t.actors.ids[chain.actor]
    excuses = Excuses(owed, chain) if (steps != 1).any() else None
    for i in np.flatnonzero(steps != 1).tolist():
        one, two = int(chain.got[i]), int(chain.got[i + 1])
        here, there = int(positions[i]), int(positions[i + 1])
        if there <= here:
            if _must_go_on(case, one, two):
                text = f"reader {reader} got {there} after {here} without a seek"
                said.convict("nonmonotonic-read", chain.stream, case.rows(d, (one, two)), text)
        elif t.declared.positions == "dense" and excuses is not None:
            if excuses.covers(here + 1, there) or not owed.retained(chain.stream, there - 1, d.at(two)):
                continue
            if chain.unsure_between(int(d.done[one]), int(d.done[two])):
                said.doubts.append(f"a read of reader {reader} has an unknown outcome, and numbers are missing that it may have taken")
                continue
            text = f"reader {reader} got {there} right after {here}, and positions are dense"
            said.convict("skip", chain.stream, case.rows(d, (one, two)), text)


def _must_go_on(case: Case, one: int, two: int) -> bool:
    """What was read first was still there, and nothing declared may have brought it again."""
    t, d = case.t, case.t.d
    if t.maybe_redelivered(d.at(one), d.at(two)):
        return False
    if t.epoch_d[two] >= 0 and t.deaths.keeps(int(d.stream[one]), int(d.position[one]), int(t.epoch_d[one]), int(t.epoch_d[two])):
        return True
    m = int(t.app[one])
    same = m >= 0 and t.identified[one] and t.a.outcome[m] == OK and t.a.position[m] == d.position[one]
    return bool(same) and case.owed.one_stands(m, d.at(two))
