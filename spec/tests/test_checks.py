"""The judge is judged: handmade histories, canaries, and sound logs simulated by the thousand."""

from collections.abc import Callable

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fireassay.spec.checks import CHECKS, Check, CheckResult, Declared, judge
from fireassay.spec.history.builder import HistoryBuilder
from fireassay.spec.history.history import History
from fireassay.spec.outcomes import Verdict
from fireassay.spec.tests.examples import scaled
from fireassay.spec.tests.handmade import HANDMADE, Handmade
from fireassay.spec.tests.plants import PLANTS
from fireassay.spec.tests.soundlog import Plan, declared_for, plans, simulate

ANOMALIES = {
    "LOG-01": {"reorder", "reader-disagreement"},
    "LOG-02": {"gap", "silent-late-start"},
    "LOG-03": {"duplicate-stored", "duplicate-delivered"},
    "LOG-04": {"phantom"},
    "LOG-05": {"corrupt", "overwritten-view"},
    "LOG-06": {"aborted-read"},
    "LOG-07": {"inconsistent-position", "read-then-lost"},
    "LOG-08": {"nonmonotonic-append", "nonmonotonic-read", "skip"},
    "LOG-09": {"unseen"},
    "LOG-10": {"lost-write-process"},
    "LOG-11": {"lost-write-power"},
    "LOG-23": {"stuck-writer", "stuck-reader", "unprovoked-death"},
}


def _built(case: Handmade) -> HistoryBuilder:
    builder = HistoryBuilder()
    case.build(builder)
    return builder


def _agrees(case: Handmade, check: Check) -> bool:
    result = check(_built(case).build(), case.declared)
    return result.verdict is case.verdict and {w.anomaly for w in result.witnesses} == set(case.anomaly.split())


@pytest.mark.parametrize("case", HANDMADE, ids=lambda case: f"{case.clause}-{case.kind}-{case.name}")
def test_each_handmade_history_gets_its_verdict(case: Handmade) -> None:
    result = CHECKS[case.clause](_built(case).build(), case.declared)
    assert result.verdict is case.verdict, (result.reasons, result.witnesses)
    assert {w.anomaly for w in result.witnesses} == set(case.anomaly.split())
    for found in result.witnesses:
        assert found.clause == case.clause
        assert found.anomaly in ANOMALIES[case.clause]
        assert 0 < len(found.rows) <= 32
        assert found.total >= len(found.rows)


@pytest.mark.parametrize("case", HANDMADE, ids=lambda case: f"{case.clause}-{case.name}")
def test_no_clean_or_info_history_is_convicted_by_any_other_check(case: Handmade) -> None:
    if case.kind in {"clean", "info", "unknown"} and case.verdict is not Verdict.FAIL:
        declared = case.declared if case.name != "without_total_order_producers_may_interleave" else None
        if declared is not None:
            failed = [r for r in judge(_built(case).build(), declared) if r.verdict is Verdict.FAIL]
            assert {r.clause for r in failed} <= _meant_to_fail(case.name), failed


def _meant_to_fail(name: str) -> set[str]:
    """One story may be told of several clauses."""
    return {case.clause for case in HANDMADE if case.name == name and case.verdict is Verdict.FAIL}


@pytest.mark.parametrize("case", HANDMADE, ids=lambda case: f"{case.clause}-{case.name}")
def test_handmade_histories_stay_small(case: Handmade) -> None:
    rows = [row for row in _built(case).rows() if row.op not in {29, 30, 31}]
    assert len(rows) <= 20


@pytest.mark.parametrize("clause", CHECKS)
def test_every_check_has_a_clean_an_info_and_a_violating_history_per_anomaly(clause: str) -> None:
    kinds = {case.kind for case in HANDMADE if case.clause == clause}
    assert kinds >= {"clean", "violating", "info"}
    violating = [case for case in HANDMADE if case.clause == clause and case.kind == "violating"]
    assert {anomaly for case in violating for anomaly in case.anomaly.split()} == ANOMALIES[clause]


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN, Verdict.NOT_RUN])
@pytest.mark.parametrize("clause", CHECKS)
def test_a_check_that_always_says_the_same_is_caught(clause: str, verdict: Verdict) -> None:
    def lazy(history: History, declared: Declared) -> CheckResult:
        return CheckResult(clause=clause, verdict=verdict)

    assert not all(_agrees(case, lazy) for case in HANDMADE if case.clause == clause)


def test_a_crashed_check_is_unknown_and_hides_no_other() -> None:
    def broken(history: History, declared: Declared) -> CheckResult:
        raise RuntimeError("oops")

    results = judge(_built(HANDMADE[0]).build(), Declared(), {"LOG-99": broken, **CHECKS})
    assert results[0].verdict is Verdict.UNKNOWN
    assert "oops" in results[0].reasons[0]
    assert len(results) == len(CHECKS) + 1


@pytest.mark.parametrize("clause", CHECKS)
def test_an_empty_history_is_never_a_pass(clause: str) -> None:
    assert CHECKS[clause](HistoryBuilder().build(), Declared(deadline_ns=1)).verdict in {Verdict.NOT_RUN, Verdict.UNKNOWN}


@pytest.mark.parametrize("clause", CHECKS)
def test_a_history_that_contradicts_itself_is_unknown(clause: str) -> None:
    h = HistoryBuilder()
    p = h.producer(1)
    p.append(0).ok(0)
    p.append(0).ok(1)
    h.reader().read((0, p.key(0)), (1, p.key(0)))
    result = CHECKS[clause](h.build(), Declared(deadline_ns=1))
    assert result.verdict is Verdict.UNKNOWN
    assert any("more than once" in reason for reason in result.reasons)


@scaled(300)
@example(Plan(False, (("overlap", 0, 1), ("batch", 1, 2), ("append", 0, 1), ("read-run", 0, 3))))  # a run ends at the first stranger
@given(plans())
def test_no_check_convicts_a_sound_log(plan: Plan) -> None:
    results = judge(simulate(plan), declared_for(plan))
    assert [r for r in results if r.verdict is Verdict.FAIL] == []
    assert [reason for r in results for reason in r.reasons if "crashed" in reason or "actor" in reason] == []


@pytest.mark.parametrize("anomaly", PLANTS)
@scaled(40)
@given(plan=plans(), data=st.data())
def test_one_planted_anomaly_is_convicted_by_its_clause(anomaly: str, plan: Plan, data: st.DataObject) -> None:
    plant: Callable[[Plan, Callable[[int], int]], History | None] = PLANTS[anomaly]
    history = plant(plan, lambda n: data.draw(st.integers(0, n - 1)))
    assume(history is not None)
    assert history is not None
    clause = next(clause for clause, names in ANOMALIES.items() if anomaly in names)
    result = CHECKS[clause](history, declared_for(plan))
    assert result.verdict is Verdict.FAIL, result.reasons
    assert anomaly in {w.anomaly for w in result.witnesses}
