"""One way to print a table: for people with Rich, for programs with --json."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["AsJson", "print_rows", "print_value"]

_NARROW = 14  # a column of short words is not broken up for the sake of a long one
_FILE_WIDTH = 140  # of what goes to a file or a pipe, where nobody says how wide it is

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of a table.")]


def print_value(value: object) -> None:
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False, default=str)
    sys.stdout.write("\n")


def print_rows(rows: Sequence[Mapping[str, object]], *, as_json: bool, title: str = "") -> None:
    """Print rows that share their keys. Lists are joined, truth values become yes and no; a column without a word is left out."""
    if as_json:
        print_value([dict(row) for row in rows])
        return
    console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else _FILE_WIDTH)
    if not rows:
        console.print(f"{title or 'rows'}: none")
        return
    table = Table(title=title or None, title_justify="left", header_style="bold", pad_edge=False)
    cells = [[_cell(value) for value in row.values()] for row in rows]
    widths = [max(row[index].cell_len for row in cells) for index in range(len(cells[0]))]
    for index, (key, longest) in enumerate(zip(rows[0], widths, strict=True)):
        if not longest:
            continue
        table.add_column(key.replace("_", " "), no_wrap=index == 0, overflow="fold", min_width=min(longest, _NARROW))
    for row_cells in cells:
        table.add_row(*(cell for cell, width in zip(row_cells, widths, strict=True) if width))
    console.print(table)


def _cell(value: object) -> Text:
    if isinstance(value, bool):
        return Text("yes", "green") if value else Text("no", "red")
    if isinstance(value, float):
        return Text(f"{value:,.2f}")
    if isinstance(value, (list, tuple)):
        return Text(" ".join(str(item) for item in value))
    return Text("" if value is None else str(value))
