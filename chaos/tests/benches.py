"""A bench for one test, and what the plain checks say of what was recorded on it."""

from collections.abc import Sequence
from pathlib import Path

from fireassay.chaos.bench import Bench
from fireassay.conformance.targets import load
from fireassay.conformance.trials import TrialResult, convictions, judge_trials

__all__ = ["CHRONICLE", "DEADLINE_S", "bench", "faulty", "fired", "mutant", "verdict_of"]

CHRONICLE = "chronicle?segment_size=4096"
DEADLINE_S = 2.0


def bench(where: Path, *ways: str, seed: int = 7, environment: dict[str, str] | None = None) -> Bench:
    print(f"seed {seed}")
    return Bench(
        ways=ways or (CHRONICLE,),
        recordings=where / "recordings",
        scratch=where / "scratch",
        seed=seed,
        nonce=1,
        deadline_s=DEADLINE_S,
        epsilon_ns=1000,
        repeat="",
        environment=environment or {},
    )


def faulty(fault: str) -> str:
    return f"py:fireassay.conformance.targets.faulty:make?fault={fault}"


def mutant(name: str) -> dict[str, str]:
    return {"FIREASSAY_CORE": "mutants", "FIREASSAY_MUTANT": name}


def verdict_of(one: Bench) -> list[str]:
    """A sentence for each conviction and each doubt; empty where everything recorded is sound."""
    promises = load(one.target, one.scratch / "looked-at").promises
    return convictions(judge_trials(one.recordings, promises, one.deadline_s))


def fired(results: Sequence[TrialResult]) -> tuple[int, int]:
    """Of how many planned how many fired."""
    return sum(result.planned for result in results), sum(result.fired for result in results)
