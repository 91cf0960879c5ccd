"""LOG-03: one append is stored once; a chain delivers it once. Which append does not matter: an info one, too."""

from collections.abc import Iterator
from itertools import permutations

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.expected import Expectation
from fireassay.spec.checks.restarts import maybe_redelivered
from fireassay.spec.checks.result import CheckResult, Witness, conclude, witness
from fireassay.spec.history.history import History
from fireassay.spec.history.model import Chain, Delivery

__all__ = ["CLAUSE", "check"]

CLAUSE = "LOG-03"


def check(history: History, declared: Declared) -> CheckResult:
    history = history.with_epsilon(declared.epsilon_ns)
    expectation = Expectation(history, declared)
    found = [] if declared.positions == "none" else list(_stored_twice(expectation))
    for chain in history.chains:
        found += _delivered_twice(history, declared, chain) if declared.ordered(chain.group) else ()
    found += _taken_twice(history, declared)
    identified = sum(_ours(history, d) for d in history.deliveries)
    return conclude(CLAUSE, history, found, evidence=identified, counts={"deliveries": identified})


def _ours(history: History, delivery: Delivery) -> bool:
    """It says who it is, and is no mere sentinel: of those nobody knows how many there are."""
    key = (delivery.stream, delivery.identity)
    return delivery.identified and (key in history.append_of or key not in history.sentinels)


def _stored_twice(expectation: Expectation) -> Iterator[Witness]:
    """Two positions of one record; only what no recovery was bound to keep may have moved."""
    places: dict[tuple[int, int], dict[tuple[int, int | None], Delivery]] = {}
    for delivery in expectation.history.deliveries:
        if _ours(expectation.history, delivery):
            key = (delivery.position, expectation.history.epoch(delivery))
            places.setdefault((delivery.stream, delivery.identity), {}).setdefault(key, delivery)
    for (stream, identity), at in places.items():
        if len({position for position, _ in at}) > 1 and _at_once(expectation, stream, identity, at):
            text = f"{identity:#x} was appended once and stands at positions {sorted({position for position, _ in at})[:4]}"
            yield witness(CLAUSE, "duplicate-stored", stream, (d.row for d in at.values()), text)


def _at_once(expectation: Expectation, stream: int, identity: int, at: dict[tuple[int, int | None], Delivery]) -> bool:
    history = expectation.history
    append = history.append_of.get((stream, identity))
    if append is not None and append.position is not None and expectation.stands(append):
        return True  # an owed record keeps its position: what stands elsewhere is a second one
    for (one, epoch), (other, later) in permutations(at, 2):
        if one != other and epoch is not None and later is not None and history.keeps(stream, one, epoch, later):
            return True
    return False


def _delivered_twice(history: History, declared: Declared, chain: Chain) -> Iterator[Witness]:
    seen: dict[int, Delivery] = {}
    for delivery in chain.deliveries:
        if not _ours(history, delivery):
            continue
        first = seen.setdefault(delivery.identity, delivery)
        if first is delivery:
            continue
        elsewhere = declared.positions != "none" and first.position != delivery.position
        epoch = history.epoch(first)
        if elsewhere and epoch is not None and epoch == history.epoch(delivery):
            continue  # stored twice, and each copy was delivered once
        if not maybe_redelivered(history, declared, first, delivery):
            text = f"reader {chain.actor} got {delivery.identity:#x} twice without a seek or a restart"
            yield witness(CLAUSE, "duplicate-delivered", chain.stream, (first.row, delivery.row), text)


def _taken_twice(history: History, declared: Declared) -> Iterator[Witness]:
    """Each record goes to one member of a competing group unless a declared redelivery happened."""
    if declared.redelivery - {"restart", "rebalance"}:
        return
    seen: dict[tuple[int, int, int], Delivery] = {}
    for delivery in sorted(history.deliveries, key=lambda d: d.t_done):
        group = history.group(delivery.actor)
        if not _ours(history, delivery) or not declared.competes(group):
            continue
        first = seen.setdefault((group, delivery.stream, delivery.identity), delivery)
        if first is not delivery and not maybe_redelivered(history, declared, first, delivery):
            text = f"a competing group got {delivery.identity:#x} twice, and no redelivery that is declared has happened"
            yield witness(CLAUSE, "duplicate-delivered", delivery.stream, (first.row, delivery.row), text)
