"""The judge is judged in every run: a trial on a broken log counts for no clause, and where it is not convicted nothing passes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fireassay.reports.files import RunError
from fireassay.reports.judging import judge_run
from fireassay.reports.page import html
from fireassay.reports.tests.made_runs import clean, digest_again, edit, lossy, make_run
from fireassay.spec.history.builder import HistoryBuilder


def corrupting(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(1, digest=7).ok(position=0)
    r.read((0, p.key(1)), digest=8)


def run_with(path: Path, stories: Sequence[Any], canaries: Sequence[str]) -> Path:
    """A run whose trials are canaries of these clauses; an empty word is a trial like any other."""
    made = make_run(path / "run", stories)
    edit(made / "manifest.json", lambda d: [trial.update(canary=clause) for trial, clause in zip(d["trials"], canaries, strict=True)])
    digest_again(made)
    return made


def verdict_of(judged: Any, clause: str) -> str:
    return str(next(each["verdict"] for each in judged.verdicts["clauses"] if each["clause"] == clause))


def test_a_canary_that_is_convicted_convicts_nobody_else(tmp_path: Path) -> None:
    judged = judge_run(run_with(tmp_path, [clean, corrupting], ["", "LOG-05"]), engine="python")
    assert judged.verdicts["headline"] == "pass"
    assert verdict_of(judged, "LOG-05") == "pass"
    assert judged.certificate["canaries"] == [{"trial": "0002", "clause": "LOG-05", "verdict": "fail"}]
    assert "convicted of LOG-05 in trial 0002, as it must be" in html(judged)


def test_a_canary_shows_nothing_by_itself(tmp_path: Path) -> None:
    judged = judge_run(run_with(tmp_path, [corrupting], ["LOG-05"]), engine="python")
    assert {each["verdict"] for each in judged.verdicts["clauses"]} <= {"not-run", "not-applicable"}


def test_where_the_canary_lives_nothing_passes(tmp_path: Path) -> None:
    judged = judge_run(run_with(tmp_path, [clean, clean], ["", "LOG-05"]), engine="python")
    assert judged.verdicts["headline"] == "unknown"
    assert "pass" not in {each["verdict"] for each in judged.verdicts["clauses"]}
    reasons = next(each["reasons"] for each in judged.verdicts["clauses"] if each["clause"] == "LOG-10")
    assert reasons[0].startswith("The canary of trial 0002")
    assert any(sentence.startswith("The canary of trial 0002") for sentence in judged.certificate["not_verified"]["general"])
    assert "NOT convicted of LOG-05 in trial 0002" in html(judged)


def test_what_was_convicted_stays_convicted_where_the_canary_lives(tmp_path: Path) -> None:
    judged = judge_run(run_with(tmp_path, [lossy, clean], ["", "LOG-05"]), engine="python")
    assert verdict_of(judged, "LOG-10") == "fail"


def test_a_run_without_a_canary_says_so(tmp_path: Path) -> None:
    judged = judge_run(make_run(tmp_path / "run"), engine="python")
    assert any(sentence.startswith("No canary was judged") for sentence in judged.certificate["not_verified"]["general"])


def test_a_canary_of_what_no_check_decides_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="'LOG-99', for which this version has no check"):
        judge_run(run_with(tmp_path, [clean], ["LOG-99"]), engine="python")
