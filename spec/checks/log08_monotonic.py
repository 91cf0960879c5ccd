"""LOG-08: positions grow per producer on append, and in each chain within and across batches and incarnations; dense ones leave
no number out."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate, pairwise

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.excuses import Excuses
from fireassay.spec.checks.expected import Expectation
from fireassay.spec.checks.restarts import maybe_redelivered
from fireassay.spec.checks.result import CheckResult, Witness, conclude, not_applicable, witness
from fireassay.spec.history.history import History
from fireassay.spec.history.model import Append, Chain, Delivery
from fireassay.spec.history.row import Identity
from fireassay.spec.outcomes import Outcome

__all__ = ["CLAUSE", "check"]

CLAUSE = "LOG-08"


def check(history: History, declared: Declared) -> CheckResult:
    if declared.positions == "none":
        return not_applicable(CLAUSE, "no positions are promised")
    history = history.with_epsilon(declared.epsilon_ns)
    expectation = Expectation(history, declared)
    found = list(_appends(expectation))
    chains = [chain for chain in history.chains if declared.ordered(chain.group)]
    doubts: list[str] = []
    found += [w for chain in chains for w in _reads(expectation, chain, doubts)]
    counts = {"appends": sum(a.outcome is Outcome.OK for a in history.appends), "deliveries": sum(len(c.deliveries) for c in chains)}
    pairs = sum(max(0, len(chain.deliveries) - 1) for chain in chains)
    # Where no chain stands in order the appends are all there is to judge.
    evidence = pairs if declared.ordered(0) or declared.ordered(1) else max(0, counts["appends"] - 1)
    return conclude(CLAUSE, history, found, evidence=evidence, counts=counts, doubts=doubts)


# -- appends


def _appends(expectation: Expectation) -> Iterator[Witness]:
    lines: dict[tuple[int, int], dict[tuple[int, int | None], list[Append]]] = defaultdict(lambda: defaultdict(list))
    for append in expectation.history.appends:
        if append.outcome is Outcome.OK:
            key = (append.actor, expectation.history.epoch(append))
            lines[append.stream, Identity.of(append.identity).producer][key].append(append)
    for (stream, producer), parts in lines.items():
        for (actor, epoch), those in parts.items():
            for (other, later), these in parts.items():
                kept = _kept(expectation, those, epoch, later)
                for one, two in _falling(expectation.history, actor, kept, other, these):
                    text = f"producer {producer} got {two.position} for an append after the one that got {one.position}"
                    yield witness(CLAUSE, "nonmonotonic-append", stream, (one.row, two.row), text)


def _kept(expectation: Expectation, appends: list[Append], epoch: int | None, later: int | None) -> list[Append]:
    """Those whose position cannot have been given away again by the later epoch."""
    if epoch is not None and epoch == later:
        return appends
    return [append for append in appends if _holds(expectation, append, epoch, later)]


def _holds(expectation: Expectation, append: Append, epoch: int | None, later: int | None) -> bool:
    if epoch is not None and later is not None and append.position is not None:
        if epoch > later:
            return False
        if expectation.history.keeps(append.stream, append.position, epoch, later):
            return True
    return expectation.stands(append)


def _falling(history: History, actor: int, ones: list[Append], other: int, twos: list[Append]) -> Iterator[tuple[Append, Append]]:
    """For each of the second actor's appends the highest of the first's that certainly came before it, where that is no lower."""
    if actor != other and not history.exited_before(actor, other) and history.domain(actor) != history.domain(other):
        return
    ones = sorted(ones, key=lambda a: (a.t_done, a.done) if actor != other else a.done)
    highest = list(accumulate(ones, _higher))
    if actor == other:
        places = [a.done for a in ones]
        counts = [bisect_left(places, two.invoked) for two in twos]
    elif history.exited_before(actor, other):
        counts = [len(ones)] * len(twos)
    else:
        times = [a.t_done + history.epsilon_ns for a in ones]
        counts = [bisect_left(times, two.t_invoke) for two in twos]
    for two, count in zip(twos, counts, strict=True):
        if count and _position(highest[count - 1]) >= _position(two):
            yield highest[count - 1], two


def _higher(one: Append, two: Append) -> Append:
    return two if _position(two) > _position(one) else one


def _position(append: Append) -> int:
    return -1 if append.position is None else append.position


# -- reads


def _reads(expectation: Expectation, chain: Chain, doubts: list[str]) -> Iterator[Witness]:
    excuses = Excuses(expectation.history, expectation.declared, chain)
    for one, two in pairwise(chain.deliveries):
        if two.position <= one.position:
            if _must_go_on(expectation, one, two):
                text = f"reader {chain.actor} got {two.position} after {one.position} without a seek"
                yield witness(CLAUSE, "nonmonotonic-read", chain.stream, (one.row, two.row), text)
        elif two.position > one.position + 1 and expectation.declared.positions == "dense":
            # Of whatever epoch: a cursor beyond a recovered end is reset, and then it goes back.
            hole = range(one.position + 1, two.position)
            if excuses.covers(hole) or not expectation.retained(chain.stream, hole.stop - 1, two):
                continue
            if chain.unsure_between(one.done, two.done):
                doubts.append(f"a read of reader {chain.actor} has an unknown outcome, and numbers are missing that it may have taken")
                continue
            text = f"reader {chain.actor} got {two.position} right after {one.position}, and positions are dense"
            yield witness(CLAUSE, "skip", chain.stream, (one.row, two.row), text)


def _must_go_on(expectation: Expectation, one: Delivery, two: Delivery) -> bool:
    """No recovery between the two may have cut what was read first, and no declared redelivery has happened."""
    history = expectation.history
    if maybe_redelivered(history, expectation.declared, one, two):
        return False
    epoch, later = history.epoch(one), history.epoch(two)
    if epoch is not None and later is not None and history.keeps(one.stream, one.position, epoch, later):
        return True
    append = history.append_of.get((one.stream, one.identity))
    if append is None or append.outcome is not Outcome.OK or not one.identified:
        return False
    return append.position == one.position and expectation.stands(append, two)
