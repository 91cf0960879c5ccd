"""`fireassay certify`: examine the registered targets and print one verdict per clause.

No target can be examined yet, so every clause stands at not-run, and the command says so by its exit code.
"""

from collections import Counter

import typer

from fireassay.cli.output import AsJson, print_rows
from fireassay.conformance.coverage import standing
from fireassay.spec.clauses import ALL
from fireassay.spec.outcomes import Verdict, fold

__all__ = ["register"]

EXIT_NOTHING_SHOWN = 4


def register(app: typer.Typer, room: str) -> None:
    app.command("certify", rich_help_panel=room)(certify)


def certify(as_json: AsJson = False) -> None:
    """Examine the reference and print the verdict of every clause.

    Exit 0 only if every clause that applies was shown to hold; 4 while something was not run.

    [bold]Examples[/]: fireassay certify · fireassay certify --json
    """
    # Whatever is registered, nothing can be examined in this version: no clause has run.
    verdicts = standing(ALL, frozenset())
    rows = [{"clause": clause.id, "verdict": verdicts[clause.id].value, "title": clause.title} for clause in ALL]
    print_rows(rows, as_json=as_json, title="Verdicts")
    counts = Counter(verdicts.values())
    summary = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict])
    typer.echo(f"{summary}. No target can be examined in this version, so nothing is certified.", err=True)
    raise typer.Exit(0 if fold(verdicts.values()) in (Verdict.PASS, Verdict.TOLERATED) else EXIT_NOTHING_SHOWN)
