"""LOG-09: after faults heal, everything expected reaches every reader within the deadline.

Convicts a reader's view only by an END: the target said that there was nothing more while something was due.
"""

from collections.abc import Iterator

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.expected import Expectation
from fireassay.spec.checks.log23_progress import healed_at
from fireassay.spec.checks.result import CheckResult, Witness, conclude, witness
from fireassay.spec.history.history import History
from fireassay.spec.history.model import NEVER, Chain, Drain

__all__ = ["CLAUSE", "check"]

CLAUSE = "LOG-09"


def check(history: History, declared: Declared) -> CheckResult:
    history = history.with_epsilon(declared.epsilon_ns)
    expectation = Expectation(history, declared)
    drains = [drain for drain in history.drains if drain.complete]
    found = [w for drain in drains for w in _missing(expectation, drain)]
    healed = healed_at(history)
    tails = [chain for chain in history.chains if not chain.draining and _asked_late(expectation, chain, healed)]
    if declared.readers != "competing":
        found += [w for chain in tails for w in _unseen(expectation, chain, healed)]
    flaws = [f"the drain of stream {d.chain.stream} says nothing: {d.flaw}" for d in history.drains if not d.complete]
    counts = {"drains": len(drains), "readers": len(tails)}
    return conclude(CLAUSE, history, found, evidence=len(drains) + len(tails), counts=counts, doubts=flaws)


def _missing(expectation: Expectation, drain: Drain) -> Iterator[Witness]:
    missing = expectation.missing_from(drain)
    if missing:
        text = f"a complete drain by {drain.chain.actor} lacks {len(missing)} records that were due"
        yield witness(CLAUSE, "unseen", drain.chain.stream, (drain.begin.row, *(a.row for a in missing)), text)


def _asked_late(expectation: Expectation, chain: Chain, healed: int) -> bool:
    """An END whose call began when the faults had been healed for as long as the deadline."""
    deadline = expectation.declared.deadline_ns
    return bool(deadline and chain.ends and healed < NEVER and chain.ends[-1].t_invoke > healed + deadline)


def _unseen(expectation: Expectation, chain: Chain, healed: int) -> Iterator[Witness]:
    """Behind the chain's last delivery; what lies before it is a gap and LOG-02's."""
    history, declared, end = expectation.history, expectation.declared, chain.ends[-1]
    got = {d.identity for d in chain.deliveries}
    last = max((d.position for d in chain.deliveries), default=chain.start)
    late = []
    for append in expectation.by_stream.get(chain.stream, []):
        if append.identity in got or not history.before(append, end) or declared.positions == "none":
            continue
        behind = last is not None and append.position is not None and append.position >= last
        due = max(expectation.visible_from(append), healed) + declared.deadline_ns + history.epsilon_ns
        kept = expectation.stands(append, end.t_done) and expectation.retained(append, end.t_done)
        if behind and due < end.t_invoke and kept:
            late.append(append)
    if late:
        text = f"reader {chain.actor} was told END while {len(late)} records were due"
        yield witness(CLAUSE, "unseen", chain.stream, (end.row, *(a.row for a in late)), text)
