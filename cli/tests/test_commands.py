"""What every command owes its user: help with examples, --json where a table is printed, a sentence instead of a traceback."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from typer.main import get_command

from fireassay.cli.main import app
from fireassay.spec.clauses import ALL


def commands(of: click.Command, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    below = getattr(of, "commands", None)
    if below is None:
        yield path, of
    else:
        for name, command in below.items():
            yield from commands(command, *path, name)


EVERY = dict(commands(get_command(app)))


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_command_shows_examples_and_prints_json(path: tuple[str, ...]) -> None:
    help_text = EVERY[path].help or ""
    assert f"fireassay {' '.join(path)}" in help_text.partition("Examples")[2]
    assert "--json" in {option for parameter in EVERY[path].params for option in parameter.opts}


def call(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from fireassay.cli.main import main; main()", *arguments]
    return subprocess.run(command, env={**os.environ, **environment}, cwd=cwd, capture_output=True, text=True, timeout=240)


def test_a_strangers_broken_target_is_listed_with_its_problem(tmp_path: Path) -> None:
    info = tmp_path / "stranger-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 0\n")
    (info / "entry_points.txt").write_text("[fireassay.targets]\nstranger = no.such:make\n")
    done = call("targets", "--json", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    rows = {row["target"]: row for row in json.loads(done.stdout)}
    assert "No module named 'no'" in rows["stranger"]["problem"]
    assert not rows["stranger"]["usable"]
    assert rows["plainlog"]["usable"]


def test_a_sound_log_is_certified_and_the_run_can_be_judged_again(tmp_path: Path) -> None:
    done = call("certify", "plainlog", "--mode", "smoke", "--seed", "5", "--out", "run", "--engine", "python", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    verdicts = {clause["clause"]: clause["verdict"] for clause in json.loads(done.stdout)["clauses"]}
    assert set(verdicts) == {clause.id for clause in ALL}
    assert {verdicts[clause] for clause in ("LOG-01", "LOG-02", "LOG-05", "LOG-09", "LOG-10")} == {"pass"}
    assert verdicts["COM-01"] == "not-run"
    again = call("judge", "run", "--engine", "python", "--json", cwd=tmp_path)
    assert json.loads(again.stdout)["clauses"] == json.loads(done.stdout)["clauses"]
    assert "LOG-01" in call("report", "run", "--format", "md", cwd=tmp_path).stdout


def test_a_log_that_drops_a_record_is_not_certified(tmp_path: Path) -> None:
    broken = "py:fireassay.conformance.targets.faulty:make?fault=drop&of=plainlog"
    done = call("certify", broken, "--mode", "smoke", "--seed", "5", "--out", "run", "--engine", "python", "--json", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    verdicts = {clause["clause"]: clause["verdict"] for clause in json.loads(done.stdout)["clauses"]}
    assert verdicts["LOG-02"] == "fail"


def test_an_unknown_target_is_one_sentence(tmp_path: Path) -> None:
    done = call("certify", "cronicle", cwd=tmp_path)
    assert done.returncode == 2
    assert "did you mean chronicle?" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()
