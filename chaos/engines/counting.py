"""Which failpoints the lives of a target pass, and how often: counted in undisturbed lives, never kept by hand."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fireassay.chaos.bench import Bench
from fireassay.chaos.engines.lives import Life, lead
from fireassay.conformance.targets import control_file
from fireassay.conformance.trials import Setting, Trial, TrialResult
from fireassay.conformance.trials.children import Child
from fireassay.spec.ports import FailpointAction, FailpointControl

__all__ = ["COUNTER", "VICTIM", "Counts", "carrying", "count_lives", "planted"]

COUNTER, VICTIM = "counter", "victim"


@dataclass(frozen=True, slots=True)
class Counts:
    """Life → failpoint → hits; what was passed never is missing."""

    of: Mapping[Life, Mapping[str, int]]

    def life(self, name: str) -> Life | None:
        return next((life for life in Life if name in self.of[life]), None)

    def hits(self, name: str) -> int:
        life = self.life(name)
        return 0 if life is None else self.of[life][name]

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*self.of.values())


@contextmanager
def planted(setting: Setting, who: str) -> Iterator[FailpointControl]:
    """A control file for one kind of process of this trial; `carrying` gives it to one."""
    path = _file(setting, who)
    path.parent.mkdir(parents=True, exist_ok=True)
    with control_file(setting.target, path) as control:
        try:
            yield control
        finally:
            path.unlink(missing_ok=True)


def carrying(setting: Setting, who: str) -> dict[str, str]:
    return {"FIREASSAY_FAILPOINTS": str(_file(setting, who).absolute())}


def _file(setting: Setting, who: str) -> Path:
    """Beside the place, which may be taken from under the trial."""
    return setting.place.with_name(f"{setting.trial}-{who}.failpoints")


def count_lives(bench: Bench) -> tuple[Counts, TrialResult]:
    """One undisturbed trial under the build that carries failpoints, in which every kind of life is led once, beside two readers."""
    setting = bench.setting(FIREASSAY_CORE="failpoints")
    found: dict[Life, dict[str, int]] = {life: {} for life in Life}
    with Trial(setting, "failpoints-counted", bench.repeat) as trial, planted(setting, COUNTER) as control:
        readers: list[Child] = []
        for life in (Life.FRESH, *(life for life in Life if life is not Life.FRESH)):
            control.arm_all(FailpointAction.COUNT)
            child = lead(trial, life, name="counted", seed=bench.seed, extra=carrying(setting, COUNTER))
            if not trial.wait_for_end(child):
                break
            found[life] = {name: hits for name in control.names() if (hits := control.hits(name))}
            readers = readers or [trial.read("one"), trial.read("two")]
        trial.recover()
        trial.stop(readers)
    return Counts(found), trial.result()
