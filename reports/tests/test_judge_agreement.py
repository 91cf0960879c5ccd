"""Two implementations, one meaning: the Spark judge and the plain checks say the same of every history."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fireassay.reports.judge import engine
from fireassay.reports.judge.clauses import CLAUSES
from fireassay.reports.judge.deaths import Deaths
from fireassay.reports.judge.findings import Case, Verdicts
from fireassay.reports.judge.owed import Excuses, Owed, Seen
from fireassay.reports.judge.trial import Trial
from fireassay.reports.spark import spark_session
from fireassay.reports.tests.told import SEED, Tale, differences, handmade, made, seal_tales
from fireassay.spec.checks import CHECKS, CheckResult
from fireassay.spec.history.row import pack
from fireassay.spec.outcomes import Verdict


def key(result: CheckResult) -> tuple[Any, ...]:
    """All but explanations and reasons, which are worded freely; counts only of a history that does not contradict itself."""
    witnesses = sorted((w.anomaly, w.stream, w.total, sorted(map(pack, w.rows)), list(map(pack, w.faults))) for w in result.witnesses)
    counts = {} if "suspected" in result.counts else dict(result.counts)
    return result.clause, result.verdict, bool(result.reasons), counts, witnesses


def disagreements(tales: list[Tale], directory: Path) -> tuple[list[str], Counter[tuple[str, Verdict]]]:
    seal_tales(tales, directory)
    actors = {tale.trial: list(tale.told.actors.values()) for tale in tales}
    with spark_session("agreement", "local[2]") as session:
        judged = engine.judge(session, str(directory), actors, {tale.trial: tale.declared for tale in tales})
    found: list[str] = []
    seen: Counter[tuple[str, Verdict]] = Counter()
    for tale in tales:
        plain = tale.plainly() if tale.told.rows else ()
        for one, two in zip(plain, judged.get(tale.trial, ()), strict=True):
            seen[one.clause, one.verdict] += 1
            if key(one) != key(two):
                found.append(f"{tale.name} {tale.declared}: plainly {one}; by Spark {two}")
    return found, seen


def agree(count: int, tmp_path: Path) -> None:
    print(f"FIREASSAY_SEED={SEED}")
    found, seen = disagreements(handmade() + made(count), tmp_path / "history")
    assert found == []
    for clause in CHECKS:
        assert {verdict for c, verdict in seen if c == clause} >= {Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN}, clause


def test_spark_and_the_plain_checks_agree(tmp_path: Path) -> None:
    agree(150, tmp_path)


@pytest.mark.long
def test_spark_and_the_plain_checks_agree_on_thousands(tmp_path: Path) -> None:
    agree(2000, tmp_path)


def test_the_stages_agree_with_the_plain_checks_on_histories_of_every_kind() -> None:
    print(f"FIREASSAY_SEED={SEED}")
    assert [text for tale in made(400, begin=SEED + 1) for text in differences(tale)] == []


def test_a_trial_without_a_row_has_no_result_and_a_clause_nobody_judges_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "CHECKS", {**CHECKS, "LOG-99": None})
    results = engine._results([{"trial": "1", "clause": "LOG-01", "witness": -1, "name": "pass", "counts": "{}", "reasons": []}], {})
    said = {result.clause: result for result in results["1"]}
    assert said["LOG-01"].verdict is Verdict.PASS
    assert said["LOG-99"].verdict is Verdict.UNKNOWN
    assert said["LOG-99"].reasons == ("not judged by this engine yet",)


def test_a_check_that_crashes_is_unknown_and_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(case: Case) -> Verdicts:
        raise RuntimeError("oops")

    tale = handmade()[0]
    assert differences(tale) == []
    monkeypatch.setattr("fireassay.reports.judge.trials.CLAUSES", {**CLAUSES, "LOG-04": broken})
    (text,) = differences(tale)
    assert "LOG-04" in text
    assert "oops" in text


# -- a judge that is a little wrong disagrees

STORIES = handmade()


def never(self: Any, *args: Any) -> Any:
    return np.zeros_like(getattr(args[0], "actor", args[0]), dtype=bool)


MUTANTS: list[tuple[str, type, str, Any]] = [
    ("nothing is before anything", Trial, "before", lambda self, a, b: np.zeros_like(np.equal(a.actor, b.actor))),
    ("nothing is redelivered", Trial, "maybe_redelivered", lambda self, one, two: False),
    ("epochs are not known", Deaths, "epochs", lambda self, calls, stream: np.full_like(calls.actor, -1)),
    ("recoveries keep everything", Deaths, "keeps", lambda self, stream, position, one, later: True),
    ("nobody dies after a crash", Deaths, "after_crash", never),
    ("nothing was before a crash", Deaths, "before_crash", never),
    ("nothing was taken back", Deaths, "taken_back", lambda self, fault: 1 << 62),
    ("there are no power losses", Deaths, "_outages", lambda self, *args: ([], set(), frozenset())),
    ("everything is retained", Owed, "retained", lambda self, stream, position, until: np.ones_like(position, dtype=bool)),
    ("nothing is in the tail", Owed, "_in_tail", lambda self, crash: np.zeros(len(self.a), dtype=bool)),
    ("all is fulfilled", Owed, "_fulfilled", lambda self, crash: np.ones(len(self.a), dtype=bool)),
    ("handles last", Owed, "_through_another_handle", lambda self, asked, sync: np.zeros(len(self.a), dtype=bool)),
    ("nothing is excused", Excuses, "cause", lambda self, position: 0),
    ("every hole is reported", Excuses, "covers", lambda self, begin, end: True),
    ("nothing was seen", Seen, "of", lambda self, a: np.zeros(len(a), dtype=bool)),
]


@pytest.mark.parametrize(("owner", "name", "wrong"), [m[1:] for m in MUTANTS], ids=[m[0] for m in MUTANTS])
def test_a_judge_that_is_a_little_wrong_disagrees(owner: type, name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, name, wrong)
    assert any(differences(tale) for tale in STORIES)
