"""Deaths at failpoints, made: one trial for several paths, of which each is a death, or a death in the recovery from the one before."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from fireassay.chaos.bench import Bench
from fireassay.chaos.engines.counting import COUNTER, VICTIM, carrying, planted
from fireassay.chaos.engines.lives import LOAD, Life, lead
from fireassay.conformance.trials import Load, Setting, Trial, TrialResult
from fireassay.conformance.trials.setting import MAIN_STREAM
from fireassay.spec.ports import FailpointAction, FailpointControl

__all__ = ["PATHS_PER_TRIAL", "Path", "Strike", "Struck", "strike"]

PATHS_PER_TRIAL = 12
_BYSTANDER = Load(batches=60)


@dataclass(frozen=True, slots=True)
class Strike:
    point: str
    nth: int


@dataclass(frozen=True, slots=True)
class Path:
    """The first death comes in this life, each further one in the recovery after the one before."""

    life: Life
    strikes: tuple[Strike, ...]


@dataclass(frozen=True, slots=True)
class Struck:
    """A trial, the failpoints that each recovery in it passed, and the paths on which a death did not come."""

    result: TrialResult
    passed: dict[Path, frozenset[str]]
    missed: list[Path]


def strike(bench: Bench, paths: Sequence[Path]) -> Struck:
    """Paths of one kind of life. The stream is the main one; where each death needs a fresh stream, that is a bystander."""
    life = paths[0].life
    setting = bench.setting(FIREASSAY_CORE="failpoints")
    with (
        Trial(setting, f"kill-failpoints-{life.name.lower().replace('_', '-')}", bench.repeat) as trial,
        planted(setting, VICTIM) as victim,
        planted(setting, COUNTER) as counter,
    ):
        scene = _Scene(trial, setting, victim, counter, bench.seed)
        {Life.REOPENED: _reopened, Life.FRESH: _fresh}.get(life, _readers)(scene, paths)
    return Struck(trial.result(), scene.passed, scene.missed)


@dataclass
class _Scene:
    trial: Trial
    setting: Setting
    victim: FailpointControl
    counter: FailpointControl
    seed: int
    passed: dict[Path, frozenset[str]] = field(default_factory=dict)
    missed: list[Path] = field(default_factory=list)

    def die(self, one: Strike, life: Life, *, name: str, stream: int) -> bool:
        """Who leads this life dies there."""
        control = self.victim
        control.arm(one.point, FailpointAction.CRASH, one.nth)
        child = lead(self.trial, life, name=name, seed=self.seed, stream=stream, extra=carrying(self.setting, VICTIM))
        fault = self.trial.struck(
            child, one.point, one.nth, hits=lambda: control.hits(one.point), fired=lambda: control.fired(one.point) == 1
        )
        control.disarm(one.point)
        return fault.fired

    def recover(self, path: Path, stream: int) -> bool:
        self.counter.arm_all(FailpointAction.COUNT)
        whole = self.trial.recover(stream=stream, extra=carrying(self.setting, COUNTER))
        self.passed[path] = frozenset(name for name in self.counter.names() if self.counter.hits(name))
        return whole

    def walk(self, path: Path, *, name: str = "", stream: int = MAIN_STREAM) -> None:
        """Up to the first death that did not come."""
        for one in path.strikes:
            if not self.die(one, path.life, name=name, stream=stream):
                self.missed.append(path)
                return

    def forgo(self, paths: Sequence[Path]) -> None:
        for path in paths:
            for one in path.strikes:
                self.trial.forgo("failpoint", one.point, one.nth)


@contextmanager
def _bystanders(scene: _Scene, load: Load, paths: Sequence[Path]) -> Iterator[Iterator[tuple[int, Path]]]:
    """The paths with their numbers; beside them a stream that was made, its writer, and two readers that go on while others die.

    A target that does not get as far is spared the rest, and so is one from which the user of the paths breaks off.
    """
    trial = scene.trial
    writer = trial.produce(load=load)
    ready = trial.wait_for_word(writer, "opened") if load.linger else trial.wait_for_end(writer)
    readers = [trial.read("one"), trial.read("two")]
    rest = iter(list(enumerate(paths)))
    yield rest if ready else iter(())
    scene.forgo([path for _, path in rest])
    trial.stop([writer])
    trial.recover()
    trial.stop(readers)


def _reopened(scene: _Scene, paths: Sequence[Path]) -> None:
    with _bystanders(scene, LOAD, paths) as begun:
        for _, path in begun:
            scene.walk(path)
            if not scene.recover(path, MAIN_STREAM):
                break


def _fresh(scene: _Scene, paths: Sequence[Path]) -> None:
    """All die before any recovers: a stream must be drained after the last death in its trial, and so each is drained once."""
    dead: list[tuple[int, Path]] = []
    with _bystanders(scene, _BYSTANDER, paths) as begun:
        for number, path in begun:
            dead.append((MAIN_STREAM + 1 + number, path))
            scene.walk(path, stream=dead[-1][0])
        for stream, path in dead:
            if not scene.recover(path, stream):
                break


def _readers(scene: _Scene, paths: Sequence[Path]) -> None:
    """Each comes again under its name, and must go on where it stood."""
    trial = scene.trial
    with _bystanders(scene, _BYSTANDER, paths) as begun:
        for number, path in begun:
            name = f"reader{number}"
            if path.life is Life.OLD_READER:
                trial.wait_for_end(lead(trial, Life.NEW_READER, name=name, seed=scene.seed))
            scene.walk(path, name=name)
            if not trial.wait_for_end(lead(trial, Life.OLD_READER, name=name, seed=scene.seed)):
                break
