"""LOG-07: a position holds one record; a record read under durable visibility never vanishes."""

from itertools import permutations

import numpy as np

from fireassay.reports.judge.findings import Case, Pointer, Verdicts
from fireassay.reports.judge.owed import Excuses
from fireassay.reports.judge.trial import OK, Chain, Moment

__all__ = ["places"]


def places(case: Case) -> Verdicts:
    t, said = case.t, Verdicts("LOG-07")
    drains = [chain for chain in case.owed.complete_drains() if not t.declared.competes(chain.group)]
    holders = 0
    if t.declared.positions != "none":
        holders = int(t.identified.sum()) + int((t.a.outcome == OK).sum())
        _two_records(case, said)
        _two_places(case, said)
    for chain in drains:
        _vanished(case, said, chain)
    said.evidence = len(t.d) if holders or drains else 0
    said.counts = {"places": holders, "drains": len(drains)}
    return said


class _Holder:
    """A delivery or an append that says what stands at a position."""

    def __init__(self, case: Case, number: int, *, read: bool) -> None:
        t = case.t
        records = t.d if read else t.a
        self.when = records.at(number)
        self.epoch = int((t.epoch_d if read else t.epoch_a)[number])
        self.row: Pointer = (records.t_row(number), records.ref(number))
        self.append = t.append_of.get((self.when.stream, self.when.identity), -1)


def _two_records(case: Case, said: Verdicts) -> None:
    t, a, d = case.t, case.t.a, case.t.d
    read, kept = np.flatnonzero(t.identified), np.flatnonzero((a.outcome == OK) & (a.position >= 0))
    names: dict[tuple[int, int], list[tuple[int, bool]]] = {}
    first: dict[tuple[int, int], int] = {}
    crowded: dict[tuple[int, int], None] = {}
    for records, numbers, is_read in ((d, read, True), (a, kept, False)):
        for n in numbers.tolist():
            key = (int(records.stream[n]), int(records.position[n]))
            names.setdefault(key, []).append((n, is_read))
            if first.setdefault(key, int(records.identity[n])) != records.identity[n]:
                crowded[key] = None
    for key in names:
        if key in crowded:
            _crowd(case, said, key, [_Holder(case, n, read=is_read) for n, is_read in names[key]])


def _crowd(case: Case, said: Verdicts, key: tuple[int, int], holders: list[_Holder]) -> None:
    last: dict[tuple[int, int], _Holder] = {}
    for holder in holders:
        name = (holder.when.identity, holder.epoch)
        if name not in last or last[name].when.t_inv < holder.when.t_inv:
            last[name] = holder
    clash: dict[Pointer, int] = {}
    for one, two in permutations(last.values(), 2):
        if one.when.identity != two.when.identity and _still_there(case, one, two):
            clash |= {one.row: one.when.identity, two.row: two.when.identity}
    if clash:
        names = " and ".join(f"{name % (1 << 64):#x}" for name in dict.fromkeys(clash.values()))
        said.convict("inconsistent-position", key[0], clash, f"position {key[1]} holds {names}")
    elif not all(seam.recorded for seam in case.t.deaths.seams(key[0])):
        said.doubts.append(
            f"position {key[1]} of stream {key[0]} held two records, and no recovery was recorded that may have cut the first"
        )


def _still_there(case: Case, one: _Holder, two: _Holder) -> bool:
    t, position = case.t, one.when.position
    if two.epoch >= 0 and t.deaths.keeps(one.when.stream, position, one.epoch, two.epoch):
        return True
    if one.append < 0 or t.a.position[one.append] != position:
        return False
    return bool(t.before(t.a.at(one.append), two.when)) and case.owed.one_stands(one.append, two.when)


def _two_places(case: Case, said: Verdicts) -> None:
    t, a, d = case.t, case.t.a, case.t.d
    known = np.flatnonzero((t.app >= 0) & t.identified)
    acked = a.position[t.app[known]]
    for n in known[(acked >= 0) & (acked != d.position[known])].tolist():
        m, stream = int(t.app[n]), int(d.stream[n])
        kept = t.epoch_d[n] >= 0 and t.deaths.keeps(stream, int(a.position[m]), int(t.epoch_a[m]), int(t.epoch_d[n]))
        if kept or case.owed.one_stands(m, d.at(n)):
            text = f"{int(d.identity[n]) % (1 << 64):#x} was acknowledged at {int(a.position[m])} and read at {int(d.position[n])}"
            said.convict("inconsistent-position", stream, [*case.rows(a, [m]), *case.rows(d, [n])], text)


def _vanished(case: Case, said: Verdicts, chain: Chain) -> None:
    t, d, owed = case.t, case.t.d, case.owed
    if chain.begin is None or chain.end is None:
        return
    lacked = ~owed.seen_by(chain).of(t.a)
    excuses = Excuses(owed, chain)
    asked = np.flatnonzero((t.app >= 0) & t.identified & (d.stream == chain.stream))
    asked = asked[lacked[t.app[asked]]]
    for n in asked.tolist():
        delivery = d.at(n)
        if not t.before(delivery, chain.begin) or not _durable(case, delivery, chain.end):
            continue
        position = delivery.position
        if owed.retained(chain.stream, position, chain.end) and owed.in_range(chain, position) and not excuses.cause(position):
            text = f"{delivery.identity % (1 << 64):#x} was read when it could no longer be lost, and a later complete drain lacks it"
            said.convict("read-then-lost", chain.stream, [*case.rows(d, [n]), case.row(chain.begin)], text)


def _durable(case: Case, delivery: Moment, until: Moment) -> bool:
    """No crash between, or visible meant durable and each of them had to leave it."""
    declared, deaths = case.t.declared, case.t.deaths
    for crash in deaths.crashes:
        if deaths.after_crash(delivery, crash) or deaths.before_crash(until, crash):
            continue
        in_time = not crash.power or deaths.before_crash(delivery, crash)
        if (
            declared.visible != "sync"
            or not crash.known
            or not in_time
            or not declared.promise("power" if crash.power else "process").whole
        ):
            return False
    return True
