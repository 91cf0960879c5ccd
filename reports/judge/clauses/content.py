"""LOG-04, LOG-05, LOG-06: what is read was appended, as it was appended, and by an append that did not fail."""

import numpy as np

from fireassay.reports.judge.findings import Case, Verdicts
from fireassay.reports.judge.trial import FAIL, OK
from fireassay.spec.history.ops import Flag, Op

__all__ = ["aborted", "corrupt", "phantom"]

_BAD, _ANON = int(Flag.BAD_DECODE), int(Flag.ANON)


def phantom(case: Case) -> Verdicts:
    t, a, d, said = case.t, case.t.a, case.t.d, Verdicts("LOG-04")
    too_early = np.zeros(len(d), dtype=bool)
    known = np.flatnonzero(t.app >= 0)
    too_early[known] = t.before(d.some(known), a.some(t.app[known]))
    for n in range(len(d)):
        stream, flags, where = int(d.stream[n]), int(d.flags[n]), int(d.position[n])
        rows, text = case.rows(d, [n]), ""
        if flags & _BAD:
            text = "" if _damaged(case, n) >= 0 else f"what was read at {where} is nothing of this run"
        elif flags & _ANON:
            text = "" if _some_anonymous(case, n) else f"an anonymous record was read at {where} and none was appended that it can be"
        elif t.app[n] < 0:
            name = int(d.identity[n])
            text = "" if (stream, name) in t.sentinels else f"{name % (1 << 64):#x} was read and never appended to stream {stream}"
        elif too_early[n]:
            rows += case.rows(a, [int(t.app[n])])
            text = f"{int(d.identity[n]) % (1 << 64):#x} was read before its append was invoked"
        if text:
            said.convict("phantom", stream, rows, text)
    said.evidence, said.counts = len(d), {"deliveries": len(d)}
    return said


def _some_anonymous(case: Case, n: int) -> bool:
    """One that may have been there: not appended later, nor certainly at another position."""
    t, a = case.t, case.t.a
    delivery = t.d.at(n)
    free = a.anonymous & (a.outcome != FAIL) & (a.stream == delivery.stream) & ~t.before(delivery, a)
    if t.declared.positions == "none":
        return bool(free.any())
    moved = (a.position < 0) | (a.position == delivery.position) | (t.epoch_a < 0) | (t.epoch_a != t.epoch_d[n])
    return bool((free & moved).any())


def _damaged(case: Case, n: int) -> int:
    """The append that a delivery which does not decode should have been; -1 where it is none of ours."""
    t, a, d = case.t, case.t.a, case.t.d
    if t.app[n] >= 0 or t.declared.positions == "none":
        return int(t.app[n])
    stream, position = int(d.stream[n]), int(d.position[n])
    there = np.flatnonzero((a.stream == stream) & (a.position == position) & (a.outcome == OK))
    read = int(t.epoch_d[n])
    return next((m for m in there.tolist() if read >= 0 and t.deaths.keeps(stream, position, int(t.epoch_a[m]), read)), -1)


def corrupt(case: Case) -> Verdicts:
    t, a, d, said = case.t, case.t.a, case.t.d, Verdicts("LOG-05")
    for n in range(len(d)):
        m, flags = int(t.app[n]), int(d.flags[n])
        if flags & _BAD:
            m = _damaged(case, n)
            if m >= 0:
                text = f"what was read at {int(d.position[n])} is not what {int(a.identity[m]) % (1 << 64):#x} was appended as"
                said.convict("corrupt", int(d.stream[n]), [*case.rows(a, [m]), *case.rows(d, [n])], text)
            continue
        if m < 0 or flags & _ANON or d.in_run[n] or a.in_run[m]:
            continue
        length = a.length[m] != d.length[n] and (a.length[m] != 0 or a.outcome[m] == OK)
        digest = a.digest[m] and d.digest[n] and a.digest[m] != d.digest[n]
        if length or digest:
            text = f"{int(d.identity[n]) % (1 << 64):#x} was read with another length or digest than it was appended with"
            said.convict("corrupt", int(d.stream[n]), [*case.rows(a, [m]), *case.rows(d, [n])], text)
    _views(case, said)
    said.evidence, said.counts = len(d), {"deliveries": len(d)}
    return said


def _views(case: Case, said: Verdicts) -> None:
    t, d = case.t, case.t.d
    releases = [e for e in t.events if e.op == Op.RELEASE]
    if not releases:
        return
    views = {(int(d.actor[n]), int(d.stream[n]), int(d.position[n]), int(d.identity[n])): n for n in range(len(d))}
    for release in releases:
        n = views.get((release.actor, release.stream, release.seq, release.key), -1)
        if n < 0 or d.flags[n] & _BAD:
            continue
        differs = not d.in_run[n] and d.digest[n] and release.digest and d.digest[n] != release.digest
        if release.flags & _BAD or differs:
            text = f"the view of {release.key % (1 << 64):#x} changed before reader {t.actors.ids[release.actor]} released it"
            said.convict("overwritten-view", release.stream, [*case.rows(d, [n]), case.row(release)], text)


def aborted(case: Case) -> Verdicts:
    t, a, d, said = case.t, case.t.a, case.t.d, Verdicts("LOG-06")
    failed = int((a.outcome == FAIL).sum())
    read = np.flatnonzero((t.app >= 0) & t.identified)
    for n in read[a.outcome[t.app[read]] == FAIL].tolist():
        text = f"the append of {int(d.identity[n]) % (1 << 64):#x} failed, and it was read at {int(d.position[n])}"
        said.convict("aborted-read", int(d.stream[n]), [*case.rows(a, [int(t.app[n])]), *case.rows(d, [n])], text)
    said.evidence, said.counts = (len(d) if failed else 0), {"failed": failed, "deliveries": len(d)}
    return said
