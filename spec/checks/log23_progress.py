"""LOG-23: every operation ends within its deadline once faults are healed; no process dies unprovoked.

Evidence first: the harness itself was awake while the call was pending, by its heartbeat or its watchdog.
"""

from collections.abc import Iterator

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.result import CheckResult, Witness, conclude, witness
from fireassay.spec.history.history import History
from fireassay.spec.history.model import NEVER, Append, Call
from fireassay.spec.history.ops import Op
from fireassay.spec.outcomes import Outcome

__all__ = ["CLAUSE", "check", "healed_at"]

CLAUSE = "LOG-23"
_READING = frozenset({Op.READ, Op.SEEK, Op.LOOKUP, Op.OPEN_READER, Op.DRAIN_BEGIN})
_OUTSIDE = frozenset({-1, -2, -9, -15})  # HUP, INT, KILL, TERM: somebody else's doing, and history does not say whose


def check(history: History, declared: Declared) -> CheckResult:
    history = history.with_epsilon(declared.epsilon_ns)
    doubts: list[str] = []
    found = list(_deaths(history, doubts))
    calls = [c for c in (*history.calls, *history.appends) if not c.in_run]
    if declared.deadline_ns:
        found += _stuck(history, declared, calls, doubts)
    ended = sum(c.done[0] < NEVER for c in calls) + sum(c.in_run for c in history.appends) + len(history.deliveries)
    evidence = ended if declared.deadline_ns else 0
    return conclude(CLAUSE, history, found, evidence=evidence, counts={"ended": ended, "calls": len(calls)}, doubts=doubts)


def healed_at(history: History) -> int:
    """Since when no fault is at work: 0 without faults, NEVER while one that killed nobody has no end."""
    heals = [row.t_ns for row in history.events_of(Op.HEAL)]
    ended = {row.seq: row.t_ns for row in history.events_of(Op.FAULT_END)}
    dead = {victim for crash in history.crashes for victim in crash.victims}
    times = [crash.t_end for crash in history.crashes] + [row.t_ns for row in history.events_of(Op.RECOVERY_END)] + list(ended.values())
    for row in history.events_of(Op.FAULT_BEGIN):
        if row.seq not in ended and row.key not in dead and not any(t >= row.t_ns for t in heals):
            return NEVER
    return max(times + heals, default=0)


def _deaths(history: History, doubts: list[str]) -> Iterator[Witness]:
    t_over = min((row.t_ns for row in history.events_of(Op.RUN_END)), default=NEVER)
    for crash in history.crashes:
        if crash.provoked or crash.t_end >= t_over:
            continue
        if crash.signal < 0 and crash.signal not in _OUTSIDE:
            text = f"process {crash.row.seq} died of signal {-crash.signal} and no fault was aimed at it"
            yield witness(CLAUSE, "unprovoked-death", crash.row.stream, (crash.row,), text)
        else:
            doubts.append(f"process {crash.row.seq} ended with {crash.signal} and history does not say why")


def _stuck(history: History, declared: Declared, calls: list[Call], doubts: list[str]) -> Iterator[Witness]:
    healed = healed_at(history)
    drains = [drain.begin for drain in history.drains if drain.t_end == NEVER]
    for call in [*calls, *drains]:
        hanging = call.done[0] >= NEVER or call.op is Op.DRAIN_BEGIN
        t_until = min(history.t_end if hanging else call.t_done, history.t_gone(call.actor))
        t_from = max(call.t_invoke, healed)
        if t_until <= t_from + declared.deadline_ns + history.epsilon_ns or (hanging and history.t_gone(call.actor) < NEVER):
            continue
        if call.waits and not _had_cause(history, declared, call, t_until):
            if call.op not in _READING:
                doubts.append(f"{call.op.name} of actor {call.actor} waits, and history does not say whether it may")
            continue
        if not _awake(history, declared, t_from, t_until):
            doubts.append(f"{call.op.name} of actor {call.actor} took too long, but so did the harness, or it has no heartbeat")
            continue
        anomaly = "stuck-reader" if call.op in _READING else "stuck-writer"
        text = f"{call.op.name} of actor {call.actor} took longer than the deadline with no fault at work"
        yield witness(CLAUSE, anomaly, call.stream, (call.row,), text)


def _had_cause(history: History, declared: Declared, call: Call, t_until: int) -> bool:
    """A read may wait for data; not when a record was acknowledged after it began to wait, long enough ago."""
    if call.op is not Op.READ or declared.readers == "competing" or declared.visible == "sync":
        return False
    return any(_wakes(history, declared, call, append, t_until) for append in history.appends)


def _wakes(history: History, declared: Declared, call: Call, append: Append, t_until: int) -> bool:
    fresh = append.stream == call.stream and append.outcome is Outcome.OK and history.before(_began(call), append)
    return fresh and append.t_done + declared.deadline_ns + history.epsilon_ns < t_until


def _began(call: Call) -> Call:
    """The moment of the invoke alone."""
    return Call(
        op=call.op,
        actor=call.actor,
        stream=call.stream,
        outcome=call.outcome,
        t_invoke=call.t_invoke,
        t_done=call.t_invoke,
        invoked=call.invoked,
        done=call.invoked,
        row=call.row,
    )


def _awake(history: History, declared: Declared, t_from: int, t_until: int) -> bool:
    """Beats within the wait, and none that came late by half the deadline."""
    signs = [row for row in history.events_of(Op.HEARTBEAT, Op.WATCHDOG) if t_from < row.t_ns <= t_until + declared.deadline_ns]
    stalled = any(row.op is Op.HEARTBEAT and 2 * row.value > declared.deadline_ns for row in signs)
    return bool(signs) and not stalled
