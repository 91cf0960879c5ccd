"""What an examination does, stage by stage: cases by both ways in, trials without a fault, deaths, power losses. It only assembles."""

import shlex
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from fireassay.cli.progress import Stages
from fireassay.conformance.run.cases import run_cases
from fireassay.conformance.run.directory import RunDirectory
from fireassay.conformance.run.model import FaultEntry, NotRun, TargetFacts, TrialEntry
from fireassay.conformance.targets import load, parse
from fireassay.conformance.trials import Setting, TrialResult, canary, kill_random, steady

__all__ = ["Mode", "examine", "served"]

Mode = Literal["quick", "long"]
DEADLINE_S = 5.0
EPSILON_NS = 1000
SMALL_SEGMENTS = {"chronicle": "segment_size=4096"}  # so that a trial of some hundred records rolls often


@dataclass(frozen=True, slots=True)
class Amount:
    """How much of everything one mode asks for."""

    steady: int  # trials
    deaths: int  # trials of some deaths each
    cases_deadline_s: float


DEATHS_PER_TRIAL = 8
AMOUNTS: dict[Mode, Amount] = {
    "quick": Amount(steady=3, deaths=4, cases_deadline_s=300.0),
    "long": Amount(steady=20, deaths=25, cases_deadline_s=1800.0),
}


def examine(spec: str, *, mode: Mode, seed: int, out: Path | None, progress: Stages) -> Path:
    """Leaves a finished run directory, or an unfinished one that no judge takes."""
    parsed, amount = parse(spec), AMOUNTS[mode]
    with tempfile.TemporaryDirectory(prefix="fireassay-") as scratch:
        target = load(spec, Path(scratch) / "looked-at")
        facts = TargetFacts.of(parsed, target)
        run = RunDirectory.create(out, target=facts, seed=seed, mode=mode, deadline_ns=int(DEADLINE_S * 1e9), epsilon_ns=EPSILON_NS)
        _cases(run, spec, amount, progress)
        _trials(run, spec, seed, mode, Path(scratch), progress)
    progress.stage("seal the history")
    return run.finish()


def served(spec: str) -> str:
    """The same target behind the driver protocol, so that neither way in is second class."""
    return f"driver:{shlex.join([sys.executable, '-m', 'fireassay.conformance.driver.serve', spec])}"


def _cases(run: RunDirectory, spec: str, amount: Amount, progress: Stages) -> None:
    ways = [spec] if parse(spec).kind == "driver" else [spec, served(spec)]
    for way in ways:
        progress.stage(f"cases, target as {parse(way).kind}")
        run.cases += run_cases(
            way, deadline_s=amount.cases_deadline_s, progress=lambda finished, total, name: progress.step(finished, total)
        )


def _trials(run: RunDirectory, spec: str, seed: int, mode: Mode, scratch: Path, progress: Stages) -> None:
    amount = AMOUNTS[mode]
    largest = load(_small(spec), scratch / "looked-at-small").promises.bounds.max_payload
    repeat = f"fireassay run {shlex.quote(spec)} --mode {mode} --seed {seed}"

    def setting() -> Setting:
        number = len(run.trials) + 1
        return Setting(
            target=_small(spec),
            trial=f"{number:04}",
            recordings=run.recordings,
            place=scratch / f"{number:04}",
            seed=seed * 10_000 + number,
            nonce=run.nonce,
            deadline_s=DEADLINE_S,
            epsilon_ns=EPSILON_NS,
        )

    progress.stage("canary: a log that is broken on purpose")
    _keep(run, canary(setting(), repeat=repeat))
    progress.stage("trials without a fault", amount.steady)
    for _ in range(amount.steady):
        _keep(run, steady(setting(), max_payload=largest, repeat=repeat))
        progress.step()
    progress.stage("trials with writers killed", amount.deaths)
    for _ in range(amount.deaths):
        _keep(run, kill_random(setting(), kills=DEATHS_PER_TRIAL, repeat=repeat))
        progress.step()


def _small(spec: str) -> str:
    name, mark, _ = spec.partition("?")
    return f"{name}?{SMALL_SEGMENTS[name]}" if not mark and name in SMALL_SEGMENTS else spec


def _keep(run: RunDirectory, result: TrialResult) -> None:
    if result.ran:
        run.trials.append(TrialEntry(**result.manifest_entry()))
        run.faults += [FaultEntry(**asdict(fault)) for fault in result.faults]
    run.not_run += [NotRun(each.kind, each.reason) for each in result.not_run]
