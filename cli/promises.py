"""`fireassay promises`: check what a target declares, and see which clauses follow from it."""

import tomllib
from pathlib import Path
from typing import Annotated

import typer

from fireassay.cli.output import AsJson, print_rows
from fireassay.spec.clause import System
from fireassay.spec.clauses import of_system
from fireassay.spec.outcomes import HarnessError
from fireassay.spec.promises import Promises, applicable
from fireassay.spec.promises_schema import lint

__all__ = ["register"]


def register(app: typer.Typer, room: str) -> None:
    app.command("promises", rich_help_panel=room)(promises)


def promises(
    file: Annotated[Path, typer.Argument(help="The target's promises, a TOML file.")],
    as_json: AsJson = False,
) -> None:
    """Check a file of promises; print the LOG clauses that apply under them.

    [bold]Examples[/]: fireassay promises my-log.toml · fireassay promises my-log.toml --json
    """
    try:
        text = file.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise HarnessError(f"{file} is not TOML: {error}") from None
    problems = lint(document, str(file))
    if problems:
        found = [{"where": problem.path, "what is wrong": problem.wrong, "what to do": problem.remedy} for problem in problems]
        print_rows(found, as_json=as_json, title=f"{file}: {len(problems)} problems")
        raise typer.Exit(2)
    declared = Promises.from_toml(text, str(file))
    rows = [
        {"clause": clause.id, "applies": applicable(clause, declared), "needs": clause.needs, "title": clause.title}
        for clause in of_system(System.LOG)
    ]
    print_rows(rows, as_json=as_json, title=f"{file}: promises are well formed")
