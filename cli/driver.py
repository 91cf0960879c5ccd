"""`fireassay driver`: programs in any language that speak the driver protocol."""

from typing import Annotated

import typer

from fireassay.cli.output import AsJson, print_rows
from fireassay.conformance.driver.check import check as check_driver
from fireassay.conformance.targets import parse

__all__ = ["register"]

EXIT_FAILED = 1

driver = typer.Typer(help="Check a program that speaks the driver protocol (conformance/driver/PROTOCOL.md).", no_args_is_help=True)


def register(app: typer.Typer, room: str) -> None:
    app.add_typer(driver, name="driver", rich_help_panel=room)


@driver.command("check")
def check(command: Annotated[str, typer.Argument(help="The command, with its words as in a shell.")], as_json: AsJson = False) -> None:
    """Go through the protocol with a driver, bad requests included, and say what holds.

    [bold]Examples[/]: fireassay driver check "./my-driver --fast" · fireassay driver check "python3 my_driver.py" --json
    """
    findings = check_driver(parse(f"driver:{command}").command)
    rows = [{"step": finding.step, "holds": finding.holds, "seen": finding.detail} for finding in findings]
    print_rows(rows, as_json=as_json, title=f"driver: {command}")
    if not all(finding.holds for finding in findings):
        raise typer.Exit(EXIT_FAILED)
