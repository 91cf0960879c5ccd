"""A simulated log that keeps every promise, and its recorded history."""

from dataclasses import dataclass
from typing import Literal

from hypothesis import strategies as st

from fireassay.spec.checks import Declared
from fireassay.spec.history.builder import TICK_NS, HistoryBuilder, ProducerBuilder, ReaderBuilder
from fireassay.spec.history.history import History
from fireassay.spec.history.ops import Op

__all__ = ["Plan", "declared_for", "plans", "simulate"]

DEADLINE = 60 * TICK_NS
_WRITING = ("append", "append", "append", "run", "batch", "info-kept", "info-lost", "fail", "sync", "trim", "overlap")
_READING = ("read", "read", "read", "read-run", "read-unknown", "reopen")
_ENDING = ("kill-reader", "kill", "kill-in-run", "kill-unrecorded", "exit", "pause", "power")


@dataclass(frozen=True)
class Plan:
    after_sync: bool
    steps: tuple[tuple[str, int, int], ...]  # what, who, how much
    positions: Literal["dense", "increasing", "none"] = "dense"
    competing: bool = False


def plans() -> st.SearchStrategy[Plan]:
    step = st.tuples(st.sampled_from(_WRITING + _READING + _ENDING), st.integers(0, 2), st.integers(1, 4))
    steps = st.lists(step, min_size=4, max_size=25).map(tuple)
    positions = st.sampled_from(["dense", "dense", "increasing", "none"])
    return st.builds(Plan, st.booleans(), steps, positions, st.sampled_from([False, False, True]))


def declared_for(plan: Plan) -> Declared:
    return Declared(
        survives_process_death="after-sync" if plan.after_sync else "after-append",
        sync_scope="stream",
        sync_covers_other_processes=True,
        total_order=True,
        positions=plan.positions,
        readers="competing" if plan.competing else "independent",
        deadline_ns=DEADLINE,
    )


