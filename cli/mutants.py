"""`fireassay mutants`: the deliberate faults that the examination must find."""

import typer

from fireassay.cli.output import AsJson, print_rows
from fireassay.reference import mutants as reference_mutants

__all__ = ["register"]


def register(app: typer.Typer, room: str) -> None:
    app.command("mutants", rich_help_panel=room)(mutants)


def mutants(as_json: AsJson = False) -> None:
    """List the mutants of the reference: what is wrong in each, and the clause it breaks.

    [bold]Examples[/]: fireassay mutants · fireassay mutants --json
    """
    rows = [{"mutant": mutant.name, "clause": mutant.clause, "fault": mutant.what} for mutant in reference_mutants.mutants()]
    print_rows(rows, as_json=as_json, title=f"{len(rows)} mutants")
