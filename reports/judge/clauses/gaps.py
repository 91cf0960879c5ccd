"""LOG-02: nothing expected of a chain is missing between its start and its last delivery, unless exactly that was reported."""

from dataclasses import dataclass, field, replace

import numpy as np

from fireassay.reports.judge.findings import Case, Verdicts
from fireassay.reports.judge.owed import Excuses, Seen
from fireassay.reports.judge.trial import OK, Chain, Ints, Moment

__all__ = ["gaps"]


@dataclass
class _Passed:
    certain: list[int] = field(default_factory=list)
    unsure: list[int] = field(default_factory=list)

    def add(self, number: int, unsure: bool) -> None:
        (self.unsure if unsure else self.certain).append(number)


def gaps(case: Case) -> Verdicts:
    t, said = case.t, Verdicts("LOG-02")
    alone = [chain for chain in t.chains if len(chain.got) and not t.declared.competes(chain.group)]
    for chain in alone:
        _gaps(case, said, chain)
    groups: dict[tuple[int, int], list[Chain]] = {}
    rivals = [chain for chain in t.chains if t.declared.competes(chain.group)]
    unnamed = any(chain.group == 0 for chain in rivals)  # it may be of any group: then all are one
    for chain in rivals:
        groups.setdefault((0 if unnamed else chain.group, chain.stream), []).append(chain)
    for members in groups.values():
        _of_group(case, said, members)
    said.evidence = sum(len(chain.got) for chain in alone) + sum(len(chain.got) for chain in rivals)
    said.counts = {"chains": len(alone) + len(groups), "deliveries": said.evidence}
    return said


def _of_group(case: Case, said: Verdicts, members: list[Chain]) -> None:
    """A member that did not see the end, or died, may hold what is missing."""
    d = case.t.d
    got = np.concatenate([chain.got for chain in members])
    starts = [chain.start for chain in members if chain.start is not None]
    union = replace(
        members[0],
        start=min(starts, default=None),
        got=got[np.argsort(d.position[got], kind="stable")],
        unsure=[at for chain in members for at in chain.unsure],
        draining=False,
    )
    trial = Verdicts("LOG-02")
    if len(got):
        _gaps(case, trial, union)
    holding = any(not c.ends or (len(c.got) and d.done[c.got].max() > c.ends[-1].done) for c in members)
    if holding or case.t.deaths.crashes:
        if trial.found or trial.doubts:
            said.doubts.append("a member of a competing group may still hold what the others did not get")
    else:
        said.found += trial.found
        said.doubts += trial.doubts


def _gaps(case: Case, said: Verdicts, chain: Chain) -> None:
    t, a, d = case.t, case.t.a, case.t.d
    competing = t.declared.competes(chain.group)
    until = d.at(int(chain.got[np.argmax(d.t_done[chain.got])])) if competing else None
    passed = _without_positions(case, chain, until) if t.declared.positions == "none" else _by_position(case, chain, until)
    if not passed.certain and not passed.unsure:
        return
    excuses, reader = Excuses(case.owed, chain), t.actors.ids[chain.actor]
    missing = [number for number in passed.certain if not excuses.cause(int(a.position[number]))]
    if passed.unsure or (missing and competing and chain.unsure):
        said.doubts.append(f"a read of reader {reader} has an unknown outcome, and records are missing that it may have taken")
        missing = [] if competing else missing
    first = int(chain.got[0])
    begins = t.declared.positions != "none" and chain.start is not None
    late = [number for number in missing if begins and a.position[number] < d.position[first]]
    inner = [number for number in missing if number not in set(late)]
    if late:
        text = f"reader {reader} was granted {chain.start} and began at {int(d.position[first])} without a word"
        said.convict("silent-late-start", chain.stream, [*case.rows(d, [first]), *case.rows(a, late)], text)
    if inner:
        text = f"reader {reader} never got {len(inner)} acknowledged records although it got later ones"
        said.convict("gap", chain.stream, case.rows(a, inner), text)


def _by_position(case: Case, chain: Chain, until: Moment | None) -> _Passed:
    t, a, d, found = case.t, case.t.a, case.t.d, _Passed()
    positions = d.position[chain.got]
    start = int(positions[0]) if chain.start is None else chain.start
    lacking = t.expected & (a.stream == chain.stream) & (a.position >= start) & (a.position < positions.max())
    lacking &= ~Seen(t, chain.got).of(a)
    for number in np.flatnonzero(lacking):
        over = _went_past(case, int(number), chain.got[positions > a.position[number]])
        if over is None:
            continue
        at = int(np.flatnonzero(chain.got == over)[0])
        if case.owed.due(int(number), until or d.at(over)):
            since = int(d.done[chain.got[at - 1]]) if at else -1
            found.add(int(number), chain.unsure_between(since, int(d.done[over])))
    return found


def _went_past(case: Case, number: int, higher: Ints) -> int | None:
    """The first higher delivery after the append, or in no earlier epoch."""
    t, append, born = case.t, case.t.a.at(number), int(case.t.epoch_a[number])
    for over in higher.tolist():
        if t.before(append, t.d.at(over)) or 0 <= born <= int(t.epoch_d[over]):
            return int(over)
    return None


def _without_positions(case: Case, chain: Chain, until: Moment | None) -> _Passed:
    """By the records of its own actor that came: one before it, one after it."""
    t, a, d, found = case.t, case.t.a, case.t.d, _Passed()
    apps = t.app[chain.got]
    lined = np.flatnonzero((apps >= 0) & t.identified[chain.got])
    lined = lined[a.outcome[apps[lined]] == OK]
    bare = np.flatnonzero(~t.identified[chain.got])
    names = d.identity[chain.got[~t.nameless[chain.got]]]
    absent = (a.stream == chain.stream) & (a.outcome == OK) & (a.anonymous | ~np.isin(a.identity, names))
    for number in np.flatnonzero(absent):
        own = lined[a.actor[apps[lined]] == a.actor[number]]
        earlier = own[a.done[apps[own]] < a.inv[number]]
        later = own[a.inv[apps[own]] > a.done[number]]
        if not len(later) or (not len(earlier) and not chain.draining):
            continue
        # Of the earlier the one that ended last, of equals the one read last; whichever later one came first went past it.
        ends = a.done[apps[earlier]]
        begin = int(earlier[len(ends) - 1 - np.argmax(ends[::-1])]) if len(earlier) else -1
        passed = int(later.min())
        if a.anonymous[number] and np.any((bare > begin) & (bare < passed)):
            continue
        over = int(chain.got[passed])
        if case.owed.due(int(number), until or d.at(over)):
            found.add(int(number), chain.unsure_between(-1, int(d.done[over])))
    return found
