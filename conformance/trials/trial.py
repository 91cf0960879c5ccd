"""The coordinator of one trial: starts real processes, makes their deaths, and records what is true of both, as actor 1.

    with Trial(setting, "kill-random") as trial:
        writer = trial.produce()
        trial.wait_for_word(writer, "opened")
        trial.kill(writer)
        trial.recover()

Every wait has a deadline. Whoever misses it is killed, and the history says so. On the way out, whatever the way, no process is left.
"""

import random
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import wait
from types import FrameType, TracebackType
from typing import Any, Protocol, Self

from fireassay.conformance.recorder.recorder import Recorder
from fireassay.conformance.recorder.recording import Actor, Role
from fireassay.conformance.trials.children import Child, start
from fireassay.conformance.trials.results import FaultKindName, FaultRecord, NotRun, TrialResult
from fireassay.conformance.trials.setting import MAIN_STREAM, ActorSpec, Job, Load, Setting, resolved
from fireassay.spec.history.ops import FaultKind, Op, Phase
from fireassay.spec.outcomes import HarnessError

__all__ = ["COORDINATOR", "Supply", "Trial"]

COORDINATOR = 1
HEARTBEAT_NS = 20_000_000
_U64 = (1 << 64) - 1
_HUNG = "the process hung, and was killed"


class Supply(Protocol):
    """The power of the disk below the target's place."""

    def cut(self) -> None:
        """From now on nothing becomes durable."""

    def restore(self) -> str:
        """The disk is as it was made durable. Why nothing was lost of what was not, or nothing to say."""


