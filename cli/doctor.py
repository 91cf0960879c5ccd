"""`fireassay doctor`: what this machine can do, and which clauses stay not-run where it cannot."""

import typer

from fireassay.chaos.capabilities import probe as probe_faults
from fireassay.cli.output import AsJson, print_rows
from fireassay.perf.noise import probe as probe_noise
from fireassay.reports.java import probe as probe_java

__all__ = ["register"]


def register(app: typer.Typer, room: str) -> None:
    app.command("doctor", rich_help_panel=room)(doctor)


def doctor(as_json: AsJson = False) -> None:
    """Tell what this machine can do: Java, compiler, faults, namespaces, mounts, clocks, noise.

    Everything is really tried, in private namespaces and temporary folders, and nothing is left behind.

    [bold]Examples[/]: fireassay doctor · fireassay doctor --json
    """
    capabilities = (*probe_java(), *probe_faults(), *probe_noise())
    rows = [
        {
            "capability": capability.name,
            "available": capability.available,
            "found": capability.detail,
            "clauses not shown": () if capability.available else capability.affects,
            "what to do": "" if capability.available else capability.remedy,
        }
        for capability in capabilities
    ]
    print_rows(rows, as_json=as_json, title="This machine")
    lost = sorted({clause for capability in capabilities if not capability.available for clause in capability.affects})
    if not as_json:
        typer.echo(f"Clauses whose evidence is reduced here: {' '.join(lost)}" if lost else "Every clause can be shown here.")
