"""LOG-23: every operation ends within its deadline once faults are healed; no process dies unprovoked."""

from collections.abc import Iterator

import numpy as np

from fireassay.reports.judge.calm import calm
from fireassay.reports.judge.clauses.standing import Standing
from fireassay.reports.judge.deaths import Crash
from fireassay.reports.judge.findings import Case, Verdicts
from fireassay.reports.judge.schemas import INFINITE
from fireassay.reports.judge.trial import OK, Chain, Moment, Records
from fireassay.spec.history.ops import Op

__all__ = ["progress"]

_READING = frozenset(map(int, (Op.READ, Op.SEEK, Op.LOOKUP, Op.OPEN_READER, Op.DRAIN_BEGIN, Op.COMMIT, Op.ACK)))
_OUTSIDE = frozenset({-1, -2, -9, -15})  # sent by somebody, and history does not say by whom


def progress(case: Case) -> Verdicts:
    t, said = case.t, Verdicts("LOG-23")
    over = min((e.t_row for e in t.events if e.op == Op.RUN_END), default=INFINITE)
    _deaths(case, said, over)
    calls = list(_operations(case))
    if t.declared.deadline_ns:
        _stuck(case, said, calls, over)
    in_runs = int(t.a.in_run.sum()) + int(t.d.in_run.sum())
    ended = sum(call.done < INFINITE for call in calls) + in_runs
    said.counts = {"ended": ended, "calls": len(calls)}
    said.evidence = ended if t.declared.deadline_ns else 0
    return said


def _deaths(case: Case, said: Verdicts, over: int) -> None:
    for crash in case.t.deaths.crashes:
        if crash.provoked or crash.t_end >= over:
            continue
        process, signal = crash.event.seq, crash.signal
        if signal < 0 and signal not in _OUTSIDE and not _maybe_meant(case, crash):
            text = f"process {process} died of signal {-signal} and no fault was aimed at it"
            said.convict("unprovoked-death", crash.event.stream, [case.row(crash.event)], text)
        else:
            said.doubts.append(f"process {process} ended with {signal} and history does not say why")


def _maybe_meant(case: Case, crash: Crash) -> bool:
    """A fault aimed at no actor of the table was at work; a power loss has its own victims."""
    t = case.t
    outages = {c.event.seq for c in t.deaths.crashes if c.power}
    tabled = {actor for actor, known in zip(t.actors.ids, t.actors.tabled, strict=True) if known}
    general = [e for e in t.events if e.op == Op.FAULT_BEGIN and e.key not in tabled and e.seq not in outages]
    return any(e.t_row <= crash.t_end and crash.t_begin <= t.deaths.taken_back(e) for e in general)


def _operations(case: Case) -> Iterator[Moment]:
    """Calls, single appends, and of each read the first record it brought."""
    t = case.t
    yield from (call for call in t.calls if not call.in_run)
    yield from (_whole(case, t.a, n) for n in np.flatnonzero(~t.a.in_run).tolist())
    seen: set[tuple[int, int]] = set()
    for n in np.flatnonzero(~t.d.in_run).tolist():
        key = (int(t.d.actor[n]), int(t.d.inv[n]))
        if key not in seen:
            seen.add(key)
            yield _whole(case, t.d, n)


def _whole(case: Case, records: Records, number: int) -> Moment:
    fact = records.facts[int(records.fact[number])]
    made = records.at(int(number))
    made.op, made.waits, made.went_on, made.chain = fact.op, fact.waits, fact.went_on, fact.chain
    made.t_row, made.ref = fact.t_row, (fact.recording, fact.row)
    return made


