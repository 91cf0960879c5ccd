"""First stage: the rows of one actor → facts. Calls are paired, runs are left whole, deliveries get their chain.

A run's i-th operation is invoked at its fact's `inv` + 2i and done at `done` + 2i.
"""

from typing import Any

from fireassay.reports.judge.groups import Columns
from fireassay.reports.judge.pieces import cut
from fireassay.reports.judge.schemas import FACTS, INFINITE, UNTIL_DEATH, Kind, place
from fireassay.spec.history.ops import Flag, Op, Phase

__all__ = ["FAIL", "INFO", "OK", "facts_of"]

OK, FAIL, INFO = 0, 1, 2
_OUTCOMES = {int(Phase.OK): OK, int(Phase.FAIL): FAIL, int(Phase.INFO): INFO, int(Phase.EVENT): OK}
_APPEND, _READ, _APPEND_RUN, _READ_RUN = int(Op.APPEND), int(Op.READ), int(Op.APPEND_RUN), int(Op.READ_RUN)
_CALLS = frozenset(
    int(op)
    for op in (
        *(Op.APPEND, Op.READ, Op.APPEND_RUN, Op.READ_RUN, Op.SYNC, Op.COMMIT, Op.ACK, Op.SEEK, Op.LOOKUP),
        *(Op.OPEN_WRITER, Op.OPEN_READER, Op.CLOSE, Op.TRIM),
    )
)
_WRITES = frozenset(map(int, (Op.APPEND, Op.APPEND_RUN, Op.OPEN_WRITER, Op.SYNC, Op.TRIM)))
_MARKS = frozenset(map(int, (Op.OPEN_READER, Op.OPEN_WRITER, Op.CLOSE, Op.SEEK)))
_STEPS = frozenset(map(int, (Op.READ, Op.READ_RUN, Op.SEEK, Op.OPEN_READER, Op.CLOSE, Op.ASSIGN, Op.REVOKE, Op.DRAIN_BEGIN, Op.DRAIN_END)))
_INVOKE, _EVENT = int(Phase.INVOKE), int(Phase.EVENT)
_END, _ANON, _WAIT = int(Flag.END), int(Flag.ANON), int(Flag.WAIT)
_NUMBERS = 1 << 40
_KNOWN = frozenset(map(int, Op))

Fact = dict[str, Any]


class _Book:
    """What one actor wrote, turned page by page."""

    def __init__(self, rows: Columns) -> None:
        self.rows = rows
        self.trial: str = rows["trial"][0]
        self.actor: int = rows["actor"][0]
        self.facts: list[Fact] = []
        self.pending: dict[int, list[int]] = {}  # call → rows that invoked it and are not answered
        self.reading: dict[int, int] = {}  # call → its last read, answered or not
        self.runs: dict[int, tuple[int, list[Fact]]] = {}  # opening row → row that ended it, facts

    def fact(self, kind: int, n: int, **fields: Any) -> Fact:
        """About row n of the actor."""
        r = self.rows
        made: Fact = {
            "trial": self.trial,
            "actor": self.actor,
            "kind": kind,
            "op": r["op"][n],
            "stream": r["stream"][n],
            "flags": r["flags"][n],
            "seq": _bounded(r["seq"][n]),
            "key": r["key"][n],
            "value": r["value"][n],
            "digest": r["digest"][n],
            "t_inv": r["t_ns"][n],
            "t_done": r["t_ns"][n],
            "t_row": r["t_ns"][n],
            "inv": place(n),
            "done": place(n),
            "outcome": OK,
            "count": 1,
            "chain": -1,
            "recording": r["recording"][n],
            "row": r["row"][n],
        }
        made.update(fields)
        self.facts.append(made)
        return made

    def problem(self, text: str) -> None:
        self.facts.append({"trial": self.trial, "actor": self.actor, "kind": Kind.PROBLEM, "text": f"actor {self.actor}: {text}"})

    def begun(self, n: int) -> dict[str, Any]:
        """What the invoke says of a call."""
        r = self.rows
        return {
            "op": r["op"][n],
            "stream": r["stream"][n],
            "t_inv": r["t_ns"][n],
            "inv": place(n),
            "waits": bool(r["flags"][n] & _WAIT),
        }


def facts_of(rows: Columns) -> Columns:
    book = _Book(rows)
    latest = 0
    for n, (t, op, phase) in enumerate(zip(rows["t_ns"], rows["op"], rows["phase"], strict=True)):
        if t < latest:
            book.problem(f"time runs backwards at its row {n}")
        latest = max(latest, t)
        if op in _MARKS:
            book.fact(Kind.MARK, n)
        if op not in _CALLS:
            if op not in _KNOWN:
                book.problem(f"no such operation at its row {n}")
            outcome = {int(Phase.FAIL): FAIL, int(Phase.INFO): INFO}.get(phase, OK)
            book.fact(Kind.EVENT, n, outcome=outcome, value=_bounded(rows["value"][n]) if op != Op.EXIT else rows["value"][n])
        elif phase == _INVOKE:
            _invoke(book, n)
        elif phase == _EVENT:
            if op in {_READ, _APPEND, _APPEND_RUN, _READ_RUN}:
                book.problem(f"{Op(op).name} as an event at its row {n}")
            else:
                book.fact(Kind.CALL, n, waits=bool(rows["flags"][n] & _WAIT))
        else:
            _answer(book, n)
    for several in book.pending.values():
        for n in several:
            _abandon(book, n)
    _loosen(book)
    times, ops = rows["t_ns"], set(rows["op"])
    spoken = {"t_inv": min(times), "t_done": max(times), "count": len(times), "in_run": bool(ops & _CALLS), "waits": bool(ops & _WRITES)}
    book.fact(Kind.WORDS, 0, **spoken)
    book.facts.extend(cut(book.facts))
    for number, fact in enumerate(book.facts):
        fact["number"] = number
    return {name: [fact.get(name) for fact in book.facts] for name in FACTS.names}


