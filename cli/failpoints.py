"""`fireassay failpoints`: the places where the reference can be made to die or to fail."""

import typer

from fireassay.cli.output import AsJson, print_rows
from fireassay.reference import failpoints as reference_failpoints

__all__ = ["register"]


def register(app: typer.Typer, room: str) -> None:
    app.command("failpoints", rich_help_panel=room)(failpoints)


def failpoints(as_json: AsJson = False) -> None:
    """List the failpoints of the reference: every shared store and every persistence call.

    [bold]Examples[/]: fireassay failpoints · fireassay failpoints --json
    """
    rows = [{"failpoint": point.name, "kind": point.kind.name.lower(), "what": point.what} for point in reference_failpoints.failpoints()]
    print_rows(rows, as_json=as_json, title=f"{len(rows)} failpoints")
