"""`fireassay certify` and `fireassay run`: examine a target, and judge what was recorded."""

import secrets
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fireassay.cli.examination import examine
from fireassay.cli.judge import Engine, EngineName, Master, judged, show
from fireassay.cli.output import AsJson, print_rows
from fireassay.cli.progress import stages

__all__ = ["register"]

DEFAULT_TARGET = "chronicle"


class Mode(StrEnum):
    SMOKE = "smoke"
    QUICK = "quick"
    LONG = "long"


Target = Annotated[str, typer.Argument(help="NAME, NAME?key=value, py:module:function or driver:COMMAND; `fireassay targets` lists names.")]
How = Annotated[Mode, typer.Option(help="smoke: does it go through at all; quick: some minutes on two cores; long: more of everything.")]
Seed = Annotated[
    int | None, typer.Option(min=0, max=(1 << 32) - 1, help="Repeats the draws of a run; without it one is drawn and printed.")
]
Out = Annotated[Path | None, typer.Option(help="The run directory to make; without it runs/TIME-TARGET-SEED.")]


def register(app: typer.Typer, room: str) -> None:
    app.command("certify", rich_help_panel=room)(certify)
    app.command("run", rich_help_panel=room)(run)


def certify(
    target: Target = DEFAULT_TARGET,
    mode: How = Mode.QUICK,
    seed: Seed = None,
    out: Out = None,
    engine: Engine = EngineName.SPARK,
    master: Master = "local[*]",
    as_json: AsJson = False,
) -> None:
    """Examine a target and judge it: a run directory with history, verdicts, certificate and report.

    Exit 0 if nothing failed and nothing examined stayed unknown; 1 if something failed; 4 if something is unknown or nothing was shown.

    [bold]Examples[/]: fireassay certify · fireassay certify "driver:./my-log --fast" · fireassay certify chronicle --seed 7 --mode long
    """
    drawn = secrets.randbits(32) if seed is None else seed
    with stages() as progress:
        typer.echo(f"examining {target}, seed {drawn} (repeat with: fireassay certify '{target}' --mode {mode} --seed {drawn})", err=True)
        path = examine(target, mode=mode.value, seed=drawn, out=out, progress=progress)
        found = judged(path, engine, master, progress)
    show(found, as_json=as_json)


def run(target: Target = DEFAULT_TARGET, mode: How = Mode.QUICK, seed: Seed = None, out: Out = None, as_json: AsJson = False) -> None:
    """Examine a target and leave a run directory, unjudged.

    [bold]Examples[/]: fireassay run · fireassay run plainlog --seed 7 --out runs/mine · fireassay judge runs/mine
    """
    drawn = secrets.randbits(32) if seed is None else seed
    with stages() as progress:
        path = examine(target, mode=mode.value, seed=drawn, out=out, progress=progress)
    print_rows([{"run": str(path), "target": target, "seed": drawn}], as_json=as_json)
