"""LOG-07: a position holds one record; a record read under durable visibility never vanishes."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import permutations

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.excuses import Excuses
from fireassay.spec.checks.expected import Expectation
from fireassay.spec.checks.result import CheckResult, Witness, conclude, witness
from fireassay.spec.history.history import History
from fireassay.spec.history.model import Append, Call, Crash, Delivery, Drain
from fireassay.spec.outcomes import Outcome

__all__ = ["CLAUSE", "check"]

CLAUSE = "LOG-07"
Holder = Delivery | Append
Readings = Mapping[int, list[tuple[Append, list[Delivery]]]]


def check(history: History, declared: Declared) -> CheckResult:
    history = history.with_epsilon(declared.epsilon_ns)
    expectation = Expectation(history, declared)
    found: list[Witness] = []
    doubts: list[str] = []
    holders: list[Holder] = []
    if declared.positions != "none":
        holders += [d for d in history.deliveries if d.identified]
        holders += [a for a in history.appends if a.outcome is Outcome.OK]
        found += _two_records(expectation, holders, doubts)
        found += _two_places(expectation)
    drains = [drain for drain in history.drains if drain.complete and not declared.competes(drain.chain.group)]
    readings = _readings(history) if drains else {}
    found += [w for drain in drains for w in _vanished(expectation, drain, readings)]
    evidence = len(history.deliveries) if holders or drains else 0
    return conclude(CLAUSE, history, found, evidence=evidence, counts={"places": len(holders), "drains": len(drains)}, doubts=doubts)


def _two_records(expectation: Expectation, holders: list[Holder], doubts: list[str]) -> Iterator[Witness]:
    at: dict[tuple[int, int], dict[tuple[int, int | None], Holder]] = {}
    for holder in holders:
        if holder.position is not None:
            known = at.setdefault((holder.stream, holder.position), {})
            key = (holder.identity, expectation.history.epoch(holder))
            # Of several in one epoch the last says most: it is after most.
            if key not in known or known[key].t_invoke < holder.t_invoke:
                known[key] = holder
    for (stream, position), known in at.items():
        if len({identity for identity, _ in known}) < 2:
            continue
        pairs = [(one, two) for one, two in permutations(known.values(), 2) if one.identity != two.identity]
        clash = [holder for pair in pairs if _both_hold(expectation, *pair) for holder in pair]
        if clash:
            names = dict.fromkeys(f"{holder.identity:#x}" for holder in clash)
            rows = {id(holder.row): holder.row for holder in clash}
            text = f"position {position} holds {' and '.join(list(names)[:4])}"
            yield witness(CLAUSE, "inconsistent-position", stream, rows.values(), text)
        elif not all(boundary.recorded for boundary in expectation.history.boundaries[stream]):
            doubts.append(
                f"position {position} of stream {stream} held two records, and no recovery was recorded that may have cut the first"
            )


def _both_hold(expectation: Expectation, one: Holder, two: Holder) -> bool:
    """`two` was found where `one` was certainly still there."""
    history = expectation.history
    epoch, later = history.epoch(one), history.epoch(two)
    if epoch is not None and later is not None and one.position is not None and history.keeps(one.stream, one.position, epoch, later):
        return True
    append = history.append_of.get((one.stream, one.identity))
    acknowledged = append is not None and append.position == one.position
    return acknowledged and append is not None and history.before(append, two) and expectation.stands(append, two)


def _two_places(expectation: Expectation) -> Iterator[Witness]:
    """Acknowledged at one position and read at another, with no recovery between that may have moved it."""
    history = expectation.history
    for delivery in history.deliveries:
        append = history.append_of.get((delivery.stream, delivery.identity))
        if append is None or append.position is None or append.position == delivery.position or not delivery.identified:
            continue
        epoch, later = history.epoch(append), history.epoch(delivery)
        kept = epoch is not None and later is not None and history.keeps(append.stream, append.position, epoch, later)
        if kept or expectation.stands(append, delivery):
            text = f"{delivery.identity:#x} was acknowledged at {append.position} and read at {delivery.position}"
            yield witness(CLAUSE, "inconsistent-position", delivery.stream, (append.row, delivery.row), text)


def _readings(history: History) -> Readings:
    """Stream → each record with its deliveries."""
    by_record: dict[tuple[int, int], list[Delivery]] = defaultdict(list)
    for delivery in history.deliveries:
        if delivery.identified:
            by_record[delivery.stream, delivery.identity].append(delivery)
    found: dict[int, list[tuple[Append, list[Delivery]]]] = defaultdict(list)
    for key, those in by_record.items():
        if key in history.append_of:
            found[key[0]].append((history.append_of[key], those))
    return found


def _vanished(expectation: Expectation, drain: Drain, readings: Readings) -> Iterator[Witness]:
    history = expectation.history
    got, excuses = expectation.seen_by(drain), Excuses(history, expectation.declared, drain.chain)
    lacking = [those for append, those in readings.get(drain.chain.stream, ()) if not got.has(append)]
    for delivery in (delivery for those in lacking for delivery in those):
        if drain.end is None or not history.before(delivery, drain.begin) or not _durable(expectation, delivery, drain.end):
            continue
        retained = expectation.retained(delivery.stream, delivery.position, drain.end)
        if retained and expectation.in_range(drain, delivery.position) and excuses.cause(delivery.position) is None:
            text = f"{delivery.identity:#x} was read when it could no longer be lost, and a later complete drain lacks it"
            yield witness(CLAUSE, "read-then-lost", delivery.stream, (delivery.row, drain.begin.row), text)


def _durable(expectation: Expectation, delivery: Delivery, until: Call) -> bool:
    """Visible meant durable; or nothing happened that could have taken it."""
    declared, history = expectation.declared, expectation.history
    between = [c for c in history.crashes if not history.after_crash(delivery, c) and not history.before_crash(until, c)]
    return not between or (declared.visible == "sync" and all(_outlasts(expectation, delivery, crash) for crash in between))


def _outlasts(expectation: Expectation, delivery: Delivery, crash: Crash) -> bool:
    """What power took may have been visible while it was failing."""
    in_time = crash.grade == "process" or expectation.history.before_crash(delivery, crash)
    return crash.known and in_time and expectation.declared.promise(crash.grade).whole
