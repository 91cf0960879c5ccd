"""LOG-02: nothing expected of a chain is missing between its granted start and its last delivery, unless the target
reported exactly that range with a declared cause."""

from collections.abc import Iterator

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.excuses import Excuses
from fireassay.spec.checks.expected import Expectation
from fireassay.spec.checks.result import CheckResult, Witness, conclude, witness
from fireassay.spec.history.history import History
from fireassay.spec.history.model import Append, Chain

__all__ = ["CLAUSE", "check"]

CLAUSE = "LOG-02"


def check(history: History, declared: Declared) -> CheckResult:
    history = history.with_epsilon(declared.epsilon_ns)
    expectation = Expectation(history, declared)
    doubts: list[str] = []
    alone = [chain for chain in history.chains if chain.deliveries and not declared.competes(chain.group)]
    found = [w for chain in alone for w in _gaps(expectation, chain, doubts)]
    groups = _groups(history, declared)
    for members in groups:
        found += _gaps_of_group(expectation, members, doubts)
    deliveries = sum(len(chain.deliveries) for chain in alone) + sum(len(chain.deliveries) for members in groups for chain in members)
    counts = {"chains": len(alone) + len(groups), "deliveries": deliveries}
    return conclude(CLAUSE, history, found, evidence=deliveries, counts=counts, doubts=doubts)


def _groups(history: History, declared: Declared) -> list[list[Chain]]:
    """Chains that compete, by group and stream; one whose group nobody knows may be of any, and then all are one."""
    chains = [chain for chain in history.chains if declared.competes(chain.group)]
    nameless = any(chain.group == 0 for chain in chains)
    groups: dict[tuple[int, int], list[Chain]] = {}
    for chain in chains:
        groups.setdefault((0 if nameless else chain.group, chain.stream), []).append(chain)
    return list(groups.values())


def _gaps_of_group(expectation: Expectation, members: list[Chain], doubts: list[str]) -> Iterator[Witness]:
    """The union is complete once every member saw the end; nobody knows what one that died, or did not ask, still holds."""
    open_ended = any(not chain.ends or any(d.done > chain.ends[-1].done for d in chain.deliveries) for chain in members)
    unsure: list[str] = []
    found = list(_gaps(expectation, _union(members), unsure))
    if open_ended or expectation.history.crashes:
        unsure, found = (["a member of a competing group may still hold what the others did not get"] if found or unsure else []), []
    doubts += unsure
    yield from found


def _union(chains: list[Chain]) -> Chain:
    deliveries = tuple(sorted((d for chain in chains for d in chain.deliveries), key=lambda d: d.position))
    starts = [chain.start for chain in chains if chain.start is not None]
    first = chains[0]
    return Chain(
        actor=first.actor,
        stream=first.stream,
        group=first.group,
        start=min(starts, default=None),
        deliveries=deliveries,
        ends=first.ends,
        unsure=tuple(read for chain in chains for read in chain.unsure),
    )


def _gaps(expectation: Expectation, chain: Chain, doubts: list[str]) -> Iterator[Witness]:
    history, declared = expectation.history, expectation.declared
    competing = declared.competes(chain.group)
    passed = expectation.passed_over(chain, max(chain.deliveries, key=lambda d: d.t_done, default=None) if competing else None)
    if not passed.certain and not passed.unsure:
        return
    excuses = Excuses(history, declared, chain)
    missing = [append for append in passed.certain if excuses.cause(append.position) is None]
    if passed.unsure or (missing and competing and chain.unsure):
        doubts.append(f"a read of reader {chain.actor} has an unknown outcome, and records are missing that it may have taken")
        missing = [] if competing else missing
    late = [append for append in missing if _before_first(declared, chain, append)]
    inner = [append for append in missing if append not in late]
    first = chain.deliveries[0]
    if late:
        text = f"reader {chain.actor} was granted {chain.start} and began at {first.position} without a word"
        yield witness(CLAUSE, "silent-late-start", chain.stream, (first.row, *(a.row for a in late)), text)
    if inner:
        text = f"reader {chain.actor} never got {len(inner)} acknowledged records although it got later ones"
        yield witness(CLAUSE, "gap", chain.stream, (a.row for a in inner), text)


def _before_first(declared: Declared, chain: Chain, append: Append) -> bool:
    if declared.positions == "none" or chain.start is None or append.position is None:
        return False
    return append.position < chain.deliveries[0].position
