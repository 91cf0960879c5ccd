"""Runs the cases against a target in a process of their own, so that whatever a target does to its process, the examination goes on."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from fireassay.conformance.run.model import CaseResult
from fireassay.conformance.targets import parse
from fireassay.spec.outcomes import HarnessError

__all__ = ["CaseProgress", "run_cases"]

CaseProgress = Callable[[int, int, str], None]  # finished, of how many, the last one
_TICK_S = 0.1


def run_cases(
    target: str,
    *,
    select: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    deadline_s: float = 600.0,
    progress: CaseProgress | None = None,
) -> list[CaseResult]:
    """One result per case. `select` are further words for pytest, such as -k or -m with what follows.

    A run that did not come to its end gives what it had, and an error for the session itself: never fewer failures than there were.
    """
    through = parse(target).kind
    with tempfile.TemporaryDirectory(prefix="fireassay-cases-") as scratch:
        results, log = Path(scratch) / "results.jsonl", Path(scratch) / "pytest.log"
        results.touch()
        settings = Path(scratch) / "pytest.ini"  # not those of whatever project the caller stands in
        settings.write_text("[pytest]\nconsider_namespace_packages = true\n", encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "--pyargs",
            "fireassay.conformance.cases",
            "--target",
            target,
            f"--case-results={results}",
        ]
        command += [
            "-p",
            "no:cacheprovider",
            "-p",
            "no:benchmark",
            "-q",
            "--color=no",
            f"--basetemp={Path(scratch) / 'places'}",
            "-c",
            str(settings),
            *select,
        ]
        home = {"HYPOTHESIS_STORAGE_DIRECTORY": str(Path(scratch) / "hypothesis")}  # nothing is left where the caller stands
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env={**os.environ, **home, **(environment or {})},
                start_new_session=True,
            )  # fmt: skip
            try:
                code = _follow(process, results, deadline_s, progress or (lambda finished, total, name: None))
            finally:
                _end(process)
        found = _results(_lines(results), through)
        if code not in (0, 1):
            said = log.read_text(encoding="utf-8", errors="replace")[-2000:]
            why = f"did not end within {deadline_s:g} s" if code is None else f"ended with {code}"
            if not found:
                raise HarnessError(f"the cases for {target!r} {why} before the first of them:\n{said}")
            message = f"the session of cases {why}:\n{said}"
            clauses = tuple(sorted({clause for result in found for clause in result.clauses}))
            session = CaseResult(case="session of cases", clauses=clauses, outcome="error", seconds=0.0, message=message, through=through)
            found.append(session)
        return found


def _follow(process: "subprocess.Popen[bytes]", results: Path, deadline_s: float, progress: CaseProgress) -> int | None:
    """The exit code, or None where the time was over."""
    deadline, told = time.monotonic() + deadline_s, -1
    while True:
        try:
            code: int | None = process.wait(_TICK_S)
        except subprocess.TimeoutExpired:
            code = None
        lines = _lines(results)
        total = sum(len(line["cases"]) for line in lines if line["event"] == "collected")
        cases = [line["case"] for line in lines if line["event"] == "report" and line["when"] == "teardown"]
        if len(cases) != told:
            told = len(cases)
            progress(told, total, cases[-1] if cases else "")
        if code is not None or time.monotonic() > deadline:
            return code


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Also what the cases started and left behind."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _lines(results: Path) -> list[dict[str, Any]]:
    """Whole lines only: the last may still be on its way."""
    text = results.read_text(encoding="utf-8")
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def _results(lines: Sequence[Mapping[str, Any]], through: Literal["object", "driver"]) -> list[CaseResult]:
    """Passed only where setup, call and teardown were; a case that was begun and not ended is an error, a canary is none of a target's."""
    clauses = {case: tuple(ids) for line in lines if line["event"] == "collected" for case, ids in line["cases"]}
    begun = [line["case"] for line in lines if line["event"] == "start"]
    told = {case: [line for line in lines if line["event"] == "report" and line["case"] == case] for case in begun if clauses.get(case)}
    return [_result(case, clauses[case], reports, through) for case, reports in told.items()]


def _result(case: str, clauses: tuple[str, ...], reports: Sequence[Mapping[str, Any]], through: Literal["object", "driver"]) -> CaseResult:
    bad = next((report for report in reports if report["outcome"] == "failed"), None)
    skipped = next((report for report in reports if report["outcome"] == "skipped"), None)
    outcome: Literal["passed", "failed", "skipped", "error"] = "passed"
    message = ""
    if bad is not None:  # what breaks around the case says nothing about the target
        outcome, message = "failed" if bad["when"] == "call" else "error", str(bad["message"])
    elif not any(report["when"] == "teardown" for report in reports):
        outcome, message = "error", "it never ended"
    elif skipped is not None:
        outcome, message = "skipped", str(skipped["message"])
    seconds = round(sum(float(report["seconds"]) for report in reports), 6)
    return CaseResult(case=case, clauses=clauses, outcome=outcome, seconds=seconds, message=message, through=through)
