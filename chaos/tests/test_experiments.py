"""The shipped experiments, under the Chaos Toolkit alone and under `fireassay chaos run`; and what a journal means."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fireassay.chaos import experiments
from fireassay.chaos.capabilities import PROBES, try_one
from fireassay.chaos.engines import ENGINES
from fireassay.chaos.gate import Exit, gate
from fireassay.chaos.tests.benches import all_end, descendants, faulty, mutant, until
from fireassay.cli.main import main
from fireassay.reports.judging import judge_run
from fireassay.reports.run import RunError, open_run

BOUND_S = 120.0


def environment(**more: object) -> dict[str, str]:
    path = os.pathsep.join(each or os.getcwd() for each in sys.path)
    return {**os.environ, "PYTHONPATH": path, **{key: str(value) for key, value in more.items()}}


def chaos(where: Path, *arguments: object, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from fireassay.cli.main import main; main()", "chaos", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=BOUND_S, cwd=where, env=environment(**more))


def said(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["exit"] == done.returncode
    return found


def test_the_toolkit_alone_runs_a_shipped_experiment_and_the_run_is_judged(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "chaostoolkit", "--no-version-check", "run", str(experiments.path("kill-random"))]
    settings = environment(FIREASSAY_OUT=tmp_path / "run", FIREASSAY_AMOUNT=2, FIREASSAY_SEED=5)
    done = subprocess.run(command, capture_output=True, text=True, timeout=BOUND_S, cwd=tmp_path, env=settings)
    assert done.returncode == 0, done.stderr
    assert gate(json.loads((tmp_path / "journal.json").read_text())).exit is Exit.HELD
    judged = judge_run(tmp_path / "run", engine="python")
    assert judged.run.notes == (), "the journal may lie there"
    (deaths,) = [grade for grade in judged.certificate["crash_grades"] if grade["grade"] == "process death"]
    assert (deaths["planned"], deaths["fired"], deaths["verdict"]) == (2, 2, "pass")
    assert json.loads((tmp_path / "run" / "journal.json").read_text())["fireassay"]["whole"]


@pytest.mark.parametrize(
    ("name", "amount"),
    [
        ("power-loss", 2),
        pytest.param("kill-random", 24, marks=pytest.mark.long),
        pytest.param("kill-failpoints", 1, marks=pytest.mark.long),
    ],
)
def test_every_shipped_experiment_holds(tmp_path: Path, name: str, amount: int) -> None:
    if name == "power-loss" and not (row := try_one(next(one for one in PROBES if one.name == "ext4-shutdown"))).available:
        pytest.skip(f"power loss cannot be made here: {row.detail}")
    done = chaos(tmp_path, "run", name, "--seed", 5, "--amount", amount, "--out", "run", "--json")
    found = said(done)
    assert (found["verdict"], found["exit"], found["reasons"]) == ("held", 0, []), done.stderr
    run = open_run(tmp_path / "run")
    assert all(fault.fired for fault in run.faults.faults)
    assert {fault.kind for fault in run.faults.faults} == {ENGINES[name].kind}
    assert f"fireassay chaos run {name} --target chronicle --seed 5" in run.manifest.trials[0].repeat


@pytest.mark.parametrize(
    ("fault", "words"),
    [("die", "LOG-23 unprovoked-death"), ("corrupt", "LOG-05 corrupt"), ("hang-write", "LOG-23 stuck-writer")],
)
def test_a_target_that_dies_lies_or_hangs_ends_in_time_with_a_sentence(tmp_path: Path, fault: str, words: str) -> None:
    done = chaos(tmp_path, "run", "kill-random", "--target", faulty(fault), "--seed", 5, "--amount", 2)
    assert done.returncode == Exit.VIOLATED, done.stdout + done.stderr
    assert words in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_fault_of_the_target_that_only_deaths_show_is_a_violation_after_the_method(tmp_path: Path) -> None:
    done = chaos(tmp_path, "run", "kill-random", "--seed", 5, "--amount", 6, "--json", **mutant("chronicle_recovery_drops"))
    found = said(done)
    assert (found["verdict"], found["journal"]["deviated"]) == ("violated", True), found["reasons"]
    assert found["reasons"][0].startswith("after the method, 'nothing was violated' does not hold: violated")


def test_a_target_without_failpoints_is_not_run_and_never_held(tmp_path: Path) -> None:
    done = chaos(tmp_path, "run", "kill-failpoints", "--target", "plainlog", "--seed", 5)
    assert done.returncode == Exit.UNFIT
    assert "failed: kill-failpoints: target plainlog offers no failpoints" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing"], "there is no experiment 'nothing'; known are kill-failpoints, kill-random, power-loss"),
        (["./nothing.json"], "nothing.json is no file of an experiment"),
        (["./broken.json"], "is no experiment in JSON"),
        (["./empty.json"], "empty.json: "),
        (["kill-random", "--target", "nobody"], "there is no target 'nobody'"),
        (["kill-random", "--out", "broken.json"], "a run never overwrites anything"),
    ],
)
def test_wrong_use_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.json").write_text('{"title":')
    (tmp_path / "empty.json").write_text("{}")
    monkeypatch.setattr(sys, "argv", ["fireassay", "chaos", "run", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    out, error = capsys.readouterr()
    assert ended.value.code == Exit.WRONG_USE, out + error
    assert words in " ".join((out + error).split())
    assert "Traceback" not in error


def test_an_interrupted_experiment_leaves_a_run_that_no_judge_takes_and_no_process(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from fireassay.cli.main import main; main()", "chaos", "run", "kill-random", "--amount", "10000"]
    with subprocess.Popen([*command, "--out", "run"], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True) as child:
        until(lambda: bool([*tmp_path.glob("run/recordings/0002-read-*")]), "the method")
        left = descendants(child.pid)
        child.terminate()
        out, _ = child.communicate(timeout=BOUND_S)
    assert child.returncode == Exit.NOTHING_SHOWN, out
    assert "SIGTERM" in out
    assert "broken off" in out
    all_end(left)
    with pytest.raises(RunError, match="did not come to its end"):
        open_run(tmp_path / "run")


def test_all_experiments_and_engines_are_listed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["fireassay", "chaos", "list", "--json"])
    with pytest.raises(SystemExit, match="0"):
        main()
    rows = json.loads(capsys.readouterr().out)
    assert [row["experiment"] for row in rows] == sorted(ENGINES), "one experiment for each engine"
    assert all(Path(row["file"]).is_file() for row in rows)
    assert "24 deaths" in {row["amount"] for row in rows}


# -- what a journal means


def entry(name: str = "a", status: str = "succeeded", **more: Any) -> dict[str, Any]:
    return {"activity": {"name": name}, "status": status, **more}


def journal(**more: Any) -> dict[str, Any]:
    held = {"steady_state_met": True, "probes": [entry(tolerance_met=True)]}
    whole = {"status": "completed", "deviated": False, "steady_states": {"before": held, "after": held}, "run": [entry()]}
    return {**whole, **more}


def states(before: Any, after: Any = None) -> dict[str, Any]:
    return {"before": before, "after": after}


HELD = {"steady_state_met": True, "probes": [entry(tolerance_met=True)]}
LOST = {"steady_state_met": False, "probes": [entry(tolerance_met=False, output="violated: LOG-10")]}
VAGUE = {"steady_state_met": False, "probes": [entry(tolerance_met=False, output="1 of 2 planned faults did not fire")]}
RAISED = entry(status="failed", exception=["Traceback\n", "chaoslib.exceptions.ActivityFailed: a.b.EnvironmentUnfit: no ext4\n"])
BROKE = entry(status="failed", exception=["ZeroDivisionError: division by zero\n"])
MISUSED = entry(status="failed", exception=["chaoslib.exceptions.ActivityFailed: a.b.HarnessError: there is no target 'x'\n"])


@pytest.mark.parametrize(
    ("changed", "code", "words"),
    [
        ({}, Exit.HELD, ()),
        ({"steady_states": states(LOST), "run": []}, Exit.VIOLATED, ("before the method, 'a' does not hold: violated: LOG-10",)),
        ({"steady_states": states(VAGUE), "run": []}, Exit.NOTHING_SHOWN, ("before the method, 'a' does not hold: 1 of 2",)),
        ({"steady_states": states(None)}, Exit.NOTHING_SHOWN, ("not looked at before",)),
        ({"steady_states": states(HELD, None)}, Exit.NOTHING_SHOWN, ("not looked at after",)),
        ({"steady_states": states(HELD, LOST), "deviated": True}, Exit.VIOLATED, ("after the method, 'a' does not hold",)),
        ({"steady_states": states(HELD, {"steady_state_met": False, "probes": []})}, Exit.NOTHING_SHOWN, ("did not hold",)),
        ({"run": []}, Exit.NOTHING_SHOWN, ("the method did nothing",)),
        ({"run": [entry(), RAISED]}, Exit.UNFIT, ("in the method, 'a' failed: no ext4",)),
        ({"run": [BROKE]}, Exit.NOTHING_SHOWN, ("in the method, 'a' failed: ZeroDivisionError: division by zero",)),
        ({"run": [MISUSED]}, Exit.WRONG_USE, ("failed: there is no target 'x'",)),
        ({"run": [RAISED], "steady_states": states(HELD, LOST)}, Exit.VIOLATED, ("no ext4", "LOG-10")),
        ({"deviated": True}, Exit.NOTHING_SHOWN, ("deviated",)),
        ({"status": "interrupted"}, Exit.NOTHING_SHOWN, ("the experiment was interrupted",)),
        ({"status": "aborted"}, Exit.NOTHING_SHOWN, ("the experiment was aborted",)),
        ({"fireassay": {"whole": False}}, Exit.NOTHING_SHOWN, ("the run was broken off",)),
        ({"fireassay": {"whole": False, "error": "no space"}}, Exit.NOTHING_SHOWN, ("could not be sealed: no space",)),
    ],
)
def test_a_journal_means_what_was_seen(changed: dict[str, Any], code: Exit, words: tuple[str, ...]) -> None:
    found = gate(journal(**changed))
    assert found.exit is code
    assert len(found.sentences) == len(words), found.sentences
    assert all(word in sentence for word, sentence in zip(words, found.sentences, strict=True)), found.sentences