class Trial:
    def __init__(self, setting: Setting, scenario: str, repeat: str = "") -> None:
        place, recordings = setting.place.absolute(), setting.recordings.absolute()
        if place == recordings or place in recordings.parents:
            raise HarnessError(f"recordings in {recordings} would lie under {place}, to which the faults are made")
        self.setting = setting
        self.scenario = scenario
        self.dice = random.Random(setting.seed)
        self.faults: list[FaultRecord] = []
        self.not_run: list[NotRun] = []
        self.incidents: list[str] = []
        self.crashes = 0
        self._repeat = repeat
        self._target = resolved(setting.target)
        self._living: list[Child] = []
        self._down: dict[int, int] = {}  # stream → ordinal of the crash from which nobody has recovered it
        self._ordinals = 0  # of sentinels
        self._incarnations: dict[tuple[int, Job, str], int] = {}
        self._actors = COORDINATOR
        self._streams: set[int] = set()
        self._beat = 0
        self._began = time.monotonic()
        self._handler: Any = None

    # -- beginning and end

    def __enter__(self) -> Self:
        self.setting.recordings.mkdir(parents=True, exist_ok=True)
        self.setting.place.mkdir(parents=True, exist_ok=True)
        actor = Actor(actor=COORDINATOR, role=Role.HARNESS, name="coordinator")
        prefix = self.setting.recordings / f"{self.setting.trial}-harness-{COORDINATOR}"
        self._recorder = Recorder.open(prefix, [actor], capacity=1 << 12, nonce=self.setting.nonce, epsilon_ns=self.setting.epsilon_ns)
        self._beat = self._recorder.now()
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._handler = signal.signal(signal.SIGTERM, _leave)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self.stop(list(self._living))
            self.event(Op.HEAL)
            self.event(Op.RUN_END)
        finally:
            for child in self._living:
                child.kill_wholly()
            for child in list(self._living):
                self._wait(lambda child=child: not child.alive, 10.0, [child])  # type: ignore[misc]
                self._bury(child)
            self._recorder.close()
            shutil.rmtree(self.setting.place, ignore_errors=True)
            if self._handler is not None:
                signal.signal(signal.SIGTERM, self._handler)

    def result(self) -> TrialResult:
        return TrialResult(
            trial=self.setting.trial,
            scenario=self.scenario,
            seed=self.setting.seed,
            repeat=self._repeat,
            faults=tuple(self.faults),
            not_run=tuple(self.not_run),
            incidents=tuple(self.incidents),
            seconds=round(time.monotonic() - self._began, 3),
        )

    # -- rows

    def event(self, op: Op, **fields: int) -> None:
        self._recorder.event(op, Phase.EVENT, actor=COORDINATOR, **{name: value & _U64 for name, value in fields.items()})

    def _tick(self) -> None:
        now = self._recorder.now()
        if now - self._beat >= HEARTBEAT_NS:
            self.event(Op.HEARTBEAT, value=now - self._beat)
            self._beat = now

    # -- processes

    def produce(
        self,
        *,
        stream: int = MAIN_STREAM,
        load: Load | None = None,
        seed: int | None = None,
        held: bool = False,
        extra: dict[str, str] | None = None,
    ) -> Child:
        """`seed` repeats a life that was counted before; without it one is drawn."""
        down = self._down.get(stream)
        return self._spawn("produce", stream, load=load or Load(), seed=seed, held=held, extra=extra, after_crash=down)

    def read(
        self,
        name: str,
        *,
        stream: int = MAIN_STREAM,
        follows: bool = True,
        seed: int | None = None,
        held: bool = False,
        extra: dict[str, str] | None = None,
    ) -> Child:
        return self._spawn("read", stream, reader=name, follows=follows, seed=seed, held=held, extra=extra)

    def close(self, *, stream: int = MAIN_STREAM, held: bool = False, extra: dict[str, str] | None = None) -> Child:
        """A writer that recovers, puts a sentinel and closes; then a drain in the same process."""
        self._ordinals += 1
        self._actors += 1
        down = self._down.get(stream)
        return self._spawn("close", stream, held=held, extra=extra, after_crash=down, ordinal=self._ordinals, second=self._actors)

    def _spawn(
        self, job: Job, stream: int, *, extra: dict[str, str] | None = None, reader: str = "", seed: int | None = None, **fields: Any
    ) -> Child:
        self._actors += 1
        self._streams.add(stream)
        setting, actor, who = self.setting, self._actors, (stream, job, reader)
        incarnation = self._incarnations.get(who, -1) + 1
        self._incarnations[who] = incarnation
        spec = ActorSpec(
            job=job,
            actor=actor,
            recording=str(setting.recordings.absolute() / f"{setting.trial}-{job}-{actor}"),
            target=self._target,
            place=str(setting.place.absolute()),
            stream=stream,
            seed=self.dice.getrandbits(48) if seed is None else seed,
            nonce=setting.nonce,
            epsilon_ns=setting.epsilon_ns,
            patience_s=setting.patience_s,
            incarnation=incarnation % 256,
            producer=1 + incarnation // 256 if job == "produce" else 0x7FFF,
            reader=reader,
            environment=tuple({**setting.environment, **(extra or {})}.items()),
            mounts=setting.mounts,
            **fields,
        )
        child = start(spec)
        self._living.append(child)
        self.event(Op.SPAWN, seq=child.pid, key=incarnation)
        return child

    # -- waiting

    def _wait(self, condition: Callable[[], bool], within_s: float, on: Iterable[Child] = ()) -> bool:
        """Poll the condition until it holds, with a heartbeat; False at the deadline."""
        until, watched = time.monotonic() + within_s, list(on)
        while True:
            for child in self._living:
                child.listen()
            self._tick()
            if condition():
                return True
            left = until - time.monotonic()
            if left <= 0:
                return False
            waiting = [thing for child in watched for thing in child.waitables()]
            if waiting:
                wait(waiting, min(left, 0.01))
            else:
                time.sleep(min(left, 0.002))

    def pause(self, seconds: float) -> None:
        """Until a planned instant; the heart beats on."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._tick()
            time.sleep(min(left, 0.01))

    def wait_for_word(self, child: Child, *words: str) -> bool:
        """One of the words was said. False where it died, refused or broke first; one that hangs is killed."""
        last = {"done", "refused", "broken"}
        over = self._wait(lambda: bool(last.union(words) & child.words.keys()) or not child.alive, self.setting.patience_s, [child])
        child.listen()
        if not over:
            self._hung(child, f"said none of {', '.join(words)}")
            return False
        self._note(child)
        if "opened" in child.words and child.spec.job != "read":
            self._recovered(child)
        return any(word in child.words for word in words)

    def listen_for(self, child: Child, word: str) -> None:
        """It said the word, or ended, or takes too long: whoever waits for its end sees which."""
        self._wait(lambda: word in child.words or not child.alive, self.setting.patience_s, [child])

    def wait_for_end(self, child: Child) -> bool:
        """It ended by itself and was buried."""
        if not self._wait(lambda: not child.alive, self.setting.patience_s + 1.0, [child]):
            self._hung(child, "did not end")
            return False
        self._bury(child)
        return "done" in child.words

    def stop(self, children: Iterable[Child]) -> None:
        those = [child for child in children if child in self._living]
        for child in those:
            child.tell("stop")
        for child in those:
            self.wait_for_end(child)

    # -- deaths

    def begin_fault(self, kind: FaultKindName, where: str, *, victim: int, nth: int | None = None, planned: bool = True) -> FaultRecord:
        fault = FaultRecord(
            trial=self.setting.trial, id=len(self.faults) + 1, kind=kind, where=where, nth=nth, victim=victim, planned=planned
        )
        self.faults.append(fault)
        self.event(Op.FAULT_BEGIN, seq=fault.id, key=victim, value=nth or 0, digest=_grade(kind))
        return fault

    def end_fault(self, fault: FaultRecord, *, fired: bool, reason: str = "") -> FaultRecord:
        """Fired, or taken back with the reason why it did not."""
        op = Op.FAULT_FIRED if fired else Op.FAULT_END
        self.event(op, seq=fault.id, key=fault.victim, value=int(fired), digest=_grade(fault.kind))
        self.faults[fault.id - 1] = done = replace(fault, fired=fired, reason=reason)
        return done

    def kill(self, child: Child, *, where: str = "random", planned: bool = True) -> FaultRecord:
        fault = self.begin_fault("kill", where, victim=child.spec.actor, planned=planned)
        child.kill()
        child.tell("stop")  # one whose target was another process may not notice that it is dead
        return self.seen_dead(child, fault, "it had ended before the signal came")

    def struck(self, child: Child, where: str, nth: int, *, hits: Callable[[], int], fired: Callable[[], bool]) -> FaultRecord:
        """Waits for the end of a process that carries its own death. The crash lies between its last row and those of the fault."""
        over = self._died(child)
        fault = self.begin_fault("failpoint", where, victim=child.spec.actor, nth=nth)
        reason = "" if child.target_died() and fired() else f"its life ended after {hits()} hits"
        return self._settle(child, fault, reason if over else _HUNG)

    def seen_dead(self, child: Child, fault: FaultRecord, otherwise: str) -> FaultRecord:
        """Waits for a death that is on its way, and tells it from an end of another kind."""
        over = self._died(child)
        return self._settle(child, fault, _HUNG if not over else "" if child.target_died() else otherwise)

    def _died(self, child: Child) -> bool:
        """By itself or by what was done to it; one that hangs is killed."""
        if self._wait(lambda: not child.alive, self.setting.patience_s, [child]):
            return True
        child.kill_wholly()
        self._wait(lambda: not child.alive, 10.0, [child])
        return False

    def _settle(self, child: Child, fault: FaultRecord, why_not: str) -> FaultRecord:
        done = self.end_fault(fault, fired=not why_not, reason=why_not)
        self._bury(child)
        return done

    def power_loss(self, supply: Supply, where: str) -> FaultRecord:
        """All stand still, what was not durable is taken, and nobody goes on. It fired if something was lost of what may be lost."""
        fault = self.begin_fault("power", where, victim=0)
        victims = list(self._living)
        for child in victims:
            child.halt()
        self._wait(lambda: all(child.halted() for child in victims), self.setting.patience_s)
        supply.cut()
        for child in victims:
            child.kill_wholly()
        for child in victims:
            self._wait(lambda child=child: not child.alive and child.target_gone(), 10.0, [child])  # type: ignore[misc]
            self._bury(child)
        self._down = dict.fromkeys(self._streams, self.crashes)
        nothing_lost = supply.restore()
        done = self.end_fault(fault, fired=not nothing_lost, reason=nothing_lost)
        if done.fired:
            self.event(Op.FAULT_END, seq=fault.id, digest=FaultKind.POWER)  # power is back: who dies from now on dies of something else
        return done

    def forgo(self, kind: FaultKindName, where: str, nth: int | None = None, *, times: int = 1) -> None:
        """Planned, and never begun, since the target did not come back."""
        reason = f"the trial was over before: {self.incidents[-1] if self.incidents else 'nobody opened the log again'}"
        for _ in range(times):
            number = len(self.faults) + 1
            self.faults.append(FaultRecord(trial=self.setting.trial, id=number, kind=kind, where=where, nth=nth, reason=reason))

    def _hung(self, child: Child, what: str) -> None:
        elapsed = int((time.monotonic() - child.t_start) * 1e9)
        self.event(Op.WATCHDOG, key=child.spec.actor, value=elapsed)
        self.incidents.append(f"{_name(child)} {what} within {self.setting.patience_s:g} s and was killed")
        fault = self.begin_fault("kill", "hung", victim=child.spec.actor, planned=False)
        child.kill_wholly()
        self._wait(lambda: not child.alive, 10.0, [child])
        self.end_fault(fault, fired=True, reason=self.incidents[-1])
        self._bury(child)

    def _bury(self, child: Child) -> None:
        """Only now is it told that it is dead: nobody speaks after that."""
        if child not in self._living:
            return
        self._living.remove(child)
        child.listen()
        died, code = child.target_died(), child.exitcode
        if child.target_pid != child.pid and died:
            self.event(Op.EXIT, seq=child.target_pid, key=child.spec.incarnation, value=-signal.SIGKILL)
        self.event(Op.EXIT, seq=child.pid, key=child.spec.incarnation, value=code or 0)
        if died:
            self.crashes += 1
        if child.spec.job != "read":
            if "opened" in child.words:
                self._recovered(child)
            if died:
                self._down[child.spec.stream] = self.crashes
        self._note(child)
        with suppress(ValueError):
            child.let_go()

    def _recovered(self, child: Child) -> None:
        if child.spec.after_crash is not None and self._down.get(child.spec.stream) == child.spec.after_crash:
            del self._down[child.spec.stream]

    def _note(self, child: Child) -> None:
        """What the target did by itself, once."""
        for word in ("refused", "broken"):
            text = child.words.get(word)
            if text and not child.noted and not (word == "broken" and child.target_died()):
                child.noted = True
                self.incidents.append(f"{_name(child)}: {word}: {text}")
        if child.words.get("done") and not child.noted:
            child.noted = True
            self.incidents.append(f"{_name(child)}: {child.words['done']}")

    # -- what every scenario does

    def recover(self, *, stream: int = MAIN_STREAM, extra: dict[str, str] | None = None) -> bool:
        """A fresh writer opens, syncs, puts a sentinel and closes; then everything is drained. False: it could not."""
        closer = self.close(stream=stream, extra=extra)
        if not self.wait_for_word(closer, "opened"):
            self.wait_for_end(closer) if closer in self._living else None
            return False
        return self.wait_for_end(closer)


def _grade(kind: FaultKindName) -> FaultKind:
    return FaultKind.POWER if kind == "power" else FaultKind.PROCESS


def _name(child: Child) -> str:
    return f"actor {child.spec.actor} ({child.spec.job} of {child.spec.stream_name})"


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
