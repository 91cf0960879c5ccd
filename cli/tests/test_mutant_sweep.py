"""`fireassay mutants --examine`: what is caught, what survives and what nobody examined are three things."""

import json

import pytest
from typer.testing import CliRunner

from fireassay.cli.main import app
from fireassay.cli.mutant_sweep import Outcome, sweep
from fireassay.cli.progress import stages
from fireassay.reference.mutants import Mutant, mutants
from fireassay.spec.outcomes import HarnessError


def examined(name: str, clause: str) -> tuple[Outcome, str]:
    with stages() as progress:
        (found,) = sweep([Mutant(name, clause, "")], progress)
    return found.outcome, found.seen


def test_a_mutant_is_caught_by_its_clause_and_survives_another() -> None:
    outcome, seen = examined("chronicle_pad_accepted", "CHR-03")
    assert outcome is Outcome.CAUGHT
    assert "test_a_user_cannot_append_padding failed" in seen
    outcome, seen = examined("chronicle_pad_accepted", "CHR-05")
    assert outcome is Outcome.SURVIVED
    assert "cases of CHR-05 passed" in seen


def test_what_no_case_can_examine_is_not_called_caught() -> None:
    outcome, seen = examined("crc32_tail", "OMB-19")
    assert outcome is Outcome.NOT_EXAMINED
    assert "no target by itself" in seen


def test_the_command_lists_all_and_names_those_asked_for() -> None:
    every = json.loads(CliRunner().invoke(app, ["mutants", "--json"]).stdout)
    assert [row["mutant"] for row in every] == [mutant.name for mutant in mutants()]
    some = json.loads(CliRunner().invoke(app, ["mutants", "CHR-03", "crc32_tail", "--json"]).stdout)
    assert [row["mutant"] for row in some] == [m.name for m in mutants() if m.clause == "CHR-03" or m.name == "crc32_tail"]


def test_what_is_not_examined_shows_in_the_exit_code() -> None:
    done = CliRunner().invoke(app, ["mutants", "crc32_tail", "--examine", "--json"])
    assert done.exit_code == 4
    assert '"not examined"' in done.stdout


def test_a_name_that_is_no_mutant_is_an_error_that_says_so() -> None:
    with pytest.raises(HarnessError, match="no mutant is called 'chronicle_nothing'"):
        CliRunner().invoke(app, ["mutants", "chronicle_nothing"], catch_exceptions=False)
