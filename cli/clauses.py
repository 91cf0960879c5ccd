"""`fireassay clauses`: what must hold, and one clause in full."""

from typing import Annotated

import typer

from fireassay.cli.output import AsJson, print_rows, print_value
from fireassay.conformance.coverage import existing_systems
from fireassay.spec.clause import Clause, Level, System
from fireassay.spec.clauses import ALL, BY_ID
from fireassay.spec.document import clause_markdown
from fireassay.spec.outcomes import HarnessError

__all__ = ["register"]


def register(app: typer.Typer, room: str) -> None:
    app.command("clauses", rich_help_panel=room)(clauses)


def clauses(
    ids: Annotated[list[str] | None, typer.Argument(help="Clause ids to show in full, such as CHR-06.")] = None,
    system: Annotated[System | None, typer.Option(help="Only this system.")] = None,
    level: Annotated[Level | None, typer.Option(help="Only M (must), S (should) or P (performance).")] = None,
    as_json: AsJson = False,
) -> None:
    """List the clauses, or show some in full.

    [bold]Examples[/]: fireassay clauses --system CHR · fireassay clauses LOG-10 CHR-14 · fireassay clauses --level P --json
    """
    if ids:
        chosen = [_clause(clause_id) for clause_id in ids]
        if as_json:
            print_value([_full(clause) for clause in chosen])
        else:
            typer.echo("\n".join(clause_markdown(clause) for clause in chosen))
        return
    existing = existing_systems()
    rows = [
        {
            "id": clause.id,
            "level": clause.level.value,
            "title": clause.title,
            "verified by": [method.value for method in clause.verified],
            "examined": clause.system in existing,
        }
        for clause in ALL
        if (system is None or clause.system is system) and (level is None or clause.level is level)
    ]
    print_rows(rows, as_json=as_json, title=f"{len(rows)} clauses")


def _clause(clause_id: str) -> Clause:
    try:
        return BY_ID[clause_id.upper()]
    except KeyError:
        raise HarnessError(f"no clause {clause_id!r}; `fireassay clauses` lists all {len(ALL)}") from None


def _full(clause: Clause) -> dict[str, object]:
    return {field: getattr(clause, field) for field in Clause.__slots__}
