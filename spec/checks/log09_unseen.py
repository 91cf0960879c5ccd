"""LOG-09: after faults heal, everything expected reaches every reader within the deadline.

Convicts a reader's view only by an END: the target said that there was nothing more while something was due.
"""

from bisect import bisect_right
from collections.abc import Iterator

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.calm import Stretch, calm
from fireassay.spec.checks.cursor import Cursor
from fireassay.spec.checks.excuses import Excuses
from fireassay.spec.checks.expected import Expectation
from fireassay.spec.checks.result import CheckResult, Witness, conclude, witness
from fireassay.spec.history.history import History
from fireassay.spec.history.model import NEVER, Append, Call, Chain, Drain

__all__ = ["CLAUSE", "check"]

CLAUSE = "LOG-09"


def check(history: History, declared: Declared) -> CheckResult:
    history = history.with_epsilon(declared.epsilon_ns)
    expectation = Expectation(history, declared)
    drains = [drain for drain in history.drains if drain.complete]
    found = [w for drain in drains for w in _missing(expectation, drain)]
    stretches = [s for s in calm(history, 0, NEVER) if s[1] - s[0] > declared.deadline_ns + history.epsilon_ns]
    judged = declared.deadline_ns and history.one_clock
    tails = [chain for chain in history.chains if judged and _asked(declared, chain, stretches)]
    doubts: list[str] = []
    found += [w for chain in tails for w in _unseen(expectation, chain, stretches, doubts)]
    doubts += [f"the drain of stream {d.chain.stream} says nothing: {d.flaw}" for d in history.drains if not d.complete]
    counts = {"drains": len(drains), "readers": len(tails)}
    return conclude(CLAUSE, history, found, evidence=len(drains) + len(tails), counts=counts, doubts=doubts)


def _missing(expectation: Expectation, drain: Drain) -> Iterator[Witness]:
    excuses = Excuses(expectation.history, expectation.declared, drain.chain)
    missing = [append for append in expectation.missing_from(drain) if excuses.cause(append.position) is None]
    if missing:
        text = f"a complete drain by {drain.chain.actor} lacks {len(missing)} records that were due"
        yield witness(CLAUSE, "unseen", drain.chain.stream, (drain.begin.row, *(a.row for a in missing)), text)


def _asked(declared: Declared, chain: Chain, stretches: list[Stretch]) -> bool:
    """An END whose call began when there had been no fault for as long as the deadline."""
    if chain.draining or declared.competes(chain.group):
        return False
    return any(begin + declared.deadline_ns < end.t_invoke and end.t_done < over for end in chain.ends for begin, over in stretches)


def _unseen(expectation: Expectation, chain: Chain, stretches: list[Stretch], doubts: list[str]) -> Iterator[Witness]:
    """Ahead of the chain when it was told END; what it went past is a gap and LOG-02's."""
    cursor = Cursor(expectation.history, expectation.declared, chain)
    excuses = Excuses(expectation.history, expectation.declared, chain)
    times = [end.t_invoke for end in chain.ends]
    late: list[Append] = []
    told: Call | None = None
    for append in expectation.by_stream.get(chain.stream, []):
        if excuses.cause(append.position) is not None:
            continue
        for end in _late_ends(expectation, append, chain, times, stretches):
            if cursor.got(append, end.done):
                break
            if not expectation.due(append, end) or not cursor.ahead(append, end.done):
                continue
            if cursor.sure(end.done):
                late.append(append)
                told = told or end
            else:
                doubts.append(f"reader {chain.actor} was told END too early, unless a read of unknown outcome took what was due")
            break
    if told is not None:
        text = f"reader {chain.actor} was told END while {len(late)} records were due"
        yield witness(CLAUSE, "unseen", chain.stream, (told.row, *(a.row for a in late)), text)


def _late_ends(expectation: Expectation, append: Append, chain: Chain, times: list[int], stretches: list[Stretch]) -> Iterator[Call]:
    """In each calm stretch the first END that was asked for after the record was due."""
    visible = expectation.visible_from(append)
    patience = expectation.declared.deadline_ns + expectation.history.epsilon_ns
    for begin, over in stretches:
        at = bisect_right(times, max(visible, begin) + patience)
        if at < len(times) and chain.ends[at].t_done < over:
            yield chain.ends[at]
