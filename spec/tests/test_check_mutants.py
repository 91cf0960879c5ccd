"""Checks that are a little wrong: each weakened or overzealous variant is caught by some handmade history of its clause."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from fireassay.spec.checks import CHECKS, Check, CheckResult, Declared, judge
from fireassay.spec.checks import calm as calm_module
from fireassay.spec.checks.assumptions import Promise
from fireassay.spec.checks.expected import Expectation
from fireassay.spec.clauses import ALL
from fireassay.spec.history.builder import HistoryBuilder
from fireassay.spec.history.history import History
from fireassay.spec.history.model import NEVER, Call, Chain, Crash
from fireassay.spec.history.ops import FaultKind
from fireassay.spec.history.row import Row
from fireassay.spec.outcomes import Outcome, Verdict
from fireassay.spec.tests.handmade import HANDMADE, Handmade

ROOT = "fireassay.spec."
ANOMALIES = [(clause.id, anomaly) for clause in ALL if clause.id in CHECKS for anomaly in clause.anomalies]


def agrees(case: Handmade, check: Check) -> bool:
    builder = HistoryBuilder()
    case.build(builder)
    (result,) = judge(builder.build(), case.declared, {case.clause: check})
    return result.verdict is case.verdict and {w.anomaly for w in result.witnesses} == set(case.anomaly.split())


def doubters(clause: str, check: Check) -> list[str]:
    return [case.name for case in HANDMADE if case.clause == clause and not agrees(case, check)]


@pytest.mark.parametrize("clause", CHECKS)
def test_the_checks_themselves_are_doubted_by_none(clause: str) -> None:
    assert doubters(clause, CHECKS[clause]) == []


@pytest.mark.parametrize(("clause", "anomaly"), ANOMALIES)
def test_a_check_that_is_blind_to_one_anomaly_is_caught(clause: str, anomaly: str) -> None:
    def blind(history: History, declared: Declared) -> CheckResult:
        result = CHECKS[clause](history, declared)
        seen = tuple(witness for witness in result.witnesses if witness.anomaly != anomaly)
        acquitted = result.verdict is Verdict.FAIL and not seen
        return replace(result, witnesses=seen, verdict=Verdict.PASS if acquitted else result.verdict)

    assert doubters(clause, blind)


@pytest.mark.parametrize(("clause", "anomaly"), ANOMALIES)
def test_a_check_that_calls_one_anomaly_by_another_name_is_caught(clause: str, anomaly: str) -> None:
    def confused(history: History, declared: Declared) -> CheckResult:
        result = CHECKS[clause](history, declared)
        renamed = (replace(w, anomaly="other") if w.anomaly == anomaly else w for w in result.witnesses)
        return replace(result, witnesses=tuple(renamed))

    assert doubters(clause, confused)


@pytest.mark.parametrize("clause", CHECKS)
def test_a_check_that_takes_unknown_for_pass_is_caught_where_it_can_be_unknown(clause: str) -> None:
    def sure(history: History, declared: Declared) -> CheckResult:
        result = CHECKS[clause](history, declared)
        return replace(result, verdict=Verdict.PASS) if result.verdict is Verdict.UNKNOWN else result

    unknown = [case.name for case in HANDMADE if case.clause == clause and case.verdict is Verdict.UNKNOWN]
    assert doubters(clause, sure) == unknown


# -- one predicate at a time


@dataclass(frozen=True)
class Mutant:
    name: str
    clauses: str
    target: str
    replacement: Any


def says(value: object) -> Callable[..., Any]:
    return lambda *args, **kwargs: value


def always(value: object) -> property:
    return property(lambda self: value)


def same_epoch_only(self: Expectation, append: Call, delivery: Call) -> bool:
    epoch = self.history.epoch(append)
    return epoch is not None and epoch == self.history.epoch(delivery)


def asked_of_the_end(self: Expectation, chain: Chain, until: Call | None = None) -> Any:
    return ORIGINAL["passed_over"](self, chain, chain.deliveries[-1] if chain.deliveries else None)


def after_the_last_fault(history: History, t_from: int, t_until: int) -> list[tuple[int, int]]:
    healed = max((end for _, end in calm_module.disturbances(history)), default=0)
    begin = max(t_from, healed)
    return [(begin, t_until)] if begin < t_until else []


def highest_even_if_concurrent(history: History, actor: int, ones: list[Any], other: int, twos: list[Any]) -> Iterator[tuple[Any, Any]]:
    for two in twos:
        earlier = [one for one in ones if one.invoked < two.invoked]
        top = max(earlier, key=lambda one: one.position, default=None)
        if top is not None and top.position >= two.position and history.before(top, two):
            yield top, two


def dead_actors_are_never_stuck(history: History, call: Call) -> int:
    if call.done[0] >= NEVER and history.t_gone(call.actor) < NEVER:
        return call.t_invoke
    return int(ORIGINAL["_end_of"](history, call))


def abandoned_calls_hang(history: History, call: Call) -> int:
    return call.t_done if call.done[0] < NEVER else min(history.t_end, history.t_gone(call.actor))


def completion_alone(invoke: Any, row: Any) -> dict[str, object]:
    return {"anonymous": bool(row.flags & 16), "length": row.value, "digest": row.digest}


def any_beat(history: History, declared: Declared, stretch: tuple[int, int]) -> bool:
    return any(row.op.name == "HEARTBEAT" for row in history.rows)


def whole_time(history: History, t_from: int, t_until: int) -> list[tuple[int, int]]:
    return [(t_from, t_until)]


def clock_without_epsilon(self: History, t: int, domain: str, other_t: int, other_domain: str) -> bool:
    return t < other_t


def everything_heard(self: Any, declared: Declared) -> Any:
    return iter(self._history.reports)


def group_zero_sees_all(self: Expectation, drain: Any) -> Any:
    return type(ORIGINAL["seen_by"](self, drain))(self.history.deliveries, self.declared)


def promise_of_the_other(self: Declared, grade: str) -> Promise:
    if grade == "process":
        return Promise(self.survives_power_loss, self.power_tail_records, self.power_tail_ns)
    return Promise(self.survives_process_death, self.tail_records, self.tail_ns)


def without_other_kinds(row: Row) -> FaultKind:
    return FaultKind.POWER if row.digest == FaultKind.POWER else FaultKind.PROCESS


def witnessed_by_victims(self: History, call: Call, crash: Crash) -> bool:
    return call.actor in crash.victims or self.earlier(call.t_done, "", crash.t_begin, "")


ORIGINAL: dict[str, Callable[..., Any]] = {"passed_over": Expectation.passed_over, "seen_by": Expectation.seen_by}

REDELIVERED = "checks.log03_once.maybe_redelivered checks.log08_monotonic.maybe_redelivered"
E, H, X = "checks.expected.Expectation.", "history.history.History.", "checks.excuses.Excuses."

MUTANTS = [
    # order and time
    Mutant("nothing is before anything", "01 04 08", H + "before", says(False)),
    Mutant("epsilon is forgotten", "01", H + "earlier", clock_without_epsilon),
    Mutant("order is always total", "01", "checks.log01_order._line", says(None)),
    Mutant("order is never total", "01", "checks.log01_order._line", lambda declared, append: append.actor),
    Mutant("competing readers have order, too", "01 08", "checks.assumptions.Declared.ordered", says(True)),
    Mutant("no reader has order", "01 08", "checks.assumptions.Declared.ordered", says(False)),
    # what is expected
    Mutant("trims are forgotten", "02 07 08", E + "retained", says(True)),
    Mutant("everything is trimmed", "02 07 08 09", E + "retained", says(False)),
    Mutant("everything is owed for ever", "02 07 09", E + "stands", says(True)),
    Mutant("nothing is owed", "02 03 07 08 09", E + "stands", says(False)),
    Mutant("a gap counts only within one known epoch", "02", E + "_after", same_epoch_only),
    Mutant("what is lost later excuses an earlier gap", "02", E + "passed_over", asked_of_the_end),
    Mutant("nameless records are nobody's", "02 09", "checks.expected.Seen.has", lambda self, a: a.identity in self._identities),
    Mutant("reads of unknown outcome took nothing", "02 08 09", "history.model.Chain.unsure_between", says(False)),
    Mutant("reads of unknown outcome took everything", "02 08 09", "history.model.Chain.unsure_between", says(True)),
    Mutant("nobody competes", "02 03 09", "checks.assumptions.Declared.competes", says(False)),
    Mutant("everybody competes", "02 09", "checks.assumptions.Declared.competes", says(True)),
    # reports
    Mutant("reports excuse nothing", "02 09", X + "cause", says(None)),
    Mutant("blanket reports excuse all", "02 08", X + "_blanket", says(False)),
    Mutant("reports to others, of any cause, excuse", "02 08 09", X + "_heard", everything_heard),
    Mutant("every hole was reported", "08", X + "covers", says(True)),
    Mutant("no hole was reported", "08", X + "covers", says(False)),
    # epochs
    Mutant("there is one epoch", "03 07 08", H + "epoch", says(0)),
    Mutant("no epoch is known", "05 07", H + "epoch", says(None)),
    Mutant("recoveries keep everything", "07 08", H + "keeps", says(True)),
    Mutant("recoveries keep nothing", "03 05 07 08", H + "keeps", says(False)),
    Mutant("every recovery was recorded", "07", "history.history.boundaries_of", says(())),
    # once, phantom, content, aborted
    Mutant("a redelivery may always have happened", "03 08", REDELIVERED, says(True)),
    Mutant("a redelivery never happened", "03 08", REDELIVERED, says(False)),
    Mutant("a chain may always go back", "08", "checks.log08_monotonic._must_go_on", says(False)),
    Mutant("a chain may never go back", "08", "checks.log08_monotonic._must_go_on", says(True)),
    Mutant("rubbish is nobody's", "04", "checks.log04_phantom.damaged_record", says(None)),
    Mutant("any nameless record will do", "04", "checks.log04_phantom._may_be", says(True)),
    Mutant("runs hide what came between", "04", "history.pairing._spoil_interleaved", says(())),
    Mutant("a completion says everything", "05", "history.pairing._payload", completion_alone),
    Mutant("info is failed", "06", "checks.log06_aborted.Outcome", SimpleNamespace(FAIL=Outcome.INFO)),
    # positions
    Mutant("what is read is durable", "07", "checks.log07_position._durable", says(True)),
    Mutant("nothing is durable", "07", "checks.log07_position._durable", says(False)),
    Mutant("of several appends the highest is asked", "08", "checks.log08_monotonic._falling", highest_even_if_concurrent),
    Mutant("numbers may always be used again", "08", "checks.log08_monotonic._holds", says(False)),
    # arrival
    Mutant("faults are no excuse", "09 23", "checks.log09_unseen.calm checks.log23_progress.calm", whole_time),
    Mutant("only after the last fault", "09 23", "checks.log09_unseen.calm checks.log23_progress.calm", after_the_last_fault),
    Mutant("everything is visible at once", "09 23", E + "visible_from", lambda self, append: append.t_done),
    Mutant("everything is ahead", "09", "checks.cursor.Cursor.ahead", says(True)),
    Mutant("nothing is ahead", "09 23", "checks.cursor.Cursor.ahead", says(False)),
    Mutant("nothing was got", "09", "checks.cursor.Cursor.got", says(False)),
    Mutant("what comes late came", "09", "checks.cursor.Cursor.got", lambda self, append, place: append.identity in self._first),
    Mutant("all groups are one", "09", E + "seen_by", group_zero_sees_all),
    Mutant("every drain is complete", "09 10", "history.model.Drain.complete", always(True)),
    Mutant("no drain is complete", "09 10", "history.model.Drain.complete", always(False)),
    # death
    Mutant("every sync reaches everything", "10", "checks.syncs.Syncs._reaches", says(True)),
    Mutant("no sync reaches anything", "10", "checks.syncs.Syncs._reaches", says(False)),
    Mutant("a handle is for ever", "10", "checks.syncs.Syncs._reopened", says(False)),
    Mutant("failed syncs spoil nothing", "10", "checks.syncs.Syncs._spoils", says(False)),
    Mutant("failed syncs spoil everything", "10", "checks.syncs.Syncs._spoils", says(True)),
    Mutant("tails are forgotten", "10", E + "_in_tail", says(False)),
    Mutant("everything is tail", "10", E + "_in_tail", says(True)),
    Mutant("the harness never stalls", "10", E + "_stall", always(0)),
    Mutant("all is owed once it is appended", "10", E + "_fulfilled", says(True)),
    Mutant("a reported loss is none", "10", "checks.losses._RETENTION", frozenset(range(5))),
    Mutant("a dropped reader shows a loss", "10", "checks.losses._RETENTION", frozenset()),
    Mutant("every crash is a death", "11", "checks.losses.Terms.grade", always("process")),
    Mutant("process death is judged by the power's promise", "10 11", "checks.assumptions.Declared.promise", promise_of_the_other),
    Mutant("no fault takes the power", "10 11 23", "history.crashes.outages_of", says([])),
    Mutant("no fault is a power loss", "10 11", "history.crashes.fault_kind history.power.fault_kind", says(FaultKind.PROCESS)),
    Mutant("a disk that is full kills", "10", "history.crashes.fault_kind history.power.fault_kind", without_other_kinds),
    Mutant("what power failed under is owed", "11", H + "before_crash", witnessed_by_victims),
    Mutant("both grades are blamed", "10 11", "checks.losses._not_of_others", lambda expectation, own, others, lost, doubts: lost),
    Mutant("neither grade is blamed", "10 11", "checks.losses._not_of_others", says([])),
    # progress
    Mutant("the harness is always awake", "23", "checks.log23_progress._awake", says(True)),
    Mutant("the harness is never awake", "23", "checks.log23_progress._awake", says(False)),
    Mutant("one beat will do", "23", "checks.log23_progress._awake", any_beat),
    Mutant("no wait has a cause to end", "23", "checks.log23_progress._had_cause", says(False)),
    Mutant("every wait has a cause to end", "23", "checks.log23_progress._had_cause", says(True)),
    Mutant("members wait for each other's records", "23", "checks.assumptions.Declared.alone", says(True)),
    Mutant("who died was never stuck", "23", "checks.log23_progress._end_of", dead_actors_are_never_stuck),
    Mutant("who went on was stuck", "23", "checks.log23_progress._end_of", abandoned_calls_hang),
    Mutant("late answers are answers", "23", "checks.log23_progress._first_answers", says([])),
    Mutant("drains never hang", "23", "checks.log23_progress._unfinished_drains", says([])),
    Mutant("the run is never over", "23", "checks.log23_progress._over", says(NEVER)),
    Mutant("general faults kill nobody", "23", "checks.log23_progress._under_general_fault", says(False)),
    Mutant("every fault kills", "23", "history.crashes.fault_over", says(NEVER)),
    Mutant("every kill is from outside", "23", "checks.log23_progress._OUTSIDE", frozenset(range(-64, 0))),
    Mutant("no kill is from outside", "23", "checks.log23_progress._OUTSIDE", frozenset()),
]


@pytest.mark.parametrize(
    ("clause", "mutant"), [(f"LOG-{n}", m) for m in MUTANTS for n in m.clauses.split()], ids=lambda x: getattr(x, "name", x)
)
def test_a_wrong_predicate_is_caught(clause: str, mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    from fireassay.spec.checks import log23_progress

    monkeypatch.setitem(ORIGINAL, "_end_of", log23_progress._end_of)
    for target in mutant.target.split():
        monkeypatch.setattr(ROOT + target, mutant.replacement)
    assert doubters(clause, CHECKS[clause])


def test_every_check_has_a_wrong_predicate() -> None:
    assert {f"LOG-{n}" for mutant in MUTANTS for n in mutant.clauses.split()} == set(CHECKS)
