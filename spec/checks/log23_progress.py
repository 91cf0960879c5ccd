"""LOG-23: every operation ends within its deadline once faults are healed; no process dies unprovoked.

Evidence first: the harness itself was awake while the call was pending, by its heartbeat.
"""

from collections.abc import Iterator

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.calm import Stretch, calm
from fireassay.spec.checks.cursor import Cursor
from fireassay.spec.checks.expected import Expectation
from fireassay.spec.checks.result import CheckResult, Witness, conclude, witness
from fireassay.spec.history.crashes import fault_over
from fireassay.spec.history.history import History
from fireassay.spec.history.model import NEVER, Append, Call, Chain, Crash, Delivery
from fireassay.spec.history.ops import Op
from fireassay.spec.outcomes import Outcome

__all__ = ["CLAUSE", "check"]

CLAUSE = "LOG-23"
_READING = frozenset({Op.READ, Op.SEEK, Op.LOOKUP, Op.OPEN_READER, Op.DRAIN_BEGIN, Op.COMMIT, Op.ACK})
_OUTSIDE = frozenset({-1, -2, -9, -15})  # HUP, INT, KILL, TERM: somebody else's doing, and history does not say whose


def check(history: History, declared: Declared) -> CheckResult:
    history = history.with_epsilon(declared.epsilon_ns)
    doubts: list[str] = []
    found = list(_deaths(history, doubts))
    calls = [c for c in (*history.calls, *history.appends, *_first_answers(history)) if not c.in_run]
    if declared.deadline_ns:
        found += _stuck(history, declared, calls, doubts)
    ended = sum(c.done[0] < NEVER for c in calls) + sum(c.in_run for c in (*history.appends, *history.deliveries))
    evidence = ended if declared.deadline_ns else 0
    return conclude(CLAUSE, history, found, evidence=evidence, counts={"ended": ended, "calls": len(calls)}, doubts=doubts)


def _first_answers(history: History) -> list[Delivery]:
    """A read has ended once its first record is there."""
    firsts: dict[tuple[int, tuple[int, int]], Delivery] = {}
    for delivery in history.deliveries:
        firsts.setdefault((delivery.actor, delivery.invoked), delivery)
    return list(firsts.values())


# -- deaths


def _deaths(history: History, doubts: list[str]) -> Iterator[Witness]:
    t_over = _over(history)
    for crash in history.crashes:
        if crash.provoked or crash.t_end >= t_over:
            continue
        if crash.signal < 0 and crash.signal not in _OUTSIDE and not _under_general_fault(history, crash):
            text = f"process {crash.row.seq} died of signal {-crash.signal} and no fault was aimed at it"
            yield witness(CLAUSE, "unprovoked-death", crash.row.stream, (crash.row,), text)
        else:
            doubts.append(f"process {crash.row.seq} ended with {crash.signal} and history does not say why")


def _over(history: History) -> int:
    return min((row.t_ns for row in history.events_of(Op.RUN_END)), default=NEVER)


def _under_general_fault(history: History, crash: Crash) -> bool:
    """A fault that is aimed at no actor in particular may have been meant."""
    taken_back = history.events_of(Op.FAULT_END, Op.HEAL)
    outages = {crash.row.seq for crash in history.crashes if crash.grade == "power"}  # who died of one is among its victims
    general = (row for row in history.events_of(Op.FAULT_BEGIN) if row.key not in history.actors and row.seq not in outages)
    return any(row.t_ns <= crash.t_end and crash.t_begin <= fault_over(row, taken_back) for row in general)


# -- operations


