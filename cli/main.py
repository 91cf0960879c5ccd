"""The `fireassay` command: assembles the rooms' commands and turns every known error into one sentence."""

import sys
from typing import NoReturn

import typer
from rich.console import Console

from fireassay.cli import (
    certify,
    chaos,
    chronicle,
    clauses,
    doctor,
    driver,
    failpoints,
    floors,
    judge,
    layouts,
    mutants,
    promises,
    record,
    targets,
)
from fireassay.spec.outcomes import EnvironmentUnfit, HarnessError, TargetError

__all__ = ["app", "main"]

EXIT_HELP = """
Exit codes: 0 all is well; 1 something examined failed; 2 wrong use or bad input; 3 this machine cannot do it;
4 nothing was shown (not-run or unknown).
"""

app = typer.Typer(
    name="fireassay",
    help="Examine durable, low-latency message logs, and certify clause by clause what holds." + EXIT_HELP,
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
)

for module, room in (
    (certify, "Examination"),
    (chaos, "Examination"),
    (targets, "Examination"),
    (driver, "Examination"),
    (judge, "Examination"),
    (record, "Examination"),
    (clauses, "Specification"),
    (layouts, "Specification"),
    (promises, "Specification"),
    (chronicle, "Reference"),
    (failpoints, "Reference"),
    (mutants, "Reference"),
    (doctor, "Machine"),
    (floors, "Machine"),
):
    module.register(app, room)


def main() -> NoReturn:
    try:
        app()
    except EnvironmentUnfit as error:
        _say("this machine cannot do that", error, 3)
    except TargetError as error:
        _say("the examined system is at fault", error, 1)
    except (HarnessError, ValueError, OSError) as error:
        _say("error", error, 2)
    sys.exit(0)


def _say(kind: str, error: Exception, code: int) -> NoReturn:
    Console(stderr=True, soft_wrap=True).print(f"[bold red]fireassay: {kind}:[/] ", error, sep="", markup=True, highlight=False)
    sys.exit(code)
