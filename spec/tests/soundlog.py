"""A simulated log that keeps every promise, its recorded history, and single anomalies planted into that history."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from fireassay.spec.checks import Declared
from fireassay.spec.history.builder import HistoryBuilder, ProducerBuilder
from fireassay.spec.history.history import History
from fireassay.spec.history.ops import Op, Phase
from fireassay.spec.history.row import Identity, Row

__all__ = ["PLANTS", "Plan", "declared_for", "plans", "simulate"]


@dataclass(frozen=True)
class Plan:
    after_sync: bool
    steps: tuple[tuple[str, int, int], ...]  # what, who, how much


def plans() -> st.SearchStrategy[Plan]:
    kinds = st.sampled_from(["append", "append", "run", "info-kept", "info-lost", "fail", "sync", "read", "overlap", "kill", "kill-in-run"])
    step = st.tuples(kinds, st.integers(0, 2), st.integers(1, 4))
    return st.builds(Plan, st.booleans(), st.lists(step, min_size=4, max_size=25).map(tuple))


def declared_for(plan: Plan) -> Declared:
    promise = "after-sync" if plan.after_sync else "after-append"
    return Declared(
        survives_process_death=promise,  # type: ignore[arg-type]
        sync_scope="stream",
        sync_covers_other_processes=True,
        total_order=True,
        deadline_ns=10**9,
    )


class _Log:
    """Producers 0..2 write streams 1 and 2 (producer 2 the second); readers follow; a kill may cut the unsynced tail."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.h = HistoryBuilder()
        self.logs: dict[int, list[int]] = {1: [], 2: []}
        self.durable = {1: 0, 2: 0}
        self.incarnations = [0, 0, 0]
        self.producers = [self.h.producer(n) for n in range(3)]
        self.numbers = [0, 0, 0]
        self.readers = [self.h.reader() for _ in range(3)]
        self.cursors = [0, 0, 0]

    def stream(self, who: int) -> int:
        return 2 if who == 2 else 1

    def number(self, who: int, count: int = 1) -> int:
        self.numbers[who] += count
        return self.numbers[who] - count

    def step(self, what: str, who: int, much: int) -> None:
        p, stream = self.producers[who], self.stream(who)
        log = self.logs[stream]
        if what == "append":
            n = self.number(who)
            p.append(n, stream=stream, digest=n + 1).ok(len(log))
            log.append(p.key(n))
        elif what == "run":
            n = self.number(who, much)
            p.run(n, much, len(log), stream=stream)
            log.extend(p.key(n + i) for i in range(much))
        elif what in {"info-kept", "info-lost", "fail"}:
            n = self.number(who)
            call = p.append(n, stream=stream)
            call.fail() if what == "fail" else call.info()
            log.extend([p.key(n)] if what == "info-kept" else [])
        elif what == "overlap":
            self.overlap()
        elif what == "sync":
            p.call(Op.SYNC, stream=stream).ok()
            self.durable[stream] = len(log)
        elif what == "read":
            self.read(who, much)
        else:
            self.kill(who, p, much if what == "kill-in-run" else 0)

    def overlap(self) -> None:
        """Two appends at once, stored in the other order than invoked."""
        (a, b), (n, m), log = self.producers[:2], (self.number(0), self.number(1)), self.logs[1]
        one, two = a.append(n), b.append(m)
        one.ok(len(log) + 1)
        two.ok(len(log))
        log.extend([b.key(m), a.key(n)])

    def read(self, who: int, much: int) -> None:
        stream, at = self.stream(who), self.cursors[who]
        batch = self.logs[stream][at : at + much]
        if batch:
            self.readers[who].call(Op.READ, stream=stream)  # a call that found nothing to say and was left
            self.readers[who].read(*((at + i, key) for i, key in enumerate(batch)), stream=stream)
            self.cursors[who] += len(batch)
        else:
            self.readers[who].end(stream=stream)

    def kill(self, who: int, p: ProducerBuilder, in_run: int) -> None:
        stream = self.stream(who)
        log = self.logs[stream]
        if in_run:
            n = self.number(who, in_run + 1)
            p.run(n, in_run, len(log), ended=False, stream=stream)
            log.extend(p.key(n + i) for i in range(in_run + n % 2))  # the one in doubt arrives or not
        self.h.kill(p, fault=self.h.new_call())
        if self.plan.after_sync:
            del log[self.durable[stream] :]
        self.h.event(Op.RECOVERY_END, stream=stream, seq=len(log))
        self.incarnations[who] += 1
        self.producers[who] = self.h.producer(who, self.incarnations[who])
        for number, reader in enumerate(self.readers):
            if self.stream(number) == stream and self.cursors[number] > len(log):
                self.cursors[number] = len(log)
                reader.call(Op.SEEK, stream=stream).ok(len(log))

    def drain(self) -> None:
        for stream, log in self.logs.items():
            self.h.reader().drain(*enumerate(log), stream=stream)


