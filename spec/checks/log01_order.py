"""LOG-01: a is read before b if a's ok came before b's invoke, of one producer (or of all, where total order is promised);
all readers agree."""

from collections.abc import Hashable, Iterator
from itertools import combinations

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.result import CheckResult, Witness, conclude, not_applicable, witness
from fireassay.spec.history.history import History
from fireassay.spec.history.model import Append, Chain, Delivery
from fireassay.spec.history.row import Identity
from fireassay.spec.outcomes import Outcome

__all__ = ["CLAUSE", "check"]

CLAUSE = "LOG-01"
Firsts = list[tuple[Delivery, Append]]


def check(history: History, declared: Declared) -> CheckResult:
    if not declared.ordered(0) and not declared.ordered(1):
        return not_applicable(CLAUSE, "deliveries of competing readers, or redelivered by timeout, stand in no order")
    history = history.with_epsilon(declared.epsilon_ns)
    chains = [(chain, _first_deliveries(history, chain)) for chain in history.chains if declared.ordered(chain.group)]
    found = [w for chain, firsts in chains for w in _reorders(history, declared, chain, firsts)]
    found += _disagreements(chains)
    pairs = sum(max(0, len(firsts) - 1) for _, firsts in chains)
    return conclude(CLAUSE, history, found, evidence=pairs, counts={"chains": len(chains), "pairs": pairs})


def _first_deliveries(history: History, chain: Chain) -> Firsts:
    """Each known record where it came first: that it came again is LOG-03's business."""
    firsts: dict[int, tuple[Delivery, Append]] = {}
    for delivery in chain.deliveries:
        append = history.append_of.get((chain.stream, delivery.identity))
        if append is not None and delivery.identified:
            firsts.setdefault(delivery.identity, (delivery, append))
    return list(firsts.values())


def _line(declared: Declared, append: Append) -> Hashable:
    """Records of one line are ordered against each other."""
    return None if declared.total_order else Identity.of(append.identity).producer


def _reorders(history: History, declared: Declared, chain: Chain, firsts: Firsts) -> Iterator[Witness]:
    """From the last delivery to the first, with the earliest to end of those delivered later, per line and actor."""
    earliest: dict[Hashable, dict[int, tuple[Delivery, Append]]] = {}
    for delivery, append in reversed(firsts):
        line = earliest.setdefault(_line(declared, append), {})
        for later_delivery, later in line.values():
            if history.before(later, append):
                text = f"{later.identity:#x} ended before {append.identity:#x} was invoked, and was read after it"
                yield witness(CLAUSE, "reorder", chain.stream, (later.row, append.row, delivery.row, later_delivery.row), text)
                break
        if append.outcome is Outcome.OK:
            # Of one actor whoever ended first in its own order also ended first by the clock.
            known = line.get(append.actor)
            if known is None or append.done < known[1].done:
                line[append.actor] = (delivery, append)


def _disagreements(chains: list[tuple[Chain, Firsts]]) -> Iterator[Witness]:
    """One order for all readers, also where it is promised only per producer: then nobody knows which, but it is one."""
    for (one, mine), (other, theirs) in combinations(chains, 2):
        if one.stream != other.stream:
            continue
        rank = {append.identity: (number, delivery) for number, (delivery, append) in enumerate(mine)}
        highest: tuple[int, Delivery, Delivery] | None = None
        for delivery, append in theirs:
            if append.identity not in rank:
                continue
            number, first = rank[append.identity]
            if highest is not None and highest[0] > number:
                text = f"readers {one.actor} and {other.actor} got {append.identity:#x} and {highest[1].identity:#x} in different order"
                yield witness(CLAUSE, "reader-disagreement", one.stream, (first.row, highest[1].row, highest[2].row, delivery.row), text)
                break
            highest = (number, first, delivery)
