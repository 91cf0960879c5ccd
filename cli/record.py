"""`fireassay record`: look into a recording, and seal recordings to Parquet."""

from pathlib import Path
from typing import Annotated

import typer

from fireassay.cli.output import AsJson, print_rows, print_value
from fireassay.conformance.recorder import inspect as inspection
from fireassay.conformance.recorder.recording import Recording
from fireassay.conformance.recorder.seal import seal as seal_recordings
from fireassay.spec.history.ops import Op

__all__ = ["register"]

record = typer.Typer(help="Look into recordings of the flight recorder, and seal them to Parquet.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(help="A recording (NAME.000.farec), or its NAME without the part number.")]


def register(app: typer.Typer, room: str) -> None:
    app.add_typer(record, name="record", rich_help_panel=room)
