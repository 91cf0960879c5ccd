"""Histories by hand, readable as sentences:

    h = HistoryBuilder()
    p, r = h.producer(1), h.reader()
    p.append(1).ok(position=0)
    r.read((0, p.key(1)))
    r.end()
    history = h.build()

Every row comes one tick after the one before, unless `h.wait` lets time pass.
"""

from collections import defaultdict

from fireassay.spec.history.history import History
from fireassay.spec.history.model import Actor, Cause
from fireassay.spec.history.ops import FaultKind, Flag, Op, Phase
from fireassay.spec.history.row import NO_FLAGS, Identity, Row

__all__ = ["TICK_NS", "CallBuilder", "HistoryBuilder", "ProducerBuilder", "ReaderBuilder"]

TICK_NS = 1000
_COORDINATOR = 1


class HistoryBuilder:
    def __init__(self, stream: int = 1) -> None:
        self.stream = stream
        self.now = TICK_NS
        self._rows: dict[int, list[Row]] = defaultdict(list)
        self._actors = {_COORDINATOR: Actor(_COORDINATOR, "coordinator", process=1)}
        self._calls = 0

    # -- actors

    def producer(self, number: int, incarnation: int = 0, domain: str = "", beside: "ProducerBuilder | None" = None) -> "ProducerBuilder":
        """A process of its own, unless `beside` names another of the same."""
        actor = self._actor("producer", beside.actor if beside else 0, incarnation=incarnation, domain=domain)
        return ProducerBuilder(self, actor, number, incarnation)

    def reader(self, group: int = 0, domain: str = "") -> "ReaderBuilder":
        return ReaderBuilder(self, self._actor("reader", 0, group=group, domain=domain))

    def _actor(self, role: str, beside: int, *, incarnation: int = 0, group: int = 0, domain: str = "") -> int:
        actor = len(self._actors) + 1
        process = self._actors[beside].process if beside else 100 + actor
        self._actors[actor] = Actor(actor, role, process=process, incarnation=incarnation, group=group, domain=domain)
        return actor

    def process(self, actor: int) -> int:
        return self._actors[actor].process

    # -- rows

    def row(self, actor: int, op: Op, phase: Phase, *, stream: int | None = None, flags: Flag = NO_FLAGS, **fields: int) -> Row:
        stream = self.stream if stream is None else stream
        made = Row(t_ns=self.now, op=op, phase=phase, actor=actor, stream=stream, flags=flags, **fields)
        self.now += TICK_NS
        self._rows[actor].append(made)
        return made

    def event(self, op: Op, *, actor: int = _COORDINATOR, stream: int | None = None, flags: Flag = NO_FLAGS, **fields: int) -> Row:
        return self.row(actor, op, Phase.EVENT, stream=stream, flags=flags, **fields)

    def new_call(self) -> int:
        self._calls += 1
        return self._calls

    def wait(self, ns: int) -> None:
        self.now += ns

    def awake(self, ns: int, beats: int = 4) -> None:
        """Time passes, and the harness's heart beats all the while."""
        for _ in range(beats):
            self.wait(ns // beats - TICK_NS)
            self.event(Op.HEARTBEAT, value=ns // beats)

    # -- the coordinator

    def kill(self, victim: "ProducerBuilder | ReaderBuilder", fault: int = 1) -> None:
        self.fault(victim, fault)
        self.event(Op.FAULT_FIRED, seq=fault, key=victim.actor, value=1)

    def fault(self, victim: "ProducerBuilder | ReaderBuilder | None" = None, fault: int = 1) -> None:
        self.event(Op.FAULT_BEGIN, seq=fault, key=victim.actor if victim else 0)

    def power_loss(self, *dead: "ProducerBuilder | ReaderBuilder", fault: int = 1) -> None:
        """Power fails for all; the exits of these were seen."""
        self.event(Op.FAULT_BEGIN, seq=fault, digest=FaultKind.POWER)
        self.event(Op.FAULT_FIRED, seq=fault, value=1, digest=FaultKind.POWER)
        for each in dead:
            self.exit(each, -9)

    def fault_end(self, fault: int = 1) -> None:
        self.event(Op.FAULT_END, seq=fault)

    def exit(self, victim: "ProducerBuilder | ReaderBuilder", value: int = 0) -> None:
        self.event(Op.EXIT, seq=self.process(victim.actor), value=value % (1 << 64))

    def recovered(self, end: int, stream: int | None = None) -> None:
        self.event(Op.RECOVERY_END, seq=end, stream=stream)

    def rows(self) -> list[Row]:
        return [row for rows in self._rows.values() for row in rows]

    def build(self, epsilon_ns: int = 0) -> History:
        return History.of(self._rows.values(), self._actors.values(), epsilon_ns)


class CallBuilder:
    """An invoked call that waits for its outcome; left alone, it is info."""

    def __init__(self, history: HistoryBuilder, invoke: Row) -> None:
        self._history = history
        self._invoke = invoke

    def ok(self, position: int = 0, **fields: int) -> None:
        self._complete(Phase.OK, seq=position, **fields)

    def fail(self) -> None:
        self._complete(Phase.FAIL)

    def info(self) -> None:
        self._complete(Phase.INFO)

    def _complete(self, phase: Phase, **fields: int) -> None:
        row = self._invoke
        values = {"key": row.key, "value": row.value, "digest": row.digest, "call": row.call} | fields
        self._history.row(row.actor, row.op, phase, stream=row.stream, flags=row.flags, **values)


class _ActorBuilder:
    def __init__(self, history: HistoryBuilder, actor: int) -> None:
        self.history = history
        self.actor = actor

    def call(self, op: Op, *, stream: int | None = None, flags: Flag = NO_FLAGS, **fields: int) -> CallBuilder:
        call = self.history.new_call()
        return CallBuilder(self.history, self.history.row(self.actor, op, Phase.INVOKE, stream=stream, flags=flags, call=call, **fields))


class ProducerBuilder(_ActorBuilder):
    def __init__(self, history: HistoryBuilder, actor: int, number: int, incarnation: int) -> None:
        super().__init__(history, actor)
        self.number = number
        self.incarnation = incarnation

    def key(self, number: int) -> int:
        return Identity(self.number, self.incarnation, number).key

    def append(self, number: int, *, length: int = 64, digest: int = 0, stream: int | None = None, flags: Flag = NO_FLAGS) -> CallBuilder:
        return self.call(Op.APPEND, key=self.key(number), value=length, digest=digest, stream=stream, flags=flags)

    def batch(self, *numbers: int, stream: int | None = None) -> list[CallBuilder]:
        """Appends under one call: all are invoked before the first ends."""
        call = self.history.new_call()
        rows = [self.history.row(self.actor, Op.APPEND, Phase.INVOKE, stream=stream, key=self.key(n), value=64, call=call) for n in numbers]
        return [CallBuilder(self.history, row) for row in rows]

    def run(self, first: int, count: int, position: int, *, ended: bool = True, stream: int | None = None) -> None:
        """`count` appends in one run row; without an end the producer died in it."""
        opening = self.call(Op.APPEND_RUN, seq=position, key=self.key(first), value=count, stream=stream)
        if ended:
            opening.ok(position)

    def sync(self) -> CallBuilder:
        return self.call(Op.SYNC)

    def open(self) -> None:
        self.call(Op.OPEN_WRITER).ok()

    def trim(self, first_retained: int, stream: int | None = None) -> None:
        self.call(Op.TRIM, stream=stream).ok(first_retained)


class ReaderBuilder(_ActorBuilder):
    def open(self, granted: int, stream: int | None = None) -> None:
        self.call(Op.OPEN_READER, stream=stream).ok(granted)

    def seek(self, granted: int, stream: int | None = None) -> None:
        self.call(Op.SEEK, stream=stream).ok(granted)

    def read_unknown(self, stream: int | None = None) -> None:
        """Nobody knows what it took."""
        self.call(Op.READ, stream=stream).info()

    def read(self, *records: tuple[int, int], stream: int | None = None, flags: Flag = NO_FLAGS, length: int = 64, digest: int = 0) -> None:
        """One call; each record is (position, key)."""
        call = self.history.new_call()
        self.history.row(self.actor, Op.READ, Phase.INVOKE, stream=stream, call=call)
        for position, key in records:
            values = {"seq": position, "key": key, "value": length, "digest": digest, "call": call}
            self.history.row(self.actor, Op.READ, Phase.OK, stream=stream, flags=flags, **values)

    def read_run(self, position: int, key: int, count: int, stream: int | None = None) -> None:
        """One open run row: `count` records were read one after the other."""
        self.call(Op.READ_RUN, seq=position, key=key, value=count, stream=stream).ok(position)

    def end(self, times: int = 1, stream: int | None = None) -> None:
        call = self.history.new_call()
        self.history.row(self.actor, Op.READ, Phase.INVOKE, stream=stream, call=call)
        for _ in range(times):
            self.history.row(self.actor, Op.READ, Phase.OK, stream=stream, flags=Flag.END, call=call)

    def release(self, position: int, key: int, digest: int) -> None:
        self.history.event(Op.RELEASE, actor=self.actor, seq=position, key=key, digest=digest)

    def report(self, start: int, stop: int, cause: Cause = Cause.GAP) -> None:
        self.history.event(Op.REPORT, actor=self.actor, seq=start, key=cause, value=stop)

    def drain(
        self, *records: tuple[int, int], start: int = 0, complete: bool = True, stream: int | None = None, flags: Flag = NO_FLAGS
    ) -> None:
        """A whole drain; its sentinel row says that it was met."""
        self.history.event(Op.DRAIN_BEGIN, actor=self.actor, seq=start, stream=stream)
        if records:
            self.read(*records, stream=stream, flags=flags)
        if complete:
            self.history.event(Op.SENTINEL, actor=self.actor, key=Identity(0xFFFF, 0, 0).key, stream=stream)
            self.end(2, stream=stream)
            self.history.event(Op.DRAIN_END, actor=self.actor, stream=stream)
