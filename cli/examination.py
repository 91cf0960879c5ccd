"""What an examination does, stage by stage: cases by both ways in, trials without a fault, and every engine. It only assembles."""

import shlex
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fireassay.chaos.bench import Bench, begin, keep
from fireassay.chaos.engines import ENGINES, Engine, Mode
from fireassay.cli.progress import Stages
from fireassay.conformance.run.cases import run_cases
from fireassay.conformance.run.directory import RunDirectory
from fireassay.conformance.run.model import NotRun
from fireassay.conformance.targets import load, parse, small
from fireassay.conformance.trials import canary, steady

__all__ = ["Mode", "examine", "served"]

FUTILE = 2  # trials in which the target did what nobody asked for


@dataclass(frozen=True, slots=True)
class Amount:
    """How much one mode asks for; of faults each engine says it itself."""

    steady: int  # trials
    cases_deadline_s: float
    ways: int = 2  # in; the first one is the one that was asked for


AMOUNTS: dict[Mode, Amount] = {
    "smoke": Amount(steady=1, cases_deadline_s=300.0, ways=1),
    "quick": Amount(steady=4, cases_deadline_s=300.0),
    "long": Amount(steady=20, cases_deadline_s=1800.0),
}


def examine(spec: str, *, mode: Mode, seed: int, out: Path | None, progress: Stages) -> Path:
    """Leaves a finished run directory, or an unfinished one that no judge takes."""
    amount, again = AMOUNTS[mode], f"fireassay run {shlex.quote(spec)} --mode {mode} --seed {seed}"
    with tempfile.TemporaryDirectory(prefix="fireassay-") as scratch:
        ways = _ways(small(spec))[: amount.ways]
        run, bench = begin(spec, ways, mode=mode, seed=seed, out=out, scratch=Path(scratch), repeat=again)
        _cases(run, spec, amount, progress)
        progress.stage("canary: a log that is broken on purpose")
        keep(run, canary(bench.setting(), repeat=bench.repeat))
        if _undisturbed(run, bench, amount.steady, progress):
            for engine in ENGINES.values():
                _faults(run, bench, engine, mode, progress)
        else:
            why = f"{FUTILE} trials without a fault did not go as they should; no fault is made to what does not go on by itself"
            run.not_run += [NotRun(engine.kind, why) for engine in ENGINES.values()]
    progress.stage("seal the history")
    return run.finish()


def served(spec: str) -> str:
    """The same target behind the driver protocol, so that neither way in is second class."""
    return f"driver:{shlex.join([sys.executable, '-m', 'fireassay.conformance.driver.serve', spec])}"


def _ways(spec: str) -> tuple[str, ...]:
    return (spec,) if parse(spec).kind == "driver" else (spec, served(spec))


def _cases(run: RunDirectory, spec: str, amount: Amount, progress: Stages) -> None:
    for way in _ways(spec)[: amount.ways]:
        progress.stage(f"cases, target as {parse(way).kind}")
        run.cases += run_cases(
            way, deadline_s=amount.cases_deadline_s, progress=lambda finished, total, name: progress.step(finished, total)
        )


def _undisturbed(run: RunDirectory, bench: Bench, trials: int, progress: Stages) -> bool:
    """False where the target is in no state to go on with."""
    futile = 0
    progress.stage("trials without a fault", trials)
    largest = load(bench.target, bench.scratch / "looked-at-small").promises.bounds.max_payload
    for number in range(trials):
        way = bench.ways[number % len(bench.ways)]
        result = steady(bench.setting(target=way), max_payload=largest, repeat=bench.repeat)
        keep(run, result)
        progress.step()
        futile += bool(result.incidents)
        if futile >= FUTILE:
            return False
    return True


def _faults(run: RunDirectory, bench: Bench, engine: Engine, mode: Mode, progress: Stages) -> None:
    if not engine.amounts[mode]:
        run.not_run.append(NotRun(engine.kind, f"{mode} mode makes no faults with {engine.name}"))
        return
    progress.stage(f"{engine.name}: {engine.amounts[mode]} {engine.unit}")
    fired = 0
    for result in engine.make(bench, engine.amounts[mode]):
        keep(run, result)
        fired += result.fired
        progress.step(fired)
