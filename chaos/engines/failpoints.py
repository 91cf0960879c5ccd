"""Kill −9 at every failpoint that a life of the target passes.

Three steps. Undisturbed lives are counted: that says which failpoints are passed, and how often. Then a process dies at each of them,
at its first hit, or at several. The recovery after each death is counted, too: what only such a recovery passes (or, where much is
asked for, whatever one passes) is killed there, as a second death after that first one, and so on until nothing new is found. What no
life and no recovery passed is reported by name.
"""

from collections.abc import Generator, Iterator, Sequence
from itertools import groupby

from fireassay.chaos.bench import Bench
from fireassay.chaos.engines.counting import Counts, count_lives
from fireassay.chaos.engines.engine import FUTILE, Engine, not_run
from fireassay.chaos.engines.lives import Life
from fireassay.chaos.engines.strikes import PATHS_PER_TRIAL, Path, Strike, strike
from fireassay.conformance.targets import failpoints
from fireassay.conformance.trials import TrialResult
from fireassay.spec.outcomes import EnvironmentUnfit

__all__ = ["KILL_FAILPOINTS", "hits_to_kill", "plan"]

_DEEPEST = 3  # deaths on one path
_EVERYWHERE = 4  # amount from which on also a middle hit is killed, and every failpoint in a recovery, too


def hits_to_kill(passed: int, amount: int) -> tuple[int, ...]:
    """The first ones, and of four or more one in the middle of the life, too."""
    first = range(1, min(passed, amount if amount < _EVERYWHERE else amount - 1) + 1)
    return tuple(sorted({*first, *([passed // 2] if amount >= _EVERYWHERE and passed > 1 else [])}))


def plan(counts: Counts, amount: int) -> list[Path]:
    return [
        Path(life, (Strike(name, nth),))
        for name in sorted(counts.names)
        if (life := counts.life(name)) is not None
        for nth in hits_to_kill(counts.hits(name), amount)
    ]


def _by_life(path: Path) -> int:
    return list(Life).index(path.life)


def _make(bench: Bench, amount: int) -> Iterator[TrialResult]:
    try:
        offered = {point.name for point in failpoints(bench.target)}
    except EnvironmentUnfit as error:
        yield _not_run(bench, str(error))
        return
    if not offered:
        yield _not_run(bench, f"target {bench.target} offers no failpoints")
        return
    counts, result = count_lives(bench)
    yield result
    reached = yield from _strike_all(bench, plan(counts, amount), counts, everywhere=amount >= _EVERYWHERE)
    missing = sorted(offered - reached)
    if missing:
        why = "no life of a writer or a reader that was counted passes them, and no recovery from a death"
        yield _not_run(bench, f"{len(missing)} of {len(offered)} failpoints were not reached: {why}: {', '.join(missing)}")


def _strike_all(bench: Bench, paths: list[Path], counts: Counts, *, everywhere: bool) -> Generator[TrialResult, None, set[str]]:
    """Returns what was passed by any life or recovery. A path on which a death did not come is walked once more."""
    known, again, futile = set(counts.names), set[Path](), 0
    of_readers = {name for life, names in counts.of.items() if life.reads for name in names}
    met = of_readers if everywhere else set(known)  # and need not be met in a recovery
    while paths:
        passed: dict[Path, frozenset[str]] = {}
        missed: list[Path] = []
        for some in _portions(paths):
            if futile >= FUTILE:
                yield _not_run(bench, f"the target did not come back, and no process was killed at {_names(some)}")
                continue
            struck = strike(bench, some)
            futile += struck.result.fired < struck.result.planned and bool(struck.result.incidents)
            passed |= struck.passed
            missed += struck.missed
            yield struck.result
        known |= frozenset().union(*passed.values())
        paths = [*_deeper(passed, met), *(path for path in missed if path not in again)]
        again |= set(missed)
    return known


def _deeper(passed: dict[Path, frozenset[str]], met: set[str]) -> list[Path]:
    """A death at what recoveries pass and was not yet met in one, behind the deaths that led to it."""
    found = []
    for path, names in passed.items():
        for name in sorted(names - met if len(path.strikes) < _DEEPEST and not path.life.reads else ()):
            met.add(name)
            found.append(Path(path.life, (*path.strikes, Strike(name, 1))))
    return found


def _portions(paths: Sequence[Path]) -> Iterator[Sequence[Path]]:
    """Of paths of one life each."""
    for _, group in groupby(sorted(paths, key=_by_life), key=_by_life):
        same = list(group)
        yield from (same[at : at + PATHS_PER_TRIAL] for at in range(0, len(same), PATHS_PER_TRIAL))


def _names(paths: Sequence[Path]) -> str:
    return ", ".join(dict.fromkeys(one.point for path in paths for one in path.strikes))


def _not_run(bench: Bench, reason: str) -> TrialResult:
    return not_run(bench, "kill-failpoints", "failpoint", reason)


KILL_FAILPOINTS = Engine(
    name="kill-failpoints",
    kind="failpoint",
    what="kill −9 at every failpoint that is reached, in a writer's and a reader's life and in recoveries, while two readers go on",
    unit="hits of each failpoint",
    amounts={"smoke": 0, "quick": 1, "long": 4},
    make=_make,
)
