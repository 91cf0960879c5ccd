"""`fireassay floors`: what this machine cannot be faster than."""

from typing import Annotated

import typer

from fireassay.cli.output import AsJson, print_rows
from fireassay.perf import floors as machine_floors

__all__ = ["register"]


def register(app: typer.Typer, room: str) -> None:
    app.command("floors", rich_help_panel=room)(floors)


def floors(
    names: Annotated[list[str] | None, typer.Argument(help="Only these floors.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the floors of this machine: clock, copy, ring, ping-pong, loopback, futex, sync.

    [bold]Examples[/]: fireassay floors · fireassay floors clock --json
    """
    print_rows(machine_floors.table(names), as_json=as_json, title="Floors of this machine")
