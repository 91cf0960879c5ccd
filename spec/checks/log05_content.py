"""LOG-05: what is read equals what was appended; a zero-copy view stays so until released."""

from collections.abc import Iterator

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.result import CheckResult, Witness, conclude, witness
from fireassay.spec.history.history import History
from fireassay.spec.history.model import Append, Delivery
from fireassay.spec.history.ops import Flag, Op
from fireassay.spec.outcomes import Outcome

__all__ = ["CLAUSE", "check", "damaged_record"]

CLAUSE = "LOG-05"


def check(history: History, declared: Declared) -> CheckResult:
    history = history.with_epsilon(declared.epsilon_ns)
    found = [w for delivery in history.deliveries for w in _corrupt(history, declared, delivery)]
    found += [w for actor in history.paired for w in _overwritten(history, actor)]
    return conclude(CLAUSE, history, found, evidence=len(history.deliveries), counts={"deliveries": len(history.deliveries)})


def damaged_record(history: History, declared: Declared, delivery: Delivery) -> Append | None:
    """Which record of ours a payload that does not decode should have been: by its identity, else by its position."""
    append = history.append_of.get((delivery.stream, delivery.identity))
    if append is not None or declared.positions == "none":
        return append
    place = (delivery.stream, delivery.position)
    there = (a for a in history.appends if (a.stream, a.position) == place and a.outcome is Outcome.OK)
    return next((a for a in there if _still_there(history, a, delivery)), None)


def _still_there(history: History, append: Append, delivery: Delivery) -> bool:
    """A number used again after a recovery belongs to somebody else."""
    born, read = history.epoch(append), history.epoch(delivery)
    return born is not None and read is not None and history.keeps(append.stream, delivery.position, born, read)


def _corrupt(history: History, declared: Declared, delivery: Delivery) -> Iterator[Witness]:
    flags = delivery.row.flags
    if Flag.BAD_DECODE in flags:
        append = damaged_record(history, declared, delivery)
        if append is not None:
            text = f"what was read at {delivery.position} is not what {append.identity:#x} was appended as"
            yield witness(CLAUSE, "corrupt", delivery.stream, (append.row, delivery.row), text)
        return
    append = history.append_of.get((delivery.stream, delivery.identity))
    if append is None or Flag.ANON in flags or delivery.in_run or append.in_run:
        return  # run rows carry neither length nor digest
    # An append of unknown outcome that does not say how long it was may have been empty or silent.
    other_length = append.length != delivery.row.value and (append.length > 0 or append.outcome is Outcome.OK)
    other_digest = append.digest and delivery.row.digest and append.digest != delivery.row.digest
    if other_length or other_digest:
        text = f"{delivery.identity:#x} was read with another length or digest than it was appended with"
        yield witness(CLAUSE, "corrupt", delivery.stream, (append.row, delivery.row), text)


def _overwritten(history: History, actor: int) -> Iterator[Witness]:
    """A view's digest is taken when it is handed out and again when it is given back."""
    paired = history.paired[actor]
    views = {(d.stream, d.position, d.identity): d for d in paired.deliveries}
    for _, row in paired.events:
        if row.op is not Op.RELEASE:
            continue
        view = views.get((row.stream, row.seq, row.key))
        if view is None or Flag.BAD_DECODE in view.row.flags:
            continue
        differs = not view.in_run and view.row.digest and row.digest and view.row.digest != row.digest
        if Flag.BAD_DECODE in row.flags or differs:
            text = f"the view of {row.key:#x} changed before reader {actor} released it"
            yield witness(CLAUSE, "overwritten-view", row.stream, (view.row, row), text)
