"""LOG-03: one append is stored once; a chain delivers it once."""

from itertools import permutations

import numpy as np

from fireassay.reports.judge.findings import Case, Verdicts
from fireassay.reports.judge.trial import Chain, Mask

__all__ = ["once"]


def once(case: Case) -> Verdicts:
    t, said = case.t, Verdicts("LOG-03")
    ours = _ours(case)
    if t.declared.positions != "none":
        _stored(case, said, ours)
    for chain in t.chains:
        if t.declared.ordered(chain.group):
            _delivered(case, said, ours, chain)
    _taken(case, said, ours)
    said.evidence = int(ours.sum())
    said.counts = {"deliveries": said.evidence}
    return said


def _ours(case: Case) -> Mask:
    """It says who it is and is no mere sentinel."""
    t = case.t
    keys = zip(t.d.stream.tolist(), t.d.identity.tolist(), strict=True)
    sentinel = np.array([key in t.sentinels for key in keys], dtype=bool)
    return np.asarray(t.identified & ((t.app >= 0) | ~sentinel), dtype=np.bool_)


def _stored(case: Case, said: Verdicts, ours: Mask) -> None:
    t, d = case.t, case.t.d
    copies: dict[tuple[int, int], dict[tuple[int, int], int]] = {}
    for n in np.flatnonzero(ours).tolist():
        record = copies.setdefault((int(d.stream[n]), int(d.identity[n])), {})
        record.setdefault((int(d.position[n]), int(t.epoch_d[n])), n)
    for (stream, identity), at in copies.items():
        places = sorted({position for position, _ in at})
        if len(places) > 1 and _at_once(case, stream, identity, list(at)):
            text = f"{identity % (1 << 64):#x} was appended once and stands at positions {places[:4]}"
            said.convict("duplicate-stored", stream, case.rows(d, at.values()), text)


def _at_once(case: Case, stream: int, identity: int, at: list[tuple[int, int]]) -> bool:
    """An owed record keeps its position; else a recovery that kept one copy shows that the other is a second."""
    t = case.t
    append = t.append_of.get((stream, identity), -1)
    if append >= 0 and t.a.position[append] >= 0 and case.owed.always[append]:
        return True
    pairs = permutations(at, 2)
    return any(one != other and later >= 0 and t.deaths.keeps(stream, one, epoch, later) for (one, epoch), (other, later) in pairs)


def _delivered(case: Case, said: Verdicts, ours: Mask, chain: Chain) -> None:
    t, d = case.t, case.t.d
    first: dict[int, int] = {}
    for n in chain.got[ours[chain.got]].tolist():
        one = first.setdefault(int(d.identity[n]), n)
        if one == n:
            continue
        elsewhere = t.declared.positions != "none" and d.position[one] != d.position[n]
        if elsewhere and 0 <= t.epoch_d[one] == t.epoch_d[n]:
            continue  # two copies, each delivered once
        if not t.maybe_redelivered(d.at(one), d.at(n)):
            text = f"reader {t.actors.ids[chain.actor]} got {int(d.identity[n]) % (1 << 64):#x} twice without a seek or a restart"
            said.convict("duplicate-delivered", chain.stream, case.rows(d, (one, n)), text)


def _taken(case: Case, said: Verdicts, ours: Mask) -> None:
    t, d = case.t, case.t.d
    if t.declared.redelivery - {"restart", "rebalance"}:
        return
    first: dict[tuple[int, int, int], int] = {}
    for n in np.argsort(d.t_done, kind="stable").tolist():
        group = t.actors.group[int(d.actor[n])]
        if not ours[n] or not t.declared.competes(group):
            continue
        one = first.setdefault((group, int(d.stream[n]), int(d.identity[n])), n)
        if one != n and not t.maybe_redelivered(d.at(one), d.at(n)):
            text = f"a competing group got {int(d.identity[n]) % (1 << 64):#x} twice, and no redelivery that is declared has happened"
            said.convict("duplicate-delivered", int(d.stream[n]), case.rows(d, (one, n)), text)
