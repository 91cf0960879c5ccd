"""LOG-07: a position holds one record; a record read under durable visibility never vanishes."""

from collections.abc import Iterator

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.expected import Expectation
from fireassay.spec.checks.result import CheckResult, Witness, conclude, witness
from fireassay.spec.history.history import History
from fireassay.spec.history.model import Append, Delivery, Drain
from fireassay.spec.outcomes import Outcome

__all__ = ["CLAUSE", "check"]

CLAUSE = "LOG-07"


def check(history: History, declared: Declared) -> CheckResult:
    history = history.with_epsilon(declared.epsilon_ns)
    found: list[Witness] = []
    places = 0
    if declared.positions != "none":
        holders = [d for d in history.deliveries if d.identified] + [a for a in history.appends if a.outcome is Outcome.OK]
        places = len(holders)
        found += _two_records(history, holders)
        found += _two_places(history)
    drains = [drain for drain in history.drains if drain.complete]
    if _durable_when_visible(declared):
        found += [w for drain in drains for w in _vanished(Expectation(history, declared), drain)]
    evidence = len(history.deliveries) if declared.positions != "none" or (drains and _durable_when_visible(declared)) else 0
    return conclude(CLAUSE, history, found, evidence=evidence, counts={"places": places, "drains": len(drains)})


def _durable_when_visible(declared: Declared) -> bool:
    kept = declared.survives_process_death != "never" and not declared.tail_records and not declared.tail_ns
    return declared.visible == "sync" and kept and declared.readers != "competing"


def _two_records(history: History, holders: list[Delivery | Append]) -> Iterator[Witness]:
    at: dict[tuple[int, int, int], dict[int, Delivery | Append]] = {}
    for holder in holders:
        epoch = history.epoch(holder)
        if epoch is not None and holder.position is not None:
            born = history.born(holder.stream, epoch, holder.position)
            at.setdefault((holder.stream, born, holder.position), {}).setdefault(holder.identity, holder)
    for (stream, _, position), records in at.items():
        if len(records) > 1:
            text = f"position {position} holds {' and '.join(f'{identity:#x}' for identity in list(records)[:4])}"
            yield witness(CLAUSE, "inconsistent-position", stream, (r.row for r in records.values()), text)


def _two_places(history: History) -> Iterator[Witness]:
    """Acknowledged at one position and read at another, within one recovery epoch."""
    for delivery in history.deliveries:
        append = history.append_of.get((delivery.stream, delivery.identity))
        if append is None or append.position in {None, delivery.position} or not delivery.identified:
            continue
        epoch = history.epoch(delivery)
        if epoch is not None and epoch == history.epoch(append):
            text = f"{delivery.identity:#x} was acknowledged at {append.position} and read at {delivery.position}"
            yield witness(CLAUSE, "inconsistent-position", delivery.stream, (append.row, delivery.row), text)


def _vanished(expectation: Expectation, drain: Drain) -> Iterator[Witness]:
    history = expectation.history
    got = expectation.seen_by(drain)
    for delivery in history.deliveries:
        append = history.append_of.get((delivery.stream, delivery.identity))
        same_stream = delivery.stream == drain.chain.stream and delivery.identified
        if append is None or not same_stream or delivery.identity in got or not history.before(delivery, drain.begin):
            continue
        if any(not crash.known for crash in history.crashes):
            continue  # more than processes may have died
        retained = expectation.retained_at(delivery.stream, delivery.position, drain.t_end)
        in_range = expectation.declared.positions == "none" or delivery.position >= (drain.chain.start or 0)
        if retained and in_range:
            text = f"{delivery.identity:#x} was read, visible means durable, and a later complete drain lacks it"
            yield witness(CLAUSE, "read-then-lost", delivery.stream, (delivery.row, drain.begin.row), text)
