"""The run directory: whole or unfinished, never overwritten, and what the judge reads is what was put in."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from fireassay.conformance.recorder.recorder import Actor, Recorder, Role
from fireassay.conformance.recorder.seal import unseal
from fireassay.conformance.run.directory import RunDirectory
from fireassay.conformance.run.junit import junit
from fireassay.conformance.run.model import CaseResult, FaultEntry, NotRun, TargetFacts, TrialEntry
from fireassay.conformance.targets import load, parse
from fireassay.reports.files import RunError
from fireassay.reports.run import open_run
from fireassay.spec.clauses import digest
from fireassay.spec.history.ops import Op
from fireassay.spec.outcomes import HarnessError

PLAINLOG = "py:fireassay.conformance.targets.plainlog:make"
MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
TRIAL = TrialEntry(trial="0001", scenario="steady", seed=3, repeat="again")
PASSED = CaseResult(case="a.py::one", clauses=("LOG-01", "LOG-02"), outcome="passed", seconds=0.25, message="", through="object")
FAILED = CaseResult(case="a.py::two", clauses=("LOG-05",), outcome="failed", seconds=1.0, message="a\x00b <&> \ud800", through="driver")
SKIPPED = CaseResult(case="experiment:x", clauses=(), outcome="skipped", seconds=0.0, message="no disk", through="object")


def begun(path: Path | None, place: Path, seed: int = 7) -> RunDirectory:
    facts = TargetFacts.of(parse(PLAINLOG), load(PLAINLOG, place))
    return RunDirectory.create(path, target=facts, seed=seed, mode="quick", deadline_ns=5, epsilon_ns=2, now=lambda: MOMENT)


def record(run: RunDirectory, name: str = "0001-harness-1", nonce: int | None = None) -> None:
    actors = [Actor(actor=1, role=Role.HARNESS)]
    with Recorder.open(run.recordings / name, actors, capacity=16, nonce=run.nonce if nonce is None else nonce) as recorder:
        recorder.event(Op.RUN_END, actor=1)


def content(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def test_a_finished_run_holds_what_it_was_given_and_the_judge_opens_it(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", tmp_path / "place")
    record(run)
    run.trials.append(TRIAL)
    run.faults.append(
        FaultEntry(trial="0001", id=1, kind="kill", where="random", nth=None, planned=True, fired=False, victim=2, reason="late")
    )
    run.not_run.append(NotRun("power", "no root"))
    run.cases += [PASSED, FAILED, SKIPPED]
    path = run.finish()
    manifest = content(path / "manifest.json")
    assert (manifest["schema"], manifest["complete"], manifest["run"], manifest["seed"]) == ("fireassay.run/1", True, "run", 7)
    assert manifest["started"] == manifest["ended"] == "2026-01-02T03:04:05.678Z"
    assert manifest["spec"]["clauses"] == digest()
    assert manifest["target"]["spec"] == PLAINLOG
    assert manifest["environment"]["cpus"] > 0
    assert manifest["versions"]["python"]
    assert content(path / "faults.json")["not_run"] == [{"kind": "power", "reason": "no root"}]
    assert [case["outcome"] for case in content(path / "cases.json")["cases"]] == ["passed", "failed", "skipped"]
    assert [(name, row.op) for name, _, row in unseal(path / "history")] == [("0001-harness-1", Op.RUN_END)]
    opened = open_run(path)
    assert opened.manifest.nonce == run.nonce
    assert [case.outcome for case in opened.cases] == ["passed", "failed", "skipped"]
    assert opened.notes == ()


def test_every_file_is_digested_and_nothing_else_lies_there(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", tmp_path / "place")
    record(run)
    run.trials.append(TRIAL)
    path = run.finish()
    digests = content(path / "digests.json")["files"]
    lying = {entry.relative_to(path).as_posix(): entry for entry in path.rglob("*") if entry.is_file()}
    assert set(lying) - {"digests.json"} == set(digests)
    assert {"manifest.json", "faults.json", "cases.json", "junit.xml", "history/_actors.json"} <= set(digests)
    for name, said in digests.items():
        assert hashlib.sha256(lying[name].read_bytes()).hexdigest() == said


def test_a_run_that_broke_off_is_never_taken_for_whole(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", tmp_path / "place")
    record(run)
    assert content(run.path / "manifest.json")["complete"] is False
    assert not (run.path / "digests.json").exists()
    with pytest.raises(RunError, match="did not come to its end"):
        open_run(run.path)


def test_a_run_without_trials_has_cases_alone(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", tmp_path / "place")
    run.cases.append(PASSED)
    path = run.finish()
    assert not (path / "history").exists()
    assert open_run(path).sealed is None


def test_nothing_is_ever_overwritten(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with pytest.raises(HarnessError, match="never overwrites"):
        begun(tmp_path / "run", tmp_path / "place")
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(HarnessError, match=r"exists|cannot be made"):
            begun(path, tmp_path / "place")
    run = begun(tmp_path / "other", tmp_path / "place")
    run.finish()
    with pytest.raises(HarnessError, match="finished already"):
        run.finish()


def test_a_run_without_a_name_is_called_by_time_target_and_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = [begun(None, tmp_path / "place", seed=42).path for _ in range(2)]
    stem = "runs/20260102T030405Z-fireassay.conformance.targets.plainlog-make-42"
    assert [str(name) for name in names] == [stem, f"{stem}-2"]


@pytest.mark.parametrize(
    ("recording", "nonce", "trials", "says"),
    [
        ("0002-harness-1", None, [TRIAL], "0002-harness-1 is a recording of no trial"),
        ("0001-harness-1", 5, [TRIAL], "was recorded by another run"),
        ("0001-harness-1", None, [TRIAL, TRIAL], "two trials have one name"),
        (None, None, [TRIAL], "nothing was recorded"),
    ],
)
def test_recordings_that_do_not_fit_stop_the_run(
    tmp_path: Path, recording: str | None, nonce: int | None, trials: list[TrialEntry], says: str
) -> None:
    run = begun(tmp_path / "run", tmp_path / "place")
    if recording is not None:
        record(run, recording, nonce)
    run.trials += trials
    with pytest.raises(HarnessError, match=says):
        run.finish()
    assert not (run.path / "digests.json").exists()


def test_junit_counts_what_happened_and_is_xml_whatever_a_message_holds() -> None:
    suites = ElementTree.fromstring(junit([PASSED, FAILED, SKIPPED], "a run"))
    assert [suites.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["3", "1", "0", "1"]
    cases = list(suites.iter("testcase"))
    assert [case.get("name") for case in cases] == ["one", "two", "experiment:x"]
    failure = cases[1].find("failure")
    assert failure is not None
    assert failure.text == "a\ufffdb <&> \ufffd"
    assert [p.get("value") for p in cases[0].iter("property") if p.get("name") == "clause"] == ["LOG-01", "LOG-02"]
