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


def test_a_strangers_target_does_not_break_the_certificate(tmp_path: Path) -> None:
    info = tmp_path / "stranger-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 0\n")
    (info / "entry_points.txt").write_text("[fireassay.targets]\ncomet = no.such:Target\n")
    done = subprocess.run(
        [sys.executable, "-c", "from fireassay.cli.main import main; main()", "certify", "--json"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 4, done.stderr
    assert {row["clause"]: row["verdict"] for row in json.loads(done.stdout)} == {clause.id: "not-run" for clause in ALL}
