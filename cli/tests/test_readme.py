"""What the README shows is true: its promises are well formed, its commands exist, its figures are the clauses'."""

import re
from pathlib import Path

from typer.main import get_command

from fireassay.cli.main import app
from fireassay.spec.clauses import ALL
from fireassay.spec.promises import Promises

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def test_its_promises_are_well_formed() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", README, re.S)
    assert Promises.from_toml(example, "README.md").bounds.max_payload == 65536


def test_every_command_it_names_exists() -> None:
    commands = set(get_command(app).commands) | {"test"}  # type: ignore[attr-defined]
    named = set(re.findall(r"\./run ([a-z]+)", README))
    assert "certify" in named
    assert named <= commands


def test_every_command_is_named_in_it() -> None:
    assert set(get_command(app).commands) <= set(re.findall(r"\./run ([a-z]+)", README))  # type: ignore[attr-defined]


def test_it_counts_the_clauses_right() -> None:
    assert set(re.findall(r"(\d+) (?:clauses|not-run)", README)) == {str(len(ALL))}


def test_every_tox_environment_it_names_exists() -> None:
    tox = (Path(__file__).resolve().parents[2] / "tox.ini").read_text(encoding="utf-8")
    (named,) = re.findall(r"`tox -e c-sanitizers`, (.*?) run what", README)
    for environment in ["c-sanitizers", *re.findall(r"`([a-z-]+)`", named)]:
        assert f"[testenv:{environment}]" in tox