def simulate(plan: Plan) -> History:
    log = _Log(plan)
    for step in plan.steps:
        log.step(*step)
    log.drain()
    return log.h.build()


# -- plants: one change to the recorded rows of a sound run

Draw = Callable[[int], int]


def _last_drain(history: History) -> list[Row]:
    """Records delivered by the first stream's drain."""
    return [d.row for d in history.drains[0].chain.deliveries]


def _edit(history: History, change: Callable[[Row], list[Row]]) -> History:
    return replace(history, rows=tuple(new for row in history.rows for new in change(row)))


def _acked(history: History, rows: list[Row]) -> list[Row]:
    return [r for r in rows if history.append_of[r.stream, r.key].row.phase is Phase.OK]


def _phantom(plan: Plan, draw: Draw) -> History | None:
    history = simulate(plan)
    rows = _last_drain(history)
    if not rows:
        return None
    victim = rows[draw(len(rows))]
    return _edit(history, lambda row: [replace(row, key=Identity(99, 0, 1).key)] if row is victim else [row])


def _corrupt(plan: Plan, draw: Draw) -> History | None:
    history = simulate(plan)
    rows = _last_drain(history)
    if not rows:
        return None
    victim = rows[draw(len(rows))]
    return _edit(history, lambda row: [replace(row, flags=row.flags | 32)] if row is victim else [row])


def _gap(plan: Plan, draw: Draw) -> History | None:
    history = simulate(plan)
    rows = _acked(history, _last_drain(history)[1:-1])
    if plan.after_sync or not rows:
        return None
    victim = rows[draw(len(rows))]
    return _edit(history, lambda row: [] if row is victim else [row])


def _duplicate(plan: Plan, draw: Draw) -> History | None:
    history = simulate(plan)
    rows = _last_drain(history)
    if not rows:
        return None
    victim = rows[draw(len(rows))]
    return _edit(history, lambda row: [row, row] if row is victim else [row])


def _swap(plan: Plan, draw: Draw) -> History | None:
    """Positions stay, records change places."""
    history = simulate(plan)
    rows = _last_drain(history)
    pairs = [(a, b) for i, a in enumerate(rows) for b in rows[i + 1 :] if _ordered(history, a, b)]
    if not pairs:
        return None
    one, two = pairs[draw(len(pairs))]
    keys = {id(one): two.key, id(two): one.key}
    return _edit(history, lambda row: [replace(row, key=keys.get(id(row), row.key))])


def _ordered(history: History, a: Row, b: Row) -> bool:
    one, two = history.append_of[a.stream, a.key], history.append_of[b.stream, b.key]
    return one.outcome == "ok" and history.before(one, two)


def _lost(plan: Plan, draw: Draw) -> History | None:
    history = simulate(plan)
    rows = _acked(history, _last_drain(history))
    crashes = [c for c in history.crashes if any(not history.after_crash(history.append_of[r.stream, r.key], c) for r in rows)]
    if plan.after_sync or not crashes:
        return None
    victims = [r for r in rows if not history.after_crash(history.append_of[r.stream, r.key], crashes[-1])]
    victim = victims[draw(len(victims))]
    return _edit(history, lambda row: [] if row is victim else [row])


PLANTS: Mapping[str, Callable[[Plan, Draw], History | None]] = {
    "phantom": _phantom,
    "corrupt": _corrupt,
    "gap": _gap,
    "duplicate-delivered": _duplicate,
    "reorder": _swap,
    "unseen": _gap,
    "skip": _gap,
    "lost-write-process": _lost,
}
