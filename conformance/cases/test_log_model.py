"""Any target against the pure model of a log: appends, reads, commits, reopens and deaths in whatever order Hypothesis draws.

It runs once per session and ends at the first thing that is wrong, which convicts one clause; the cases of the others are then skipped.
HYPOTHESIS_PROFILE=long asks many more questions, with other draws each time.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from fireassay.conformance.cases.chronicle import queue
from fireassay.conformance.driver.apart import apart_from
from fireassay.conformance.driver.client import DriverTarget
from fireassay.conformance.targets import loaded
from fireassay.conformance.workload.payload import make
from fireassay.spec.history.row import Identity
from fireassay.spec.models.log import Log, Violation
from fireassay.spec.outcomes import HarnessError, Outcome
from fireassay.spec.ports import CallResult, ReaderPort, Target, WriterPort
from fireassay.spec.promises import After, CursorAfter, PositionKind, Promises, Visible

CLAUSES = ("LOG-01", "LOG-02", "LOG-03", "LOG-04", "LOG-05", "LOG-06", "LOG-07", "LOG-08", "LOG-09", "LOG-16")
LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
EXAMPLES = {"object": 400 if LONG else 6, "driver": 100 if LONG else 3}
STEPS = 80 if LONG else 50
APART = st.booleans()
KILL = st.sampled_from((True, True, False))  # where it can be done, that is apart
READERS = ("one", "two")
LENGTHS = st.sampled_from((0, 33, 64, 127, 128, 200, 700, 1500))
TRIES = 40  # reads of 50 ms that may give nothing and no END
SHOWN = 14


class Parted(AssertionError):
    """The target and the model."""

    def __init__(self, violation: Violation, steps: list[str]) -> None:
        more = f"({len(steps) - SHOWN} steps before these) " if len(steps) > SHOWN else ""
        super().__init__(f"{violation.text}. {more}{'; '.join(steps[-SHOWN:])}")
        self.clause = violation.clause


@dataclass(slots=True)
class Ground:
    """What all examples of a session stand on."""

    target: Target
    apart: DriverTarget
    place: Path
    examples: int = 0
    steps: int = 0
    parted: Parted | None = None

    def stream(self) -> str:
        """A fresh one; of chronicle with segments so small that it rolls."""
        self.examples += 1
        name = f"stream{self.examples}"
        if self.target.name == "chronicle":
            queue.made(self.place / name, 2048)
        return name


class LogMachine(RuleBasedStateMachine):
    """One writer is open, and at most one reader of each name; between two steps no call is under way."""

    ground: Ground
    writer: WriterPort
    stream: str

    def __init__(self) -> None:
        super().__init__()
        self.model, self.steps = Log(), list[str]()
        self.readers: dict[str, ReaderPort] = {}
        self.number = 0
        self.sync = self.ground.target.promises.visible is Visible.SYNC

    @initialize(apart=APART)
    def begin(self, apart: bool) -> None:
        self.stream = self.ground.stream()
        self.writer = self.where(apart).open_writer(self.stream)
        self.said(f"open writer{' apart' * apart}")

    def said(self, step: str, violation: Violation | None = None) -> None:
        self.ground.steps += 1
        self.steps.append(step)
        if violation is not None:
            raise self.ground.parted or self._first(violation)

    def _first(self, violation: Violation) -> Parted:
        self.ground.parted = Parted(violation, self.steps)
        return self.ground.parted

    def known(self, result: CallResult, step: str) -> bool:
        """Whether it took effect. Nobody is killed during a call, so nothing may be unknown."""
        if result.outcome is Outcome.INFO:
            raise HarnessError(f"{step} is of unknown outcome: {result.error.text if result.error else ''}")
        return result.outcome is Outcome.OK

    def where(self, apart: bool) -> Target:
        return self.ground.apart if apart else self.ground.target

    def leave(self, port: Any, kill: bool) -> str:
        """Killed where it can be, else closed."""
        if kill and hasattr(port, "kill"):
            port.kill()
            return "kill"
        self.known(port.close(), "a close")
        return "close"

    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        """One rule for all: of several, Hypothesis leaves some out of each example, and with few examples most are never seen together."""
        able = [self.append, self.append, self.restart_reader, self.restart_writer, *[self.read] * 3 * bool(self.readers)]
        able += [self.commit] * any(self.model.readers[name].at for name in self.readers)
        data.draw(st.sampled_from(able))(data)

    def append(self, data: st.DataObject) -> None:
        lengths = data.draw(st.lists(LENGTHS, min_size=1, max_size=6))
        payloads = [make(1, 1, Identity(1, 0, self.number + at), length) for at, length in enumerate(lengths)]
        self.number += len(payloads)
        result = self.writer.append_batch(payloads)
        self.known(result, "an append")
        done = len(result.positions)
        self.model.failed(payloads[done:])
        if self.sync:
            self.known(self.writer.sync(), "a sync")
        refused = " and no more" * (done < len(lengths))
        self.said(f"append {lengths[:done]}{refused}", self.model.appended(payloads[:done], result.positions))

    def restart_writer(self, data: st.DataObject) -> None:
        left, apart = self.leave(self.writer, data.draw(KILL)), data.draw(APART)
        self.writer = self.where(apart).open_writer(self.stream)
        self.said(f"{left} writer, open it{' apart' * apart}")

    def restart_reader(self, data: st.DataObject) -> None:
        name, kill, apart = data.draw(st.sampled_from(READERS)), data.draw(KILL), data.draw(APART)
        left = f"{self.leave(self.readers.pop(name), kill)} {name}, " if name in self.readers else ""
        self.readers[name] = self.where(apart).open_reader(self.stream, name)
        self.model.opened(name)
        self.said(f"{left}open {name}{' apart' * apart}")

    def read(self, data: st.DataObject) -> None:
        name, limit = data.draw(st.sampled_from(sorted(self.readers))), data.draw(st.integers(1, 12))
        to_the_end, nothing = data.draw(st.booleans()), 0
        while True:
            batch = self.readers[name].read_batch(limit, 0.05 if nothing else 0.0)
            well = self.known(batch, f"a read by {name}")
            nothing = 0 if batch.records else nothing + 1
            payloads = [bytes(record.payload) for record in batch.records]
            wrong = self.model.delivered(name, payloads, [record.position for record in batch.records], end=well and batch.end)
            if wrong is None and nothing > TRIES:
                due = len(self.model.due(name))
                wrong = Violation("LOG-09", f"{name} was given nothing and no END for {nothing} reads, while {due} records were due")
            self.said(f"{name} reads {len(batch.records)}{' END' * batch.end}", wrong)
            if batch.end or (batch.records and not to_the_end):
                return

    def commit(self, data: st.DataObject) -> None:
        """Up to what it was given last, or less; never back."""
        name = data.draw(st.sampled_from(sorted(name for name in self.readers if self.model.readers[name].at)))
        reader = self.model.readers[name]
        number = data.draw(st.integers(max(reader.committed, 1), max(reader.at, reader.committed, 1)))
        position = self.model.positions[number - 1] + 1
        if self.known(self.readers[name].commit(position), f"a commit by {name}"):
            self.model.committed(name, position)
        self.said(f"{name} commits {number}")

    def teardown(self) -> None:
        if hasattr(self, "writer"):
            self.writer.close()
        for port in self.readers.values():
            port.close()


def unmodelled(promises: Promises) -> str:
    """Why the model does not speak of such a log."""
    if promises.survives.process_death.after is not After.APPEND or promises.survives.process_death.tail_records:
        return "its records are not promised to survive the death of a process from their append on"
    if promises.cursors.process_death.after is not CursorAfter.COMMIT:
        return "its commits are not promised to survive the death of a process"
    return "its records have no positions" if promises.position.kind is PositionKind.NONE else ""


@pytest.fixture(scope="session")
def explored(target_spec: str, tmp_path_factory: pytest.TempPathFactory) -> Ground | str:
    """The session's examples, made; or why there are none."""
    place = tmp_path_factory.mktemp("model")
    with loaded(target_spec, place) as target, apart_from(target, target_spec, place) as apart:
        reason = unmodelled(target.promises)
        if reason:
            return reason
        ground = Ground(target, apart, place)
        machine = type("LogMachine", (LogMachine,), {"ground": ground})
        _explore(machine, EXAMPLES["driver" if target is apart else "object"], ground)
    return ground


def _explore(machine: type[LogMachine], examples: int, ground: Ground) -> None:
    quick: Mapping[str, Any] = {} if LONG else {"derandomize": True, "phases": (Phase.generate,)}
    asked = settings(
        max_examples=examples, stateful_step_count=STEPS, deadline=None, database=None, print_blob=True,
        suppress_health_check=list(HealthCheck), **quick,
    )  # fmt: skip
    try:
        run_state_machine_as_test(machine, settings=asked)
    except Exception:
        if ground.parted is None:
            raise


@pytest.mark.parametrize("clause", [pytest.param(clause, id=clause, marks=pytest.mark.clause(clause)) for clause in CLAUSES])
@pytest.mark.usefixtures("applicable")
def test_the_target_and_the_model_never_part(clause: str, explored: Ground | str) -> None:
    if isinstance(explored, str):
        pytest.skip(f"not applicable: {explored}")
    parted = explored.parted
    if parted is not None and parted.clause == clause:
        pytest.fail(f"{clause}: {parted}", pytrace=False)
    if parted is not None:
        pytest.skip(f"the model and the target parted over {parted.clause} before that")
    assert explored.steps >= explored.examples > 1, f"{explored.steps} steps in {explored.examples} examples show nothing"
