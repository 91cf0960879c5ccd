"""`fireassay mutants`: the deliberate faults that the examination must find."""

from collections import Counter
from typing import Annotated

import typer

from fireassay.cli.judge import EXIT_FAILED, EXIT_NOTHING_SHOWN
from fireassay.cli.mutant_sweep import Outcome, sweep
from fireassay.cli.output import AsJson, print_rows
from fireassay.cli.progress import stages
from fireassay.reference.mutants import Mutant
from fireassay.reference.mutants import mutants as all_mutants
from fireassay.spec.outcomes import HarnessError

__all__ = ["register"]


def register(app: typer.Typer, room: str) -> None:
    app.command("mutants", rich_help_panel=room)(mutants)


def mutants(
    names: Annotated[list[str] | None, typer.Argument(help="Mutants, clauses (CHR-06) or systems (CHR); without one, all.")] = None,
    examine: Annotated[bool, typer.Option("--examine", help="Examine each one, and say by what it was caught.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the mutants of the reference: what is wrong in each, and the clause it breaks; or put them through the examination.

    With --examine: exit 0 if each was convicted of its own clause; 1 if one was not; 4 if one could not be examined.

    [bold]Examples[/]: fireassay mutants · fireassay mutants CHR-06 --examine · fireassay mutants --examine --json
    """
    wanted = _chosen(names or [])
    if not examine:
        rows = [{"mutant": mutant.name, "clause": mutant.clause, "fault": mutant.what} for mutant in wanted]
        print_rows(rows, as_json=as_json, title=f"{len(rows)} mutants")
        return
    with stages() as progress:
        found = sweep(wanted, progress)
    rows = [
        {
            "mutant": each.mutant.name,
            "clause": each.mutant.clause,
            "outcome": each.outcome.value,
            "fault": each.mutant.what,
            "seen": each.seen,
        }
        for each in found
    ]
    counts = Counter(each.outcome for each in found)
    print_rows(rows, as_json=as_json, title=", ".join(f"{counts[outcome]} {outcome.value}" for outcome in Outcome if counts[outcome]))
    if counts[Outcome.SURVIVED]:
        raise typer.Exit(EXIT_FAILED)
    if counts[Outcome.NOT_EXAMINED]:
        raise typer.Exit(EXIT_NOTHING_SHOWN)


def _chosen(names: list[str]) -> list[Mutant]:
    every = all_mutants()
    chosen = [mutant for mutant in every if not names or {mutant.name, mutant.clause, mutant.clause.partition("-")[0]} & set(names)]
    known = {word for mutant in every for word in (mutant.name, mutant.clause, mutant.clause.partition("-")[0])}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise HarnessError(f"no mutant is called {unknown[0]!r} or breaks a clause of that name; `fireassay mutants` lists them all")
    return chosen
