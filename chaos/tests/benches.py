"""A bench for one test, what the plain checks say of what was recorded on it, and an engine at work in a process of its own."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from fireassay.chaos.bench import Bench
from fireassay.conformance.targets import load
from fireassay.conformance.trials import TrialResult, convictions, judge_trials

__all__ = ["CHRONICLE", "DEADLINE_S", "all_end", "at_work", "bench", "descendants", "faulty", "fired", "mutant", "until", "verdict_of"]

CHRONICLE = "chronicle?segment_size=4096"
DEADLINE_S = 2.0
PATIENCE_S = 60.0


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


def at_work(where: Path, engine: str, target: str = CHRONICLE) -> "subprocess.Popen[bytes]":
    """An engine that makes far more faults than anybody waits for."""
    script = (
        "import sys; from pathlib import Path; from fireassay.chaos.engines import ENGINES\n"
        "from fireassay.chaos.tests.benches import bench\n"
        "list(ENGINES[sys.argv[2]].make(bench(Path(sys.argv[1]), sys.argv[3]), 10000))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    return subprocess.Popen([sys.executable, "-c", script, str(where), engine, target], env=environment, stdout=subprocess.DEVNULL)


def descendants(pid: int) -> list[int]:
    found = [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [*found, *(below for each in found for below in descendants(each))]


def living(pids: Sequence[int]) -> list[str]:
    """What those are that are not gone, and do not merely wait to be buried."""
    found = []
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            if state not in "ZX":
                found.append(f"{pid} {state} {Path(f'/proc/{pid}/cmdline').read_bytes()[-200:]!r}")
    return found


def all_end(pids: Sequence[int]) -> None:
    end = time.monotonic() + PATIENCE_S
    while left := living(pids):
        assert time.monotonic() < end, f"after {PATIENCE_S:g} s there are still {left}"
        time.sleep(0.01)


def until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"waited {PATIENCE_S:g} s for {what}"
        time.sleep(0.01)
