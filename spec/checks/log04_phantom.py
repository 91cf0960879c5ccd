"""LOG-04: only what was appended in this run is read, and not before it was."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.log05_content import damaged_record
from fireassay.spec.checks.result import CheckResult, Witness, conclude, witness
from fireassay.spec.history.history import History
from fireassay.spec.history.model import Append, Delivery
from fireassay.spec.history.ops import Flag
from fireassay.spec.outcomes import Outcome

__all__ = ["CLAUSE", "check"]

CLAUSE = "LOG-04"


def check(history: History, declared: Declared) -> CheckResult:
    history = history.with_epsilon(declared.epsilon_ns)
    anonymous: dict[int, list[Append]] = defaultdict(list)
    for append in history.appends:
        if append.anonymous and append.outcome is not Outcome.FAIL:
            anonymous[append.stream].append(append)
    found = [w for delivery in history.deliveries for w in _phantom(history, declared, delivery, anonymous)]
    return conclude(CLAUSE, history, found, evidence=len(history.deliveries), counts={"deliveries": len(history.deliveries)})


def _phantom(history: History, declared: Declared, delivery: Delivery, anonymous: Mapping[int, list[Append]]) -> Iterator[Witness]:
    stream, flags = delivery.stream, delivery.row.flags
    append = history.append_of.get((stream, delivery.identity))
    if Flag.BAD_DECODE in flags:
        # A damaged record of ours is LOG-05's; what nobody here wrote is a phantom.
        if damaged_record(history, declared, delivery) is None:
            yield witness(CLAUSE, "phantom", stream, (delivery.row,), f"what was read at {delivery.position} is nothing of this run")
    elif Flag.ANON in flags:
        if not any(_may_be(history, declared, delivery, each) for each in anonymous.get(stream, ())):
            text = f"an anonymous record was read at {delivery.position} and none was appended that it can be"
            yield witness(CLAUSE, "phantom", stream, (delivery.row,), text)
    elif append is None:
        if (stream, delivery.identity) not in history.sentinels:
            text = f"{delivery.identity:#x} was read and never appended to stream {stream}"
            yield witness(CLAUSE, "phantom", stream, (delivery.row,), text)
    elif history.before(delivery, append):
        text = f"{delivery.identity:#x} was read before its append was invoked"
        yield witness(CLAUSE, "phantom", stream, (delivery.row, append.row), text)


def _may_be(history: History, declared: Declared, delivery: Delivery, append: Append) -> bool:
    """Without an identity: by order, and by the position where one was acknowledged and cannot have changed."""
    if history.before(delivery, append):
        return False
    if declared.positions == "none" or append.position in {None, delivery.position}:
        return True
    epoch = history.epoch(append)
    return epoch is None or epoch != history.epoch(delivery)
