"""LOG-08: positions grow per producer on append, and in each chain within and across batches; dense ones leave no number out."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.expected import Expectation
from fireassay.spec.checks.log02_gap import reports_for
from fireassay.spec.checks.result import CheckResult, Witness, conclude, not_applicable, witness
from fireassay.spec.history.history import History
from fireassay.spec.history.model import Append, Chain
from fireassay.spec.history.row import Identity
from fireassay.spec.outcomes import Outcome

__all__ = ["CLAUSE", "check"]

CLAUSE = "LOG-08"


def check(history: History, declared: Declared) -> CheckResult:
    if declared.positions == "none":
        return not_applicable(CLAUSE, "no positions are promised")
    history = history.with_epsilon(declared.epsilon_ns)
    found = list(_appends(history))
    chains = history.chains if declared.ordered_chains else ()
    expectation = Expectation(history, declared)
    found += [w for chain in chains for w in _reads(expectation, chain)]
    counts = {"appends": sum(a.outcome is Outcome.OK for a in history.appends), "deliveries": sum(len(c.deliveries) for c in chains)}
    return conclude(CLAUSE, history, found, evidence=max(0, max(counts.values()) - 1), counts=counts)


def _appends(history: History) -> Iterator[Witness]:
    """Within one recovery epoch: after a cut tail numbers may come again."""
    lines: dict[tuple[int, int, int], list[Append]] = defaultdict(list)
    for append in history.appends:
        epoch = history.epoch(append)
        if append.outcome is Outcome.OK and epoch is not None:
            lines[append.stream, Identity.of(append.identity).producer, epoch].append(append)
    for (stream, producer, _), appends in lines.items():
        highest: dict[int, Append] = {}  # per actor, of those that came earlier in the order of invokes
        for append in sorted(appends, key=lambda a: (a.t_invoke, a.invoked)):
            # Only the highest so far of each actor is asked: it may be concurrent, and then nothing is said.
            for other in highest.values():
                if _position(other) >= _position(append) and history.before(other, append):
                    text = f"producer {producer} got {append.position} for an append after the one that got {other.position}"
                    yield witness(CLAUSE, "nonmonotonic-append", stream, (other.row, append.row), text)
            known = highest.get(append.actor)
            if known is None or _position(append) > _position(known):
                highest[append.actor] = append


def _position(append: Append) -> int:
    return -1 if append.position is None else append.position


def _reads(expectation: Expectation, chain: Chain) -> Iterator[Witness]:
    history = expectation.history
    reports = list(reports_for(history, chain))
    for one, two in pairwise(chain.deliveries):
        epoch = history.epoch(one)
        if epoch is None or epoch != history.epoch(two):
            continue
        if two.position < one.position:
            text = f"reader {chain.actor} got {two.position} after {one.position} without a seek"
            yield witness(CLAUSE, "nonmonotonic-read", chain.stream, (one.row, two.row), text)
        elif two.position > one.position + 1 and expectation.declared.positions == "dense":
            hole = range(one.position + 1, two.position)
            reported = any(report.seq <= hole.start and hole.stop <= report.value for report in reports)
            if not reported and expectation.retained_at(chain.stream, hole.stop - 1, two.t_done):
                text = f"reader {chain.actor} got {two.position} right after {one.position}, and positions are dense"
                yield witness(CLAUSE, "skip", chain.stream, (one.row, two.row), text)
