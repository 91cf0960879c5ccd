"""Runs the cases against a target in a process of their own, so that whatever a target does to its process, the examination goes on."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from fireassay.conformance.run.model import CaseResult
from fireassay.conformance.targets import parse
from fireassay.spec.outcomes import HarnessError

__all__ = ["CaseProgress", "run_cases"]

CaseProgress = Callable[[int, int, str], None]  # finished, of how many, the last one
CASE_DEADLINE_S = 900.0 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 45.0  # many times what a case takes that goes on
_HANGS = 2  # cases that hung, after which a target is asked nothing more
_NONE_LEFT = 5  # pytest's exit code where no case was selected
_TICK_S = 0.1


def run_cases(
    target: str,
    *,
    select: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    deadline_s: float = 600.0,
    case_deadline_s: float = CASE_DEADLINE_S,
    progress: CaseProgress | None = None,
) -> list[CaseResult]:
    """One result per case. `select` are further words for pytest, such as -k or -m with what follows.

    A case that hangs is an error, and the others go on without it; behind a second one that hangs no other is begun, and each is an
    error. A run that did not come to its end gives what it had, and an error for the session itself: never fewer failures than there were.
    """
    until = time.monotonic() + deadline_s
    with tempfile.TemporaryDirectory(prefix="fireassay-cases-") as scratch:
        found: list[CaseResult] = []
        for _ in range(_HANGS):
            session = _Session(Path(scratch), target, {result.case for result in found}, progress or (lambda finished, total, name: None))
            code = session.run(select, environment or {}, until, case_deadline_s)
            found += session.results()
            if code in (0, 1) or (code == _NONE_LEFT and found):
                return found
            if session.hanging is None:
                why = f"did not end within {deadline_s:g} s" if code is None else f"ended with {code}"
                return [*found, _broken_session(target, why, session, found)]
            hung = f"it did not end within {case_deadline_s:g} s and was killed: the target hung, or the machine is overloaded"
            found = [replace(result, message=hung) if result.case == session.hanging else result for result in found]
        return [*found, *session.unbegun(f"not run: {_HANGS} cases before it hung")]


def _broken_session(target: str, why: str, session: "_Session", found: Sequence[CaseResult]) -> CaseResult:
    said = session.log.read_text(encoding="utf-8", errors="replace")[-2000:]
    if not found:
        raise HarnessError(f"the cases for {target!r} {why} before the first of them:\n{said}")
    clauses = tuple(sorted({clause for result in found for clause in result.clauses}))
    message = f"the session of cases {why}:\n{said}"
    return CaseResult(case="session of cases", clauses=clauses, outcome="error", seconds=0.0, message=message, through=session.through)


class _Session:
    """One pytest process over the cases that are not done yet."""

    def __init__(self, scratch: Path, target: str, done: Set[str], progress: CaseProgress) -> None:
        self.through = parse(target).kind
        self.hanging: str | None = None
        self.log = scratch / "pytest.log"
        self._scratch, self._target, self._done, self._progress = scratch, target, done, progress
        self._results, self._without = scratch / "results.jsonl", scratch / "without.txt"
        self._results.write_bytes(b"")
        self._without.write_text("\n".join(sorted(done)), encoding="utf-8")

    def run(self, select: Sequence[str], environment: Mapping[str, str], until: float, case_deadline_s: float) -> int | None:
        """The exit code, or None where it was killed: a case hung, or the time was over."""
        settings = self._scratch / "pytest.ini"  # not those of whatever project the caller stands in
        settings.write_text("[pytest]\nconsider_namespace_packages = true\n", encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "--pyargs", "fireassay.conformance.cases", "--target", self._target]
        command += [f"--case-results={self._results}", f"--without-cases={self._without}", f"--basetemp={self._scratch / 'places'}"]
        command += ["-p", "no:cacheprovider", "-p", "no:benchmark", "-q", "--color=no", "-c", str(settings), *select]
        home = {"HYPOTHESIS_STORAGE_DIRECTORY": str(self._scratch / "hypothesis")}  # nothing is left where the caller stands
        with self.log.open("wb") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env={**os.environ, **home, **environment},
                start_new_session=True,
            )  # fmt: skip
            try:
                return self._follow(process, until, case_deadline_s)
            finally:
                _end(process)

    def _follow(self, process: "subprocess.Popen[bytes]", until: float, case_deadline_s: float) -> int | None:
        told, begun, since = -1, "", time.monotonic()
        while True:
            try:
                code: int | None = process.wait(_TICK_S)
            except subprocess.TimeoutExpired:
                code = None
            lines, now = _lines(self._results), time.monotonic()
            ended = [line["case"] for line in lines if line["event"] == "report" and line["when"] == "teardown"]
            if len(ended) != told:
                told = len(ended)
                total = sum(len(line["cases"]) for line in lines if line["event"] == "collected")
                self._progress(len(self._done) + told, len(self._done) + total, ended[-1] if ended else "")
            last = next((line["case"] for line in reversed(lines) if line["event"] == "start"), "")
            if last != begun:
                begun, since = last, now
            if code is not None or now > until:
                return code
            if begun and begun not in ended and now - since > case_deadline_s:
                self.hanging = begun
                return None

    def results(self) -> list[CaseResult]:
        return _results(_lines(self._results), self.through)

    def unbegun(self, why: str) -> list[CaseResult]:
        """Those that were collected and never begun, as errors."""
        lines = _lines(self._results)
        begun = {line["case"] for line in lines if line["event"] == "start"}
        left = [
            (case, tuple(ids)) for line in lines if line["event"] == "collected" for case, ids in line["cases"] if ids and case not in begun
        ]
        return [CaseResult(case=case, clauses=ids, outcome="error", seconds=0.0, message=why, through=self.through) for case, ids in left]


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
