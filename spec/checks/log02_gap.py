"""LOG-02: nothing expected of a chain is missing between its granted start and its last delivery, unless the target
reported exactly that range with a declared cause."""

from collections.abc import Iterator

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.expected import Expectation
from fireassay.spec.checks.result import CheckResult, Witness, conclude, witness
from fireassay.spec.history.history import History
from fireassay.spec.history.model import NEVER, Append, Cause, Chain
from fireassay.spec.history.ops import Op
from fireassay.spec.history.row import Row

__all__ = ["CLAUSE", "check", "reports_for"]

CLAUSE = "LOG-02"
_CAUSES = frozenset(int(cause) for cause in Cause)


def check(history: History, declared: Declared) -> CheckResult:
    history = history.with_epsilon(declared.epsilon_ns)
    expectation = Expectation(history, declared)
    chains, doubts = _judged(history, declared)
    found = [w for chain in chains for w in _gaps(expectation, chain)]
    deliveries = sum(len(chain.deliveries) for chain in chains)
    if doubts:
        unsure, found = found, []
        doubts = doubts if unsure else []
    return conclude(CLAUSE, history, found, evidence=deliveries, counts={"chains": len(chains), "deliveries": deliveries}, doubts=doubts)


def _judged(history: History, declared: Declared) -> tuple[list[Chain], list[str]]:
    """Independent and exclusive chains as they are; a competing group as one, once every member saw the end."""
    if declared.readers != "competing":
        return [chain for chain in history.chains if chain.deliveries], []
    groups: dict[tuple[int, int], list[Chain]] = {}
    for chain in history.chains:
        groups.setdefault((chain.group, chain.stream), []).append(chain)
    doubts = []
    if history.crashes or any(not chain.ends or chain.ends[-1].t_done < chain.t_last for chain in history.chains):
        doubts.append("a member of a competing group may still hold what the others did not get")
    return [_union(chains) for chains in groups.values()], doubts


def _union(chains: list[Chain]) -> Chain:
    deliveries = tuple(sorted((d for chain in chains for d in chain.deliveries), key=lambda d: d.position))
    reports = tuple(report for chain in chains for report in chain.reports)
    first = chains[0]
    return Chain(
        actor=first.actor, stream=first.stream, group=first.group, start=None, deliveries=deliveries, ends=first.ends, reports=reports
    )


def _gaps(expectation: Expectation, chain: Chain) -> Iterator[Witness]:
    reports = list(reports_for(expectation.history, chain))
    missing = [a for a in expectation.passed_over(chain) if not any(_excuses(report, a, chain) for report in reports)]
    if not missing or not chain.deliveries:
        return
    first = chain.deliveries[0]
    late = [a for a in missing if chain.start is not None and a.position is not None and a.position < first.position]
    if expectation.declared.positions == "none":
        late = []
    inner = [a for a in missing if a not in late]
    if late:
        text = f"reader {chain.actor} was granted {chain.start} and began at {first.position} without a word"
        yield witness(CLAUSE, "silent-late-start", chain.stream, (first.row, *(a.row for a in late)), text)
    if inner:
        text = f"reader {chain.actor} never got {len(inner)} acknowledged records although it got later ones"
        yield witness(CLAUSE, "gap", chain.stream, (a.row for a in inner), text)


def reports_for(history: History, chain: Chain) -> Iterator[Row]:
    """The target's word to this reader, or to no reader in particular (a recovery); another reader's loss excuses nothing."""
    readers = {each.actor for each in history.chains}
    for report in history.events_of(Op.REPORT):
        if report.stream == chain.stream and report.key in _CAUSES and (report.actor == chain.actor or report.actor not in readers):
            yield report


def _excuses(report: Row, append: Append, chain: Chain) -> bool:
    """Exactly that range: a report that also covers what this chain got afterwards is a blanket, not a report."""
    if append.position is None or not report.seq <= append.position < report.value:
        return False
    return not any(report.seq <= d.position < report.value and report.t_ns < d.t_invoke < NEVER for d in chain.deliveries)
