"""The bench on which the trials of one run are made: it numbers them, seeds them, and gives each a place of its own."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType

from fireassay.conformance.run.directory import RunDirectory
from fireassay.conformance.run.model import FaultEntry, Mode, NotRun, TargetFacts, TrialEntry
from fireassay.conformance.targets import load, parse
from fireassay.conformance.trials import Setting, TrialResult, variant_of_caller

__all__ = ["DEADLINE_S", "EPSILON_NS", "Bench", "begin", "keep"]

DEADLINE_S = 5.0
EPSILON_NS = 1000
_SEEDS = 10_000  # trials of one run at most


@dataclass(kw_only=True)
class Bench:
    """`ways`: the same target as specs, the first one being the way that was asked for. Below `scratch` nothing is kept."""

    ways: tuple[str, ...]
    recordings: Path
    scratch: Path
    seed: int
    nonce: int
    deadline_s: float
    epsilon_ns: int
    repeat: str
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    trials: int = 0

    @property
    def target(self) -> str:
        return self.ways[0]

    def setting(self, *, target: str = "", place: Path | None = None, mounts: str = "", **environment: str) -> Setting:
        """Of the next trial. What the bench's own environment says goes before what is asked for here."""
        self.trials += 1
        name = f"{self.trials:04}"
        return Setting(
            target=target or self.target,
            trial=name,
            recordings=self.recordings,
            place=place or self.scratch / name,
            seed=self.seed * _SEEDS + self.trials,
            nonce=self.nonce,
            deadline_s=self.deadline_s,
            epsilon_ns=self.epsilon_ns,
            environment=MappingProxyType({**environment, **self.environment}),
            mounts=mounts,
        )

    def discard(self, setting: Setting | None) -> None:
        """Of a trial that broke off no recording is kept: half of a history shows nothing."""
        for path in self.recordings.glob(f"{setting.trial}-*") if setting is not None else ():
            path.unlink()


def begin(
    target: str, ways: tuple[str, ...], *, mode: Mode, seed: int, out: Path | None, scratch: Path, repeat: str
) -> tuple[RunDirectory, Bench]:
    """A new run directory for the target, and the bench of its trials. What the caller chose of its builds holds for both."""
    environment = variant_of_caller()
    facts = TargetFacts.of(parse(target), load(target, scratch / "looked-at"), environment.get("FIREASSAY_CORE", "release"))
    deadline_ns = int(DEADLINE_S * 1e9)
    run = RunDirectory.create(out, target=facts, seed=seed, mode=mode, deadline_ns=deadline_ns, epsilon_ns=EPSILON_NS)
    bench = Bench(
        ways=ways,
        recordings=run.recordings,
        scratch=scratch,
        seed=seed,
        nonce=run.nonce,
        deadline_s=DEADLINE_S,
        epsilon_ns=EPSILON_NS,
        repeat=repeat,
        environment=environment,
    )
    return run, bench


def keep(run: RunDirectory, result: TrialResult) -> None:
    """What a trial leaves beside its recordings, among what the run writes down when it ends."""
    if result.ran:
        run.trials.append(TrialEntry(**result.manifest_entry()))
        run.faults += [FaultEntry(**asdict(fault)) for fault in result.faults]
    run.not_run += [NotRun(each.kind, each.reason) for each in result.not_run]