def _stuck(case: Case, said: Verdicts, calls: list[Moment], over: int) -> None:
    t = case.t
    patience = t.declared.deadline_ns + t.epsilon
    pending = [(call, call.t_inv, min(_end(case, call), over)) for call in calls]
    pending += [(begin, since, min(until, over)) for begin, since, until in _unfinished(case)]
    for call, since, until in pending:
        if until <= since + patience:
            continue
        name = f"{Op(call.op).name} of actor {t.actors.ids[call.actor]}"
        if not t.one_clock:
            said.doubts.append(f"{name} took too long by its own clock, and history has several")
            continue
        stretches = [(one, two) for one, two in calm(t, since, until) if two - one > patience]
        if not stretches:
            if not calm(t, until, INFINITE):
                said.doubts.append(f"{name} took too long, and a fault was never taken back")
        elif call.waits and not any(_had_cause(case, call, stretch) for stretch in stretches):
            if call.op not in _READING:
                said.doubts.append(f"{name} waits, and history does not say whether it may")
        elif not any(_awake(case, *stretch) for stretch in stretches):
            said.doubts.append(f"{name} took too long, but so did the harness, or it has no heartbeat")
        else:
            reads = t.actors.roles[call.actor] != "producer" if call.op == Op.CLOSE else call.op in _READING
            text = f"{name} took longer than the deadline with no fault at work"
            said.convict("stuck-reader" if reads else "stuck-writer", call.stream, [case.row(call)], text)


def _end(case: Case, call: Moment) -> int:
    if call.done < INFINITE:
        return int(call.t_done)
    if call.went_on:
        return int(call.t_inv)  # nobody knows how long it took
    return min(case.t.t_end, case.t.deaths.gone(call.actor))


def _unfinished(case: Case) -> Iterator[tuple[Moment, int, int]]:
    """Drains given up or never ended, since the last record they got; not those for which another was begun."""
    t, d = case.t, case.t.d
    drains = [chain for chain in t.chains if chain.begin is not None]
    last = {(chain.actor, chain.stream): chain.begin.inv for chain in drains if chain.begin is not None}
    for chain in drains:
        begin, end = chain.begin, chain.end
        if begin is None or (end is not None and end.outcome == OK):
            continue
        if end is None and last[chain.actor, chain.stream] > begin.inv:
            continue
        got = d.t_done[(d.actor == chain.actor) & (d.stream == chain.stream) & (d.done > begin.done)]
        since = int(got.max()) if len(got) else begin.t_inv
        until = t.t_end if end is None else end.t_done
        yield begin, since, min(until, t.deaths.gone(chain.actor))


def _had_cause(case: Case, call: Moment, stretch: tuple[int, int]) -> bool:
    """A record was there for it all along, or came after it began to wait, long enough ago."""
    t, a, owed = case.t, case.t.a, case.owed
    if call.op != Op.READ or not t.declared.alone(t.actors.group[call.actor]):
        return False
    chain = _chain_of(case, call)
    standing = Standing(case, chain) if chain is not None else None
    sure = standing is not None and standing.sure(call.inv)
    patience = t.declared.deadline_ns + t.epsilon
    long_ago = np.maximum(owed.visible_from, stretch[0]) + patience < stretch[1]
    fresh = (a.actor != call.actor) & (call.t_inv + t.epsilon < a.t_inv)
    for n in np.flatnonzero(t.expected & (a.stream == call.stream) & long_ago).tolist():
        if (fresh[n] or (standing is not None and sure and standing.ahead(n, call.inv))) and owed.due(n, call):
            return True
    return False


def _chain_of(case: Case, call: Moment) -> Chain | None:
    t = case.t
    for chain in t.chains:
        if (chain.actor, chain.stream) == (call.actor, call.stream):
            parts = {*t.d.inv[chain.got].tolist(), *(end.inv for end in chain.ends), *chain.unsure}
            if call.inv in parts:
                return chain
    return None


def _awake(case: Case, begin: int, end: int) -> bool:
    """Timely beats vouch for more than the deadline."""
    deadline, vouched = case.t.declared.deadline_ns, 0
    for beat in case.t.said(Op.HEARTBEAT):
        if 2 * beat.value <= deadline:
            since, until = max(beat.t_row - beat.value, begin), min(beat.t_row, end)
            vouched += max(0, until - since)
            begin = max(begin, until)
    return vouched > deadline
