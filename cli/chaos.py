"""`fireassay chaos`: experiments for the Chaos Toolkit, run and judged by what was seen, not by the toolkit's exit code."""

import json
import logging
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from fireassay.chaos import experiments
from fireassay.chaos.engines import ENGINES
from fireassay.chaos.gate import Exit, Gate, gate
from fireassay.cli.output import AsJson, print_rows, print_value
from fireassay.cli.progress import stages
from fireassay.spec.outcomes import EnvironmentUnfit, HarnessError

__all__ = ["register"]

chaos = typer.Typer(help="Chaos experiments: a steady state, faults, and the steady state again.", no_args_is_help=True)

_WORDS = {
    Exit.HELD: "held: the steady state held before and after, and every fault fired",
    Exit.VIOLATED: "violated",
    Exit.WRONG_USE: "wrong use",
    Exit.UNFIT: "not run: this machine or this target does not allow it",
    Exit.NOTHING_SHOWN: "nothing shown",
}

Experiment = Annotated[str, typer.Argument(help="A name from `fireassay chaos list`, or the file of an experiment.")]


def register(app: typer.Typer, room: str) -> None:
    app.add_typer(chaos, name="chaos", rich_help_panel=room)


@chaos.command("list")
def listed(as_json: AsJson = False) -> None:
    """List the experiments, and the engines that their actions can ask for.

    [bold]Examples[/]: fireassay chaos list · fireassay chaos list --json
    """
    rows = []
    for name in experiments.names():
        found = _load(experiments.path(name))
        amount = found["configuration"]["amount"]["default"]
        engine = ENGINES[found["method"][0]["provider"]["arguments"]["engine"]]
        rows.append({"experiment": name, "what": found["title"], "amount": f"{amount} {engine.unit}", "file": str(experiments.path(name))})
    print_rows(rows, as_json=as_json, title=f"{len(rows)} experiments; engines: {', '.join(ENGINES)}")


@chaos.command("run")
def run(
    experiment: Experiment,
    target: Annotated[str | None, typer.Option(help="As for `fireassay certify`; else FIREASSAY_TARGET, else what the file says.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=(1 << 32) - 1, help="Without it one is drawn and printed.")] = None,
    amount: Annotated[int | None, typer.Option(min=1, help="How many faults; what it counts is told by `fireassay chaos list`.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run directory to make; without it runs/TIME-TARGET-SEED.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run an experiment. It leaves a run directory, with the toolkit's journal in it, that `fireassay judge` takes.

    Exit 0 only if the steady state held before and after, every activity succeeded and every fault fired; 1 if a promise was violated;
    2 for wrong use; 3 if this machine or this target does not allow the fault; 4 if nothing was shown.

    [bold]Examples[/]: fireassay chaos run kill-random --target plainlog · fireassay chaos run power-loss --amount 20 --seed 7 --json
    """
    if out is not None and out.exists():
        raise HarnessError(f"{out} exists; a run never overwrites anything. Name a directory that does not exist")
    path = Path(experiment) if experiment.endswith((".json", ".yaml", ".yml")) or os.sep in experiment else experiments.path(experiment)
    drawn = secrets.randbits(32) if seed is None else seed
    given = {"EXPERIMENT": experiment, "SEED": drawn, "TARGET": target, "AMOUNT": amount, "OUT": out}
    with stages() as progress, _environment({f"FIREASSAY_{key}": str(value) for key, value in given.items() if value is not None}):
        progress.stage(f"experiment {experiment}, seed {drawn}")
        journal = _run(path)
    _show(journal, gate(journal), as_json=as_json)


def _show(journal: Mapping[str, Any], found: Gate, *, as_json: bool) -> None:
    runs = (journal.get("fireassay") or {}).get("runs", [])
    if as_json:
        value = {"verdict": found.exit.name.lower().replace("_", "-"), "exit": int(found.exit), "reasons": list(found.sentences)}
        print_value({**value, "runs": runs, "journal": journal})
    else:
        typer.echo(_WORDS[found.exit])
        for sentence in found.sentences:
            typer.echo(f"  {sentence}")
        for path in runs:
            typer.echo(f"run: {path}\njudge it: fireassay judge {path}", err=True)
    raise typer.Exit(int(found.exit))


@contextmanager
def _environment(given: Mapping[str, str]) -> Iterator[None]:
    """How an experiment is told its configuration, here as under `chaos run`."""
    before = {key: os.environ.get(key) for key in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for key, value in before.items():
            os.environ.pop(key) if value is None else os.environ.update({key: value})


def _load(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise HarnessError(f"{path} is no file of an experiment; known by name are {', '.join(experiments.names())}")
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise HarnessError(f"{path} is no experiment in JSON: {error}") from None
    return found


def _run(path: Path) -> dict[str, Any]:
    experiment = _load(path)
    try:
        from chaoslib.exceptions import ChaosException
        from chaoslib.experiment import ensure_experiment_is_valid, run_experiment
    except ImportError:
        raise EnvironmentUnfit("the Chaos Toolkit is not installed; install fireassay[chaos]") from None
    logging.getLogger("chaostoolkit").addHandler(logging.NullHandler())  # what it has to say stands in the journal
    try:
        ensure_experiment_is_valid(experiment)
        journal: dict[str, Any] = run_experiment(experiment, settings={})
    except ChaosException as error:
        raise HarnessError(f"{path}: {error}") from error
    return journal