def _stuck(history: History, declared: Declared, calls: list[Call], doubts: list[str]) -> Iterator[Witness]:
    patience = declared.deadline_ns + history.epsilon_ns
    expectation = Expectation(history, declared)
    t_over = _over(history)
    pending = [(call, call.t_invoke, min(_end_of(history, call), t_over)) for call in calls]
    pending += [(begin, t_from, min(t_until, t_over)) for begin, t_from, t_until in _unfinished_drains(history)]
    for call, t_from, t_until in pending:
        if t_until <= t_from + patience:
            continue
        name = f"{call.op.name} of actor {call.actor}"
        if not history.one_clock:
            doubts.append(f"{name} took too long by its own clock, and history has several")
            continue
        stretches = [(begin, end) for begin, end in calm(history, t_from, t_until) if end - begin > patience]
        if not stretches:
            if not calm(history, t_until, NEVER):
                doubts.append(f"{name} took too long, and a fault was never taken back")
            continue
        if call.waits and not any(_had_cause(expectation, call, stretch) for stretch in stretches):
            if call.op not in _READING:
                doubts.append(f"{name} waits, and history does not say whether it may")
            continue
        if not any(_awake(history, declared, stretch) for stretch in stretches):
            doubts.append(f"{name} took too long, but so did the harness, or it has no heartbeat")
            continue
        anomaly = "stuck-reader" if _reads(history, call) else "stuck-writer"
        yield witness(CLAUSE, anomaly, call.stream, (call.row,), f"{name} took longer than the deadline with no fault at work")


def _end_of(history: History, call: Call) -> int:
    """At or before its true end. Of a call whose actor went on without a word on it nobody knows how long it took."""
    if call.done[0] < NEVER:
        return call.t_done
    later = history.rows_of[call.actor][call.invoked[0] + 1 :]
    if any(row.call != call.row.call for row in later):
        return call.t_invoke
    return min(history.t_end, history.t_gone(call.actor))


def _unfinished_drains(history: History) -> Iterator[tuple[Call, int, int]]:
    """A drain that was given up or never ended, since the last record its reader got; not one for which another was begun."""
    lasts = {(drain.begin.actor, drain.begin.stream): drain.begin.invoked for drain in history.drains}
    for drain in history.drains:
        begin, end = drain.begin, drain.end
        if (end is not None and end.outcome is Outcome.OK) or (end is None and lasts[begin.actor, begin.stream] > begin.invoked):
            continue
        got = (d.t_done for d in history.paired[begin.actor].deliveries if d.stream == begin.stream and d.done > begin.done)
        t_end = history.t_end if end is None else end.t_done
        yield begin, max(got, default=begin.t_invoke), min(t_end, history.t_gone(begin.actor))


def _reads(history: History, call: Call) -> bool:
    if call.op is Op.CLOSE:
        return history.actors[call.actor].role != "producer"
    return call.op in _READING


def _had_cause(expectation: Expectation, call: Call, stretch: Stretch) -> bool:
    """A read may wait for data; not when a record was there for it all along, or came after it began to wait, long enough ago."""
    history, declared = expectation.history, expectation.declared
    if call.op is not Op.READ or not declared.alone(history.group(call.actor)):
        return False
    chain = _chain_of(history, call)
    cursor = Cursor(history, declared, chain) if chain is not None else None
    appends = expectation.by_stream.get(call.stream, [])
    return any(_is_cause(expectation, call, cursor, append, stretch) for append in appends)


def _is_cause(expectation: Expectation, call: Call, cursor: Cursor | None, append: Append, stretch: Stretch) -> bool:
    history, patience = expectation.history, expectation.declared.deadline_ns + expectation.history.epsilon_ns
    begin, end = stretch
    if max(expectation.visible_from(append), begin) + patience >= end:
        return False
    fresh = append.actor != call.actor and history.earlier(call.t_invoke, "", append.t_invoke, "")
    ahead = cursor is not None and cursor.sure(call.invoked) and cursor.ahead(append, call.invoked)
    return (fresh or ahead) and expectation.due(append, call)


def _chain_of(history: History, call: Call) -> Chain | None:
    mine = (chain for chain in history.chains if (chain.actor, chain.stream) == (call.actor, call.stream))
    return next((c for c in mine if any(part.invoked == call.invoked for part in (*c.deliveries, *c.ends, *c.unsure))), None)


def _awake(history: History, declared: Declared, stretch: Stretch) -> bool:
    """Beats vouch for more than the deadline within the stretch; one that came late by half of it vouches for nothing."""
    begin, end = stretch
    vouched, at = 0, begin
    for row in history.events_of(Op.HEARTBEAT):
        if 2 * row.value <= declared.deadline_ns:
            since, until = max(row.t_ns - row.value, at), min(row.t_ns, end)
            vouched += max(0, until - since)
            at = max(at, until)
    return vouched > declared.deadline_ns