class _Log:
    """Producers 0..2 write streams 1 and 2 (producer 2 the second); readers follow; a kill may cut the unsynced tail."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.h = HistoryBuilder()
        self.logs: dict[int, list[int]] = {1: [], 2: []}
        self.durable = {1: 0, 2: 0}
        self.trimmed = {1: 0, 2: 0}
        self.incarnations = [0, 0, 0]
        self.producers = [self.h.producer(n) for n in range(3)]
        self.numbers = [0, 0, 0]
        self.readers = [self.reader() for _ in range(3)]
        self.cursors = [0, 0, 0]

    # -- where things are

    def reader(self) -> ReaderBuilder:
        return self.h.reader(group=7 if self.plan.competing else 0)

    def stream(self, who: int) -> int:
        return 2 if who == 2 else 1

    def cursor(self, who: int) -> int:
        """Members of a competing group share one; the second stream has one reader."""
        return 0 if self.plan.competing and who < 2 else who

    def position(self, index: int) -> int:
        return {"dense": index, "increasing": 8 * index, "none": 0}[self.plan.positions]

    def number(self, who: int, count: int = 1) -> int:
        self.numbers[who] += count
        return self.numbers[who] - count

    # -- steps

    def step(self, what: str, who: int, much: int) -> None:
        if what in {"append", "run"}:
            self.append(who, much if what == "run" else 1)
        elif what in {"info-kept", "info-lost", "fail"}:
            self.doubtful(what, who)
        elif what == "batch":
            self.batch(who, much)
        elif what == "overlap":
            self.overlap()
        elif what == "sync":
            self.producers[who].call(Op.SYNC, stream=self.stream(who)).ok()
            self.durable[self.stream(who)] = len(self.logs[self.stream(who)])
        elif what == "trim":
            self.trim(who)
        elif what in {"read", "read-run"}:
            self.read(who, much, in_run=what == "read-run")
        elif what == "read-unknown":
            self.readers[who].read_unknown(stream=self.stream(who))
        elif what in {"reopen", "kill-reader"}:
            self.reopen(who, killed=what == "kill-reader")
        elif what == "exit":
            self.h.exit(self.producers[who])
            self.replace(who)
        elif what == "power":
            self.power()
        elif what == "pause":
            self.h.awake(2 * DEADLINE)
        else:
            self.kill(who, much if what == "kill-in-run" else 0, recorded=what != "kill-unrecorded")

    def append(self, who: int, count: int) -> None:
        p, stream = self.producers[who], self.stream(who)
        log, n = self.logs[stream], self.number(who, count)
        if count > 1 and self.plan.positions == "dense":
            p.run(n, count, len(log), stream=stream)
        else:
            for i in range(count):
                p.append(n + i, stream=stream, digest=n + 1).ok(self.position(len(log) + i))
        log.extend(p.key(n + i) for i in range(count))

    def doubtful(self, what: str, who: int) -> None:
        p, stream, n = self.producers[who], self.stream(who), self.number(who)
        call = p.append(n, stream=stream)
        call.fail() if what == "fail" else call.info()
        self.logs[stream].extend([p.key(n)] if what == "info-kept" else [])

    def batch(self, who: int, much: int) -> None:
        """All at once, stored in the other order than named."""
        p, stream = self.producers[who], self.stream(who)
        log, n = self.logs[stream], self.number(who, much)
        for i, call in enumerate(p.batch(*range(n, n + much), stream=stream)):
            call.ok(self.position(len(log) + much - 1 - i))
        log.extend(p.key(n + i) for i in reversed(range(much)))

    def overlap(self) -> None:
        """Two appends at once, stored in the other order than invoked."""
        (a, b), (n, m), log = self.producers[:2], (self.number(0), self.number(1)), self.logs[1]
        one, two = a.append(n), b.append(m)
        one.ok(self.position(len(log) + 1))
        two.ok(self.position(len(log)))
        log.extend([b.key(m), a.key(n)])

    def trim(self, who: int) -> None:
        """Only what every reader has, or may have taken."""
        stream = self.stream(who)
        first = min(self.cursors[self.cursor(reader)] for reader in range(3) if self.stream(reader) == stream)
        self.producers[who].trim(self.position(first), stream=stream)
        self.trimmed[stream] = first

    def read(self, who: int, much: int, *, in_run: bool) -> None:
        stream, at, reader = self.stream(who), self.cursors[self.cursor(who)], self.readers[who]
        batch = self.logs[stream][at : at + much]
        if not batch:
            reader.end(stream=stream)
        elif in_run and self.plan.positions == "dense":
            batch = self.consecutive(batch)
            reader.read_run(at, batch[0], len(batch), stream=stream)
        else:
            reader.read(*((self.position(at + i), key) for i, key in enumerate(batch)), stream=stream)
        self.cursors[self.cursor(who)] += len(batch)

    @staticmethod
    def consecutive(keys: list[int]) -> list[int]:
        """As many as one run row can name."""
        count = next((i for i, key in enumerate(keys) if key != keys[0] + i), len(keys))
        return keys[:count]

    def reopen(self, who: int, *, killed: bool) -> None:
        """A restarted reader resumes at its cursor."""
        stream = self.stream(who)
        if killed:
            self.h.kill(self.readers[who], fault=self.h.new_call())
            self.readers[who] = self.reader()
        else:
            self.readers[who].call(Op.CLOSE, stream=stream).ok()
        self.readers[who].open(self.position(self.cursors[self.cursor(who)]), stream=stream)

    def kill(self, who: int, in_run: int, *, recorded: bool) -> None:
        """Where no recovery is recorded nothing is cut, too."""
        stream, p = self.stream(who), self.producers[who]
        log = self.logs[stream]
        if in_run and self.plan.positions == "dense":
            n = self.number(who, in_run + 1)
            p.run(n, in_run, len(log), ended=False, stream=stream)
            log.extend(p.key(n + i) for i in range(in_run + n % 2))  # the one in doubt arrives or not
        self.h.kill(p, fault=self.h.new_call())
        if recorded:
            if self.plan.after_sync:
                del log[max(self.durable[stream], self.trimmed[stream]) :]
            self.h.recovered(self.position(len(log)), stream=stream)
        self.replace(who)
        for number, reader in enumerate(self.readers):
            at = self.cursor(number)
            if self.stream(number) == stream and self.cursors[at] > len(log):
                self.cursors[at] = len(log)
            if recorded and self.plan.after_sync and self.stream(number) == stream:
                reader.seek(self.position(self.cursors[at]), stream=stream)

    def power(self) -> None:
        """Everybody dies, and only what was synced is there again; readers come back where they were."""
        self.h.power_loss(*self.producers, *self.readers, fault=self.h.new_call())
        for stream, log in self.logs.items():
            del log[max(self.durable[stream], self.trimmed[stream]) :]
            self.h.recovered(self.position(len(log)), stream=stream)
        for who in range(3):
            self.replace(who)
            self.readers[who] = self.reader()
            at, stream = self.cursor(who), self.stream(who)
            self.cursors[at] = min(self.cursors[at], len(self.logs[stream]))
            self.readers[who].open(self.position(self.cursors[at]), stream=stream)

    def replace(self, who: int) -> None:
        self.incarnations[who] += 1
        p: ProducerBuilder = self.h.producer(who, self.incarnations[who])
        self.h.event(Op.SPAWN, seq=self.h.process(p.actor))
        p.call(Op.OPEN_WRITER, stream=self.stream(who)).ok()
        self.producers[who] = p

    def drain(self) -> None:
        """By a group of its own: in it nobody has taken anything."""
        for stream, log in self.logs.items():
            kept = [(self.position(i), key) for i, key in enumerate(log)][self.trimmed[stream] :]
            self.h.reader(group=9 if self.plan.competing else 0).drain(*kept, stream=stream)


def simulate(plan: Plan) -> History:
    log = _Log(plan)
    for step in plan.steps:
        log.step(*step)
    log.drain()
    return log.h.build()
