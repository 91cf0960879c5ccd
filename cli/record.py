"""`fireassay record`: look into recordings, and seal them to Parquet."""

from pathlib import Path
from typing import Annotated

import typer

from fireassay.cli.output import AsJson, print_rows, print_value
from fireassay.conformance.recorder import inspect
from fireassay.conformance.recorder.recording import find_recordings, open_recording
from fireassay.conformance.recorder.seal import seal as seal_recordings
from fireassay.spec.history.ops import Op
from fireassay.spec.outcomes import HarnessError

__all__ = ["register"]

record = typer.Typer(help="Look into recordings of the flight recorder, and seal them to Parquet.", no_args_is_help=True)

ROWS_SHOWN = 20

File = Annotated[Path, typer.Argument(help="A recording: the path of one of its parts (NAME.000.farec), or without the number (NAME).")]
Files = Annotated[list[Path], typer.Argument(help="Recordings, or directories of them.")]


def register(app: typer.Typer, room: str) -> None:
    app.add_typer(record, name="record", rich_help_panel=room)


@record.command("summary")
def summary(files: Files, as_json: AsJson = False) -> None:
    """Tell what recordings hold: rows, operations, actors, span, and whether they are complete.

    [bold]Examples[/]: fireassay record summary runs/latest · fireassay record summary writer.000.farec --json
    """
    summaries = [inspect.summary(open_recording(path)) for path in _recordings(files)]
    if as_json:
        print_value(summaries)
        return
    rows = [
        {
            "recording": found["name"],
            "rows": found["rows"],
            "parts": found["parts"],
            "span s": found["span_ns"] / 1e9,
            "complete": found["complete"],
            "lost": found["lost"],
            "operations": [f"{op}:{sum(phases.values())}" for op, phases in found["ops"].items()],
            "actors": [f"{actor['actor']}={actor['role']}" for actor in found["actors"]],
        }
        for found in summaries
    ]
    print_rows(rows, as_json=False, title=f"{len(rows)} recordings")


@record.command("show")
def show(
    file: File,
    first: Annotated[int | None, typer.Option(min=0, help="Only so many rows from the beginning.")] = None,
    last: Annotated[int | None, typer.Option(min=0, help="Only so many rows from the end.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every row, however many.")] = False,
    op: Annotated[str | None, typer.Option(help="Only this operation, such as append.")] = None,
    actor: Annotated[int | None, typer.Option(min=0, help="Only this actor.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print the rows of one recording; without a limit the first and the last ten.

    A row of phase invoke whose value is more than 1 is a run: value operations on consecutive keys.

    [bold]Examples[/]: fireassay record show writer --last 5 · fireassay record show writer --op append --actor 2 --all --json
    """
    if every and (first is not None or last is not None):
        raise typer.BadParameter("--all goes with neither --first nor --last")
    if not every and first is None and last is None:
        first = last = ROWS_SHOWN // 2
    recording = open_recording(file)
    chosen = inspect.lines(recording, first=first, last=last, op=_op(op), actor=actor)
    rows = [dict(zip(inspect.COLUMNS, cells, strict=True)) for cells in chosen]
    print_rows(rows, as_json=as_json, title=f"{recording.name}: {len(rows)} of {len(recording)} rows")


@record.command("seal")
def seal(
    files: Files,
    out: Annotated[Path, typer.Option(help="The directory to make; it must not exist.")],
    as_json: AsJson = False,
) -> None:
    """Seal recordings to OUT/part-*.parquet and OUT/_actors.json, whole or not at all.

    [bold]Examples[/]: fireassay record seal recordings/ --out sealed · fireassay record seal writer reader --out sealed
    """
    recordings = [open_recording(path) for path in _recordings(files)]
    sealed = seal_recordings(recordings, out)
    row = {"sealed": str(sealed), "recordings": len(recordings), "rows": sum(len(recording) for recording in recordings)}
    print_rows([row], as_json=as_json)


def _recordings(files: list[Path]) -> list[Path]:
    """Each file as it is, each directory as the recordings in it."""
    found: list[Path] = []
    for path in files:
        inside = find_recordings(path) if path.is_dir() else [path]
        if not inside:
            raise HarnessError(f"{path}: no recording in this directory (no *.000.farec)")
        found += inside
    return found


def _op(name: str | None) -> Op | None:
    if name is None:
        return None
    try:
        return Op[name.upper()]
    except KeyError:
        known = ", ".join(op.name.lower() for op in Op)
        raise HarnessError(f"no operation {name!r}; known are {known}") from None
