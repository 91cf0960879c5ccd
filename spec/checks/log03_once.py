"""LOG-03: one append is stored once; a chain delivers it once. Which append does not matter: an info one, too."""

from collections.abc import Iterator

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.result import CheckResult, Witness, conclude, witness
from fireassay.spec.history.history import History
from fireassay.spec.history.model import Chain, Delivery

__all__ = ["CLAUSE", "check"]

CLAUSE = "LOG-03"


def check(history: History, declared: Declared) -> CheckResult:
    history = history.with_epsilon(declared.epsilon_ns)
    found = [] if declared.positions == "none" else list(_stored_twice(history))
    for chain in history.chains:
        found += _delivered_twice(chain, declared) if declared.ordered_chains else ()
    if declared.readers == "competing" and not declared.redelivery:
        found += _taken_twice(history)
    identified = sum(d.identified for d in history.deliveries)
    return conclude(CLAUSE, history, found, evidence=identified, counts={"deliveries": identified})


def _stored_twice(history: History) -> Iterator[Witness]:
    """Two positions of one record within one recovery epoch; across a recovery it may have moved."""
    places: dict[tuple[int, int, int], dict[int, Delivery]] = {}
    for delivery in history.deliveries:
        epoch = history.epoch(delivery)
        if delivery.identified and epoch is not None:
            places.setdefault((delivery.stream, delivery.identity, epoch), {}).setdefault(delivery.position, delivery)
    for (stream, identity, _), at in places.items():
        if len(at) > 1:
            text = f"{identity:#x} was appended once and stands at positions {sorted(at)[:4]}"
            yield witness(CLAUSE, "duplicate-stored", stream, (d.row for d in at.values()), text)


def _delivered_twice(chain: Chain, declared: Declared) -> Iterator[Witness]:
    seen: dict[int, Delivery] = {}
    for delivery in chain.deliveries:
        if not delivery.identified:
            continue
        first = seen.setdefault(delivery.identity, delivery)
        # At another position it was stored twice, and each copy was delivered once.
        if first is not delivery and (declared.positions == "none" or first.position == delivery.position):
            text = f"reader {chain.actor} got {delivery.identity:#x} twice without a seek or a restart"
            yield witness(CLAUSE, "duplicate-delivered", chain.stream, (first.row, delivery.row), text)


def _taken_twice(history: History) -> Iterator[Witness]:
    seen: dict[tuple[int, int, int], Delivery] = {}
    for delivery in history.deliveries:
        first = seen.setdefault((history.group(delivery.actor), delivery.stream, delivery.identity), delivery)
        if first is not delivery and delivery.identified:
            text = f"two members of a competing group got {delivery.identity:#x} and no redelivery is declared"
            yield witness(CLAUSE, "duplicate-delivered", delivery.stream, (first.row, delivery.row), text)
