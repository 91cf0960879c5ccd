"""`fireassay judge` and `fireassay report`: from a recorded run to verdicts, certificate and page."""

from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fireassay.cli.output import AsJson, print_rows, print_value
from fireassay.cli.progress import Stages, stages
from fireassay.reports.judging import Judged, judge_run, load_judged
from fireassay.reports.page import html, markdown
from fireassay.spec.clauses import BY_ID
from fireassay.spec.outcomes import Verdict

__all__ = ["EXIT_FAILED", "EXIT_NOTHING_SHOWN", "Engine", "Master", "judged", "register", "show"]

EXIT_FAILED = 1
_INCIDENTS_SHOWN = 3
EXIT_NOTHING_SHOWN = 4


class EngineName(StrEnum):
    SPARK = "spark"
    PYTHON = "python"


class Format(StrEnum):
    HTML = "html"
    MARKDOWN = "md"


Engine = Annotated[EngineName, typer.Option(help="spark: for any size, what a certificate rests on; python: small runs, starts at once.")]
Master = Annotated[str, typer.Option(help="Spark master, such as local[*] or spark://HOST:PORT.")]
Run = Annotated[Path, typer.Argument(help="A run directory, as `fireassay run` leaves it.")]


def register(app: typer.Typer, room: str) -> None:
    app.command("judge", rich_help_panel=room)(judge)
    app.command("report", rich_help_panel=room)(report)


def judge(run: Run, engine: Engine = EngineName.SPARK, master: Master = "local[*]", as_json: AsJson = False) -> None:
    """Judge a recorded run: verdict per clause, certificate.json, report.html, all in the run directory.

    Exit 0 if nothing failed and nothing examined stayed unknown; 1 if something failed; 4 if something is unknown or nothing was shown.

    [bold]Examples[/]: fireassay judge runs/latest · fireassay judge runs/latest --engine python --json
    """
    with stages() as progress:
        found = judged(run, engine, master, progress)
    show(found, as_json=as_json)


def report(
    run: Run,
    form: Annotated[Format, typer.Option("--format", help="html: the whole report; md: for a pull request.")] = Format.HTML,
    out: Annotated[Path | None, typer.Option(help="Where to; without it md goes to the terminal and html into the run directory.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write the report of a run that was judged.

    [bold]Examples[/]: fireassay report runs/latest · fireassay report runs/latest --format md · fireassay report runs/latest --json
    """
    found = load_judged(run)
    text = html(found) if form is Format.HTML else markdown(found)
    if out is None and form is Format.MARKDOWN:
        print_value({"markdown": text}) if as_json else typer.echo(text)
        return
    target = out or run / "report.html"
    target.write_text(text, encoding="utf-8")
    print_rows([{"report": str(target), "format": form.value}], as_json=as_json)


def judged(run: Path, engine: str, master: str, progress: Stages) -> Judged:
    progress.stage(f"judge ({engine})")
    return judge_run(run, engine=engine, master=master, progress=lambda text: progress.step(text=text))


def show(found: Judged, *, as_json: bool) -> None:
    """Prints the verdicts and ends the command with the exit code that they mean."""
    counts = Counter(Verdict(clause["verdict"]) for clause in found.verdicts["clauses"])
    if as_json:
        print_value(found.verdicts)
    else:
        _table(found)
        for line in _summary(found):
            typer.echo(line, err=True)
    if counts[Verdict.FAIL]:
        raise typer.Exit(EXIT_FAILED)
    if counts[Verdict.UNKNOWN] or not (counts[Verdict.PASS] or counts[Verdict.TOLERATED]):
        raise typer.Exit(EXIT_NOTHING_SHOWN)


def _summary(found: Judged) -> Iterator[str]:
    """Of the systems that were examined; what stands on the certificate beside the verdicts; and where everything is."""
    counts = found.verdicts["counts"]
    for grade in found.certificate["crash_grades"]:
        if grade["planned"] or grade["not_run"]:
            why = f" ({'; '.join(grade['not_run'][:1])})" if grade["not_run"] and not grade["planned"] else ""
            yield f"{grade['grade']}: {grade['fired']} of {grade['planned']} planned faults fired at {len(grade['places'])} places{why}"
    incidents = found.verdicts["incidents"]
    for incident in incidents[:_INCIDENTS_SHOWN]:
        yield f"trial {incident['trial']}: {_short(incident['text'])}"
    if len(incidents) > _INCIDENTS_SHOWN:
        yield f"… and {len(incidents) - _INCIDENTS_SHOWN} more incidents"
    for canary in found.certificate["canaries"]:
        as_it_must = "convicted, as it must be" if canary["verdict"] == Verdict.FAIL else f"{canary['verdict']}: this judge is blind"
        yield f"canary of {canary['clause']}: {as_it_must}"
    yield ", ".join(f"{counts[verdict.value]} {verdict.value}" for verdict in Verdict if counts[verdict.value])
    yield f"certificate: {found.path / 'certificate.json'}"
    yield f"report: {found.path / 'report.html'}"


def _short(text: str) -> str:
    """Of a traceback, who it was and what it came to."""
    lines = text.strip().splitlines() or [""]
    return lines[0] if len(lines) == 1 else f"{lines[0].partition(': Traceback')[0]}: {lines[-1].strip()}"


def _table(found: Judged) -> None:
    """What was decided, in a table; what was not, by name. Clauses of systems that were not examined are only counted."""
    silent: dict[Verdict, list[str]] = {Verdict.NOT_RUN: [], Verdict.NOT_APPLICABLE: []}
    rows = []
    for clause in found.verdicts["clauses"]:
        verdict = Verdict(clause["verdict"])
        if verdict not in silent:
            evidence = [f"{name} {number:,}" for name, number in clause["evidence"].items()]
            evidence += [f"cases {outcome} {number}" for outcome, number in clause["cases"].items() if number]
            row = {"clause": clause["clause"], "verdict": verdict.value, "title": BY_ID[clause["clause"]].title}
            why = [f"{witness['anomaly']}: {witness['explanation']}" for witness in clause["witnesses"]] + clause["reasons"]
            rows.append({**row, "evidence": ", ".join(evidence), "why": why[0] if why and verdict is not Verdict.PASS else ""})
        elif clause["examined"]:
            silent[verdict].append(clause["clause"])
    print_rows(rows, as_json=False, title="Verdicts")
    for verdict, ids in silent.items():
        if ids:
            typer.echo(f"{verdict.value}: {' '.join(ids)}")
