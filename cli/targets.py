"""`fireassay targets`: the systems that can be examined here, by name."""

import tempfile
from pathlib import Path

import typer

from fireassay.cli.output import AsJson, print_rows
from fireassay.conformance.targets import failpoints, known, load
from fireassay.spec.clauses import ALL
from fireassay.spec.outcomes import EnvironmentUnfit, HarnessError, TargetError
from fireassay.spec.promises import applicable

__all__ = ["register"]


def register(app: typer.Typer, room: str) -> None:
    app.command("targets", rich_help_panel=room)(targets)


def targets(as_json: AsJson = False) -> None:
    """List the targets that are registered here. Others are named by driver:COMMAND or py:module:function.

    [bold]Examples[/]: fireassay targets · fireassay targets --json · fireassay certify "driver:./my-log --fast"
    """
    rows = [_row(name) for name in known()]
    print_rows(rows, as_json=as_json, title=f"{len(rows)} targets")


def _row(name: str) -> dict[str, object]:
    row: dict[str, object] = {"target": name, "usable": True, "LOG clauses that apply": 0, "failpoints": 0, "digest": "", "problem": ""}
    try:
        with tempfile.TemporaryDirectory(prefix="fireassay-") as place:
            target = load(name, Path(place))
            promised = target.promises
            row["LOG clauses that apply"] = sum(applicable(clause, promised) for clause in ALL if clause.id.startswith("LOG-"))
            row["failpoints"] = len(failpoints(name))
            row["digest"] = target.digest
    except (HarnessError, EnvironmentUnfit, TargetError) as error:
        row |= {"usable": False, "problem": str(error)}
    return row
