"""`fireassay layouts`: the binary formats of the five systems, field by field."""

from typing import Annotated

import typer

from fireassay.cli.output import AsJson, print_rows
from fireassay.spec.layouts import ALL
from fireassay.spec.outcomes import HarnessError

__all__ = ["register"]


def register(app: typer.Typer, room: str) -> None:
    app.command("layouts", rich_help_panel=room)(layouts)


def layouts(
    name: Annotated[str | None, typer.Argument(help="A layout, to see its fields.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the binary layouts, or the fields of one with offset and size.

    [bold]Examples[/]: fireassay layouts · fireassay layouts chronicle.message_header
    """
    if name is None:
        rows = [{"layout": layout.name, "clause": layout.clause, "size": layout.size, "fields": len(layout.offsets)} for layout in ALL]
        print_rows(rows, as_json=as_json, title=f"{len(rows)} layouts")
        return
    for layout in ALL:
        if layout.name == name:
            fields = [{"field": field, "offset": offset, "size": size} for field, (offset, size) in layout.offsets.items()]
            print_rows(fields, as_json=as_json, title=f"{layout.name}, {layout.clause}, {layout.size} bytes")
            return
    raise HarnessError(f"no layout {name!r}; `fireassay layouts` lists them")
