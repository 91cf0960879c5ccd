"""How verdicts fold: trials, cases, promises, faults; and that nothing but evidence passes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fireassay.reports.engine_python import judge_python
from fireassay.reports.run import Run, open_run
from fireassay.reports.tests.made_runs import PROMISES, case, clean, digest_again, edit, fault, lossy, make_run
from fireassay.reports.verdicts import SHOWN_WITNESSES, ClauseVerdict, Verdicts, fold_trials, verdicts_of
from fireassay.spec.checks import CHECKS, CheckResult
from fireassay.spec.clause import Method, System
from fireassay.spec.clauses import ALL, BY_ID
from fireassay.spec.history.builder import HistoryBuilder
from fireassay.spec.history.ops import Op
from fireassay.spec.outcomes import Verdict
from fireassay.spec.promises import Promises


def judged(path: Path, stories: Sequence[Any] = (clean,), **made: Any) -> Verdicts:
    return of(open_run(make_run(path / "run", stories, **made)))


def of(run: Run) -> Verdicts:
    return verdicts_of(run, "python", judge_python(run, lambda text: None))


def said(found: Verdicts, clause: str) -> ClauseVerdict:
    return next(each for each in found.clauses if each.clause.id == clause)


def nothing_happened(h: HistoryBuilder) -> None:
    h.event(Op.HEARTBEAT)


def contradicting(h: HistoryBuilder) -> None:
    """Its actor speaks of a call that was never begun, so nothing can be said of anything."""
    clean(h)
    p = h.producer(9)
    h.row(p.actor, Op.APPEND, next(phase for phase in type(h.rows()[0].phase) if phase.name == "OK"), key=p.key(1), call=99)


# -- trials


@pytest.mark.parametrize(
    ("verdicts", "folded"),
    [
        ("pass fail unknown not-run", "fail"),
        ("pass unknown not-run", "unknown"),
        ("pass pass-with-tolerated not-run", "pass-with-tolerated"),
        ("pass not-run not-applicable", "pass"),
        ("not-run not-applicable", "not-run"),
        ("not-applicable", "not-applicable"),
        ("", "not-run"),
    ],
)
def test_trials_fold(verdicts: str, folded: str) -> None:
    assert fold_trials(Verdict(word) for word in verdicts.split()) is Verdict(folded)
    assert fold_trials(Verdict(word) for word in reversed(verdicts.split())) is Verdict(folded)


def test_a_sound_run_passes_what_it_shows_and_only_that(tmp_path: Path) -> None:
    found = judged(tmp_path)
    assert said(found, "LOG-10").verdict is Verdict.PASS
    assert said(found, "LOG-10").evidence["owed"] == 2
    assert said(found, "LOG-06").verdict is Verdict.NOT_RUN
    assert said(found, "LOG-06").reasons == ("no trial had an occasion for it",)
    assert said(found, "LOG-13").reasons == ("neither a check nor a case of this run speaks of it",)
    assert found.headline is Verdict.PASS


def test_every_clause_has_a_verdict_and_every_silence_a_reason(tmp_path: Path) -> None:
    found = judged(tmp_path)
    assert [each.clause for each in found.clauses] == list(ALL)
    shown = {Verdict.PASS, Verdict.TOLERATED}
    assert [each.clause.id for each in found.clauses if each.verdict not in shown and not each.reasons] == []


def test_one_failing_trial_convicts_and_brings_its_witness(tmp_path: Path) -> None:
    found = judged(tmp_path, [clean, clean, lossy])
    lost = said(found, "LOG-10")
    assert lost.verdict is Verdict.FAIL
    assert lost.trials == {"pass": 2, "fail": 1}
    assert [(each.trial, each.witness.anomaly) for each in lost.witnesses] == [("0003", "lost-write-process")]
    assert lost.witnesses[0].witness.faults
    assert found.headline is Verdict.FAIL


def test_a_trial_without_occasion_spoils_nothing(tmp_path: Path) -> None:
    found = said(judged(tmp_path, [nothing_happened, clean]), "LOG-02")
    assert (found.verdict, found.trials) == (Verdict.PASS, {"not-run": 1, "pass": 1})


def test_nothing_that_happened_shows_nothing(tmp_path: Path) -> None:
    found = judged(tmp_path, [nothing_happened, nothing_happened])
    assert found.headline is Verdict.NOT_RUN
    assert not [each.clause.id for each in found.clauses if each.verdict in (Verdict.PASS, Verdict.TOLERATED)]


def test_no_trial_and_no_case_is_no_pass(tmp_path: Path) -> None:
    assert judged(tmp_path, []).headline is Verdict.NOT_RUN


def test_a_history_that_contradicts_itself_is_unknown_beside_trials_that_pass(tmp_path: Path) -> None:
    found = said(judged(tmp_path, [clean, contradicting]), "LOG-02")
    assert found.verdict is Verdict.UNKNOWN
    assert found.reasons[0].startswith("trial 0002: actor")


def test_a_trial_in_doubt_neither_convicts_nor_passes(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run", [clean, lossy])
    edit(
        path / "history" / "_actors.json",
        lambda d: [each.update(lost=1) for each in d["recordings"] if each["name"][:4] == "0002"] and None,
    )
    digest_again(path)
    found = said(of(open_run(path)), "LOG-10")
    assert found.verdict is Verdict.UNKNOWN
    assert "lost 1 rows" in found.reasons[0]
    assert found.witnesses == ()
    assert found.evidence["suspected"] == 1


def test_an_engine_that_says_nothing_of_a_trial_leaves_it_unknown(tmp_path: Path) -> None:
    run = open_run(make_run(tmp_path / "run", [clean, clean]))
    results = dict(judge_python(run, lambda text: None))
    del results["0002"]
    found = verdicts_of(run, "python", results)
    assert {said(found, clause).verdict for clause in CHECKS if said(found, clause).verdict is not Verdict.NOT_APPLICABLE} == {
        Verdict.UNKNOWN
    }
    assert "the engine said nothing of it" in said(found, "LOG-01").reasons[0]


def test_an_engine_that_leaves_a_check_out_leaves_it_unknown(tmp_path: Path) -> None:
    run = open_run(make_run(tmp_path / "run", [clean]))
    results = {trial: tuple(r for r in each if r.clause != "LOG-02") for trial, each in judge_python(run, lambda text: None).items()}
    assert said(verdicts_of(run, "python", results), "LOG-02").verdict is Verdict.UNKNOWN


def test_a_crashed_check_is_unknown(tmp_path: Path) -> None:
    run = open_run(make_run(tmp_path / "run", [clean]))
    crashed = CheckResult(clause="LOG-02", verdict=Verdict.UNKNOWN, reasons=("the check crashed: KeyError: 1",))
    results = {"0001": tuple(crashed if r.clause == "LOG-02" else r for r in judge_python(run, lambda text: None)["0001"])}
    assert said(verdicts_of(run, "python", results), "LOG-02").reasons == ("trial 0001: the check crashed: KeyError: 1",)


# -- tolerated anomalies


def test_what_a_clause_tolerates_does_not_convict_and_is_told(tmp_path: Path) -> None:
    run = open_run(make_run(tmp_path / "run", [clean, lossy]))
    clauses = [replace(each, tolerated=("lost-write-process",)) if each.id == "LOG-10" else each for each in ALL]
    found = said(verdicts_of(run, "python", judge_python(run, lambda text: None), clauses), "LOG-10")
    assert (found.verdict, found.tolerated) == (Verdict.TOLERATED, ("lost-write-process",))
    assert found.witnesses_total == 1


def test_one_anomaly_beyond_the_tolerated_convicts(tmp_path: Path) -> None:
    run = open_run(make_run(tmp_path / "run", [lossy]))
    clauses = [replace(each, tolerated=("something-else",)) if each.id == "LOG-10" else each for each in ALL]
    assert said(verdicts_of(run, "python", judge_python(run, lambda text: None), clauses), "LOG-10").verdict is Verdict.FAIL


def test_many_witnesses_are_all_counted_and_few_are_shown(tmp_path: Path) -> None:
    found = said(judged(tmp_path, [lossy] * (SHOWN_WITNESSES + 3)), "LOG-10")
    assert (found.witnesses_total, len(found.witnesses)) == (SHOWN_WITNESSES + 3, SHOWN_WITNESSES)
    assert len({each.trial for each in found.witnesses}) == SHOWN_WITNESSES


# -- cases


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        ("passed", "pass"),
        ("failed", "fail"),
        ("error", "unknown"),
        ("skipped", "not-run"),
        ("passed failed error skipped", "fail"),
        ("passed error skipped", "unknown"),
        ("passed skipped", "not-run"),
    ],
)
def test_cases_fold(tmp_path: Path, outcomes: str, verdict: str) -> None:
    cases = [case("CHR-01", outcome=outcome, name=f"test_{n}", message="why") for n, outcome in enumerate(outcomes.split())]
    found = said(judged(tmp_path, cases=cases), "CHR-01")
    assert found.verdict is Verdict(verdict)
    assert sum(found.cases.values()) == len(cases)


def test_a_case_that_ran_in_another_way_is_not_spoilt_by_its_skipped_twin(tmp_path: Path) -> None:
    cases = [case("CHR-01", name="test_a[1]"), case("CHR-01", name="test_a[2]", outcome="skipped", message="no", through="driver")]
    assert said(judged(tmp_path, cases=cases), "CHR-01").verdict is Verdict.PASS


def test_a_case_that_does_not_apply_stands_apart(tmp_path: Path) -> None:
    apart = case("CHR-01", name="test_b", outcome="skipped", message="Skipped: not applicable: nothing is promised")
    assert said(judged(tmp_path / "1", cases=[case("CHR-01"), apart]), "CHR-01").verdict is Verdict.PASS
    assert said(judged(tmp_path / "2", cases=[apart]), "CHR-01").verdict is Verdict.NOT_APPLICABLE


def test_a_failed_case_convicts_beside_a_check_that_passes(tmp_path: Path) -> None:
    found = said(judged(tmp_path, cases=[case("LOG-02", outcome="failed", message="a gap\nin two lines")]), "LOG-02")
    assert found.verdict is Verdict.FAIL
    assert found.reasons == ("test_case through object failed: a gap",)


def test_a_failing_check_is_not_outvoted_by_a_case(tmp_path: Path) -> None:
    assert said(judged(tmp_path, [lossy], cases=[case("LOG-10")]), "LOG-10").verdict is Verdict.FAIL


def test_a_check_without_occasion_does_not_spoil_the_case_that_shows_the_clause(tmp_path: Path) -> None:
    assert said(judged(tmp_path, cases=[case("LOG-06")]), "LOG-06").verdict is Verdict.PASS


def test_systems_without_a_target_are_not_run_and_outside(tmp_path: Path) -> None:
    found = judged(tmp_path, cases=[case("CHR-01")])
    assert {each.clause.system for each in found.in_scope} == {System.LOG, System.CHR}
    outside = said(found, "OMB-01")
    assert outside.verdict is Verdict.NOT_RUN
    assert outside.reasons == ("no case of the system OMB was run: the target is made",)


def test_what_people_read_is_not_run_and_says_so(tmp_path: Path) -> None:
    read = next(each for each in ALL if set(each.verified) == {Method.INSPECTION} and each.system is System.CHR)
    assert "people read it" in said(judged(tmp_path, cases=[case("CHR-01")]), read.id).reasons[0]


# -- promises


def test_what_is_not_promised_is_not_applicable(tmp_path: Path) -> None:
    found = said(judged(tmp_path, [lossy], promises=Promises(position=PROMISES.position)), "LOG-10")
    assert found.verdict is Verdict.NOT_APPLICABLE
    assert found.reasons == ("not promised: records survive process death",)
    assert found.witnesses == ()


def test_witnesses_against_what_is_not_promised_are_not_shown(tmp_path: Path) -> None:
    run = open_run(make_run(tmp_path / "run", [lossy]))
    clauses = [replace(each, needs=("seekable",)) if each.id == "LOG-10" else each for each in ALL]
    found = said(verdicts_of(run, "python", judge_python(run, lambda text: None), clauses), "LOG-10")
    assert (found.verdict, found.witnesses, found.witnesses_total) == (Verdict.NOT_APPLICABLE, (), 0)
    assert found.trials == {"fail": 1}


def test_a_case_that_fails_where_nothing_is_promised_is_told(tmp_path: Path) -> None:
    found = said(judged(tmp_path, promises=Promises(), cases=[case("LOG-10", outcome="failed")]), "LOG-10")
    assert found.verdict is Verdict.NOT_APPLICABLE
    assert "1 of its cases did not pass" in found.reasons[1]


# -- faults


def resting(faults: list[dict[str, Any]], path: Path, stories: Sequence[Any] = (clean,)) -> ClauseVerdict:
    return said(judged(path, stories, faults=faults), "LOG-10")


def missed(number: int, **changed: Any) -> dict[str, Any]:
    return fault("0001", id=100 + number, fired=False, reason="never reached", **changed)


def test_faults_that_all_fired_leave_the_verdict(tmp_path: Path) -> None:
    assert resting([fault("0001")], tmp_path).verdict is Verdict.PASS


def test_a_place_that_no_fault_reached_leaves_the_clause_unknown(tmp_path: Path) -> None:
    found = resting([fault("0001"), missed(1, kind="failpoint", where="chr.roll", nth=1)], tmp_path)
    assert found.verdict is Verdict.UNKNOWN
    assert "process death: 1 of 2 planned faults fired; not all at chr.roll (0 of 1)" in found.reasons[0]


def test_nine_of_ten_are_enough_and_eight_are_not(tmp_path: Path) -> None:
    stories = [clean] * 9
    fired = [fault(f"{n:04}") for n in range(1, 10)]
    assert resting([*fired, missed(1)], tmp_path / "nine", stories).verdict is Verdict.PASS
    assert resting([*fired[:8], missed(1), missed(2)], tmp_path / "eight", stories).verdict is Verdict.UNKNOWN


def test_one_place_never_reached_is_too_many_however_many_fired(tmp_path: Path) -> None:
    fired = [fault(f"{n:04}") for n in range(1, 20)]
    never = missed(1, kind="failpoint", where="chr.roll", nth=1)
    assert resting([*fired, missed(1)], tmp_path / "reached", [clean] * 19).verdict is Verdict.PASS
    assert resting([*fired, never], tmp_path / "never", [clean] * 19).verdict is Verdict.UNKNOWN


def test_unfired_faults_acquit_nobody(tmp_path: Path) -> None:
    assert resting([missed(1)], tmp_path, [lossy]).verdict is Verdict.FAIL


def test_faults_of_which_none_fired_are_unknown_not_not_run(tmp_path: Path) -> None:
    assert resting([missed(1)], tmp_path, [nothing_happened]).verdict is Verdict.UNKNOWN


def test_what_does_not_rest_on_a_grade_does_not_care(tmp_path: Path) -> None:
    found = judged(tmp_path, faults=[fault("0001"), missed(1, kind="power", where="ext4")])
    assert said(found, "LOG-10").verdict is Verdict.PASS
    assert said(found, "LOG-02").verdict is Verdict.PASS
    assert Method.POWER in BY_ID["LOG-07"].verified
    assert said(found, "LOG-07").verdict is Verdict.UNKNOWN


def test_faults_that_were_not_planned_are_not_missed(tmp_path: Path) -> None:
    assert resting([fault("0001"), missed(1, kind="failpoint", where="chr.roll", planned=False)], tmp_path).verdict is Verdict.PASS


def test_a_clause_that_could_not_be_tried_says_why(tmp_path: Path) -> None:
    promises = replace(PROMISES, survives=replace(PROMISES.survives, power_loss=PROMISES.survives.process_death))
    found = judged(tmp_path, promises=promises, not_run=[{"kind": "power", "reason": "no loop device"}])
    assert said(found, "LOG-11").verdict is Verdict.NOT_RUN
    assert said(found, "LOG-11").reasons == ("no power loss could be made: power: no loop device",)