def _bounded(value: int) -> int:
    """As the unsigned number that it is, as far as it fits."""
    return min(value if value >= 0 else value + (1 << 64), INFINITE)


def _invoke(book: _Book, n: int) -> None:
    op, key, call = book.rows["op"][n], book.rows["key"][n], book.rows["call"][n]
    waiting = book.pending.setdefault(call, [])
    together = op == _APPEND and all(book.rows["op"][m] == _APPEND and book.rows["key"][m] != key for m in waiting)
    if waiting and not together:
        book.problem(f"call {call} begun again before it ended")
    waiting.append(n)
    book.reading.pop(call, None)  # what was answered is over


def _answer(book: _Book, n: int) -> None:
    rows = book.rows
    op, call, key, phase = rows["op"][n], rows["call"][n], rows["key"][n], rows["phase"][n]
    waiting = book.pending.get(call, [])
    same = [m for m in waiting if rows["op"][m] == op]
    if op == _APPEND:
        matching = [m for m in same if rows["key"][m] == key] or (same if key == 0 else [])
    elif op in {_APPEND_RUN, _READ_RUN}:
        matching = [m for m in same if rows["seq"][m] == rows["seq"][n] and rows["key"][m] == key]
    elif op == _READ:
        # A batch of reads has one invoke for many answers.
        matching = [book.reading[call]] if call in book.reading else same[:1]
    else:
        matching = same[:1]
    if not matching:
        book.problem(f"{Op(op).name} completed at its row {n} was never invoked")
    outcome = _OUTCOMES[phase]
    for m in matching:
        if m in waiting:
            waiting.remove(m)
        begun, ended = book.begun(m), {"done": place(n), "t_done": rows["t_ns"][n], "outcome": outcome}
        if op in {_APPEND_RUN, _READ_RUN}:
            _run(book, m, n, rows["t_ns"][n], outcome)
        elif op == _APPEND:
            book.fact(Kind.APPEND, n, **begun, **ended, **_payload(book, m, n, outcome))
        elif op == _READ and outcome == OK and not rows["flags"][n] & _END:
            begun["stream"] = rows["stream"][n]
            fields = {"identity": key, "position": _bounded(rows["seq"][n]), "length": rows["value"][n]}
            book.fact(Kind.DELIVERY, n, **begun, **ended, **fields)
        else:
            book.fact(Kind.CALL, n, **begun, **ended)
        if op == _READ:
            book.reading[call] = m


def _payload(book: _Book, m: int, n: int, outcome: int) -> dict[str, Any]:
    """What the caller handed over; where the completion is silent the invoke says it."""
    r = book.rows
    return {
        "identity": r["key"][m],
        "position": _bounded(r["seq"][n]) if outcome == OK else None,
        "anonymous": bool((r["flags"][m] | r["flags"][n]) & _ANON),
        "length": r["value"][n] or r["value"][m],
        "digest": r["digest"][n] or r["digest"][m],
    }


def _abandon(book: _Book, n: int) -> None:
    rows = book.rows
    op, call = rows["op"][n], rows["call"][n]
    never = {"done": INFINITE, "t_done": INFINITE, "outcome": INFO, "went_on": any(c != call for c in rows["call"][n + 1 :])}
    if op in {_APPEND_RUN, _READ_RUN}:
        _run(book, n, None, UNTIL_DEATH, INFO)
    elif op == _APPEND:
        book.fact(Kind.APPEND, n, **book.begun(n), **never, **_payload(book, n, n, INFO))
    else:
        book.fact(Kind.CALL, n, **book.begun(n), **never)


def _run(book: _Book, m: int, ended: int | None, t_done: int, outcome: int) -> None:
    rows = book.rows
    told = m if ended is None else ended
    count, key, begun = _bounded(rows["value"][told]), rows["key"][m], book.begun(m)
    book.runs.setdefault(m, (len(rows["op"]) if ended is None else ended, []))
    if (key & _NUMBERS - 1) + count > _NUMBERS:
        book.problem(f"a run of {count} leaves the numbers an identity can have")
        return
    appends = rows["op"][m] == _APPEND_RUN
    anonymous = appends and bool((rows["flags"][m] | rows["flags"][told]) & _ANON)
    if count:
        kind = Kind.APPEND if appends else Kind.DELIVERY
        fields = {"identity": key, "position": _bounded(rows["seq"][m]), "count": count, "in_run": True, "anonymous": anonymous}
        fields |= {"length": 0, "digest": 0} if appends else {"length": rows["value"][told]}
        book.runs[m][1].append(book.fact(kind, told, **begun, done=place(m, 1), t_done=t_done, **fields))
    if outcome != OK:
        begun["inv"] = place(m, 2 * count)
        never = {"done": INFINITE, "t_done": INFINITE, "outcome": outcome, "in_run": True}
        if appends:
            book.fact(Kind.GUESS, told, **begun, **never, identity=key + count, length=0, digest=0)
        elif outcome == INFO:
            book.fact(Kind.CALL, told, **begun, **never)


def _loosen(book: _Book) -> None:
    """Of a run with other calls between its two rows nobody knows the order against those: it ends with its last row."""
    ops, streams = book.rows["op"], book.rows["stream"]
    for m, (ended, facts) in book.runs.items():
        between = range(m + 1, ended)
        if ops[m] == _READ_RUN and any(ops[n] in _STEPS and streams[n] == streams[m] for n in between):
            book.problem(f"the run of reads at its row {m} goes on across another read or a cut")
        if any(ops[n] in _CALLS for n in between):
            for fact in facts:
                fact["done"] = place(ended, 1)
