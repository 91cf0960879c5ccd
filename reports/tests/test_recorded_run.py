"""A run as the examination makes it, with its own recorder, workload and run directory: the judge takes it as it lies."""

from pathlib import Path

import pytest

from fireassay.conformance.recorder.recorder import Actor, Recorder, Role
from fireassay.conformance.run.directory import RunDirectory
from fireassay.conformance.run.model import CaseResult, NotRun, TargetFacts, TrialEntry
from fireassay.conformance.targets import parse
from fireassay.conformance.targets.plainlog import make
from fireassay.conformance.workload.drain import drain
from fireassay.conformance.workload.recorded import RecordedReader, RecordedWriter
from fireassay.conformance.workload.scribe import Scribe
from fireassay.reports.files import RunError
from fireassay.reports.judging import judge_run
from fireassay.spec.outcomes import Verdict
from fireassay.spec.ports import Target

TRIAL = TrialEntry(trial="0001", scenario="steady", seed=7, repeat="fireassay run --seed 7")


def record(run: RunDirectory, target: Target) -> None:
    """Ten records and a sentinel are written, read by one reader and drained by another."""
    roles = {1: Role.HARNESS, 2: Role.PRODUCER, 3: Role.READER, 4: Role.DRAIN}
    actors = [Actor(actor=number, role=role, name=role.name.lower()) for number, role in roles.items()]
    with Recorder.open(run.recordings / "0001-all-1", actors, capacity=256, nonce=run.nonce, epsilon_ns=1000) as recorder:
        as_writer, as_reader, as_drain = (Scribe(recorder=recorder, actor=number, stream=1, nonce=run.nonce) for number in (2, 3, 4))
        writer = RecordedWriter.open(target, "orders", as_writer, producer=1)
        writer.append([64] * 10)
        reader = RecordedReader.open(target, "orders", as_reader, name="one")
        reader.read(100)
        writer.sync()
        writer.append_sentinel(0)
        writer.close()
        last = RecordedReader.open(target, "orders", as_drain, name="two")
        assert drain(last, 0, deadline_s=10.0).complete
        reader.close()
        last.close()


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    target = make(tmp_path / "place", {})
    facts = TargetFacts.of(parse("plainlog"), target)
    made = RunDirectory.create(tmp_path / "run", target=facts, seed=7, mode="quick", deadline_ns=5_000_000_000, epsilon_ns=1000)
    record(made, target)
    made.trials.append(TRIAL)
    made.not_run.append(NotRun("power", "no loop device"))
    case = CaseResult(case="test_x", clauses=("LOG-28",), outcome="passed", seconds=0.1, message="", through="object")
    made.cases.append(case)
    return made


def test_a_finished_run_is_judged(run: RunDirectory) -> None:
    found = judge_run(run.finish(), engine="python")
    said = {each["clause"]: Verdict(each["verdict"]) for each in found.verdicts["clauses"]}
    assert found.headline is Verdict.PASS
    assert {said[clause] for clause in ("LOG-01", "LOG-02", "LOG-03", "LOG-04", "LOG-05", "LOG-28")} == {Verdict.PASS}
    assert said["LOG-10"] is Verdict.NOT_RUN
    assert found.verdicts["doubts"] == {}
    assert found.verdicts["notes"] == []
    assert "another edition" not in " ".join(found.certificate["not_verified"]["general"])


def test_a_run_that_broke_off_is_not_judged(run: RunDirectory) -> None:
    with pytest.raises(RunError, match=r"digests\.json: is missing: the run did not come to its end"):
        judge_run(run.path, engine="python")
