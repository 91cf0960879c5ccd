"""Puts mutants through the examination: by the cases of the clause that each one breaks, or where only a crash shows it, by an engine."""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from fireassay.chaos.bench import DEADLINE_S, EPSILON_NS, Bench
from fireassay.chaos.engines import ENGINES
from fireassay.cli.progress import Stages
from fireassay.conformance.coverage import existing_systems
from fireassay.conformance.mutation import examine_mutant
from fireassay.conformance.pending import PENDING
from fireassay.conformance.targets import known, load, small
from fireassay.conformance.trials import judge_trials
from fireassay.reference.mutants import Mutant
from fireassay.spec.clause import Method
from fireassay.spec.clauses import BY_ID
from fireassay.spec.outcomes import Verdict

__all__ = ["Examined", "Outcome", "sweep"]

SEED = 7
_NO_FAULT = ""


class Outcome(Enum):
    CAUGHT = "caught"
    SURVIVED = "survived"
    NOT_EXAMINED = "not examined"


_OUTCOMES = {True: Outcome.CAUGHT, False: Outcome.SURVIVED, None: Outcome.NOT_EXAMINED}


@dataclass(frozen=True, slots=True)
class Examined:
    mutant: Mutant
    outcome: Outcome
    seen: str  # what convicts it, or why nothing does


def sweep(mutants: Iterable[Mutant], progress: Stages) -> list[Examined]:
    """What convicts a mutant must acquit the same build without a fault, or it says nothing."""
    wanted = list(mutants)
    progress.stage("mutants", len(wanted))
    suspicious: dict[tuple[str, str], str] = {}
    found: list[Examined] = []
    for mutant in wanted:
        progress.step(len(found), len(wanted), text=mutant.name)
        found.append(_examined(mutant, suspicious))
    return found


def _examined(mutant: Mutant, suspicious: dict[tuple[str, str], str]) -> Examined:
    target = mutant.name.partition("_")[0]
    clause = BY_ID[mutant.clause]
    if target not in known():
        return Examined(
            mutant, Outcome.NOT_EXAMINED, "it breaks a part of the core and no target by itself; tests of the reference show it"
        )
    if clause.id in PENDING or clause.system not in existing_systems():
        return Examined(mutant, Outcome.NOT_EXAMINED, f"{clause.id} has no case yet; tests of the reference show it")
    place = (target, clause.id)
    if place not in suspicious:
        convicted, why = _convicts(target, _NO_FAULT, clause.id)
        suspicious[place] = why if convicted else ""
    if suspicious[place]:
        return Examined(mutant, Outcome.NOT_EXAMINED, f"the build without a fault is convicted, too: {suspicious[place]}")
    caught, seen = _convicts(target, mutant.name, clause.id)
    return Examined(mutant, _OUTCOMES[caught], seen)


def _convicts(target: str, mutant: str, clause: str) -> tuple[bool | None, str]:
    """None where nobody could examine it."""
    environment = {"FIREASSAY_CORE": "mutants", "FIREASSAY_MUTANT": mutant}
    methods = set(BY_ID[clause].verified)
    if Method.POWER in methods and not methods & {Method.KILL, Method.CASE, Method.LAYOUT}:
        return _by_engine("power", target, environment, clause)
    cases = examine_mutant(target, mutant, clause, environment)
    return bool(cases), cases.sentences[0] if cases.sentences else f"all {len(cases.cases)} cases of {clause} passed"


def _by_engine(kind: str, target: str, environment: dict[str, str], clause: str) -> tuple[bool | None, str]:
    """Trials with faults of that kind, judged by the plain checks."""
    with tempfile.TemporaryDirectory(prefix="fireassay-") as made:
        scratch = Path(made)
        bench = Bench(
            ways=(small(target),),
            recordings=scratch / "recordings",
            scratch=scratch / "places",
            seed=SEED,
            nonce=1,
            deadline_s=DEADLINE_S,
            epsilon_ns=EPSILON_NS,
            repeat="",
            environment=environment,
        )
        engines = [engine for engine in ENGINES.values() if engine.kind == kind]
        trials = [trial for engine in engines for trial in engine.make(bench, engine.amounts["quick"])]
        if not any(trial.ran for trial in trials):
            return None, "; ".join(each.reason for trial in trials for each in trial.not_run) or f"no engine makes faults of kind {kind}"
        judged = judge_trials(bench.recordings, load(target, scratch / "looked-at").promises, DEADLINE_S)
        results = [result for each in judged.values() for result in each if result.clause == clause]
    witnesses = [f"{witness.anomaly}: {witness.explanation}" for result in results for witness in result.witnesses]
    if any(result.verdict is Verdict.FAIL for result in results):
        return True, witnesses[0]
    return False, f"{sum(trial.fired for trial in trials)} faults of kind {kind} fired, and {clause} was not violated"
