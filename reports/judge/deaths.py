"""Who died when, of what grade, and where one recovery epoch of a stream ends and the next begins."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fireassay.reports.judge.schemas import INFINITE
from fireassay.spec.history.ops import Op

if TYPE_CHECKING:
    from fireassay.reports.judge.trial import Moment, Trial

__all__ = ["Crash", "Deaths", "Epoch"]

_PROCESS, _POWER = 0, 1
_MERE = frozenset({"reader", "member", "drain"})
UNKNOWN = -1  # epoch


@dataclass(frozen=True, eq=False)
class Crash:
    victims: frozenset[int]
    t_begin: int
    t_end: int
    provoked: bool
    known: bool
    signal: int
    domain: int
    event: "Moment"
    power: bool = False


@dataclass(frozen=True, eq=False)
class Epoch:
    """The seam behind an epoch."""

    t_begin: int
    t_end: int
    kept: int  # positions below it were kept
    recorded: bool
    victims: frozenset[int]
    domain: int
    actor: int
    place: int


def _kind(event: "Moment") -> int:
    return int(event.digest) if event.digest in {1, 2} else _PROCESS


class Deaths:
    def __init__(self, trial: "Trial") -> None:
        self.trial = trial
        self.spoken = {actor: words.t_done for actor, words in trial.words.items()}
        self.exits = self._exits()
        self.crashes = sorted(self._crashes(), key=lambda crash: crash.t_begin)
        self._seams: dict[int, list[Epoch]] = {}

    def taken_back(self, fault: "Moment") -> int:
        return min(
            (
                e.t_row
                for e in self.trial.events
                if e.t_row >= fault.t_row and (e.op == Op.HEAL or (e.op == Op.FAULT_END and e.seq == fault.seq))
            ),
            default=INFINITE,
        )

    # -- exits

    def _exits(self) -> dict[int, "Moment"]:
        """Of each actor in the table the exit of its process: the first that its last word allows."""
        trial, actors = self.trial, self.trial.actors
        seen: dict[int, list[Moment]] = {}
        for event in trial.in_row_order:
            if event.op == Op.EXIT and event.seq:
                seen.setdefault(event.seq, []).append(event)
        found: dict[int, Moment] = {}
        for actor, process in enumerate(actors.process):
            if not actors.tabled[actor] or not process or process not in seen:
                continue
            exits = sorted(seen[process], key=lambda e: e.t_row)
            words = trial.words.get(actor)
            one_clock = all(actors.tabled[e.actor] and actors.domain[e.actor] == actors.domain[actor] for e in exits)
            if words is None or not one_clock:
                found[actor] = exits[-1]
                continue
            late = [e for e in exits if e.t_row + trial.epsilon >= words.t_done]
            if late:
                found[actor] = late[0]
            if any(words.t_inv <= e.t_row for e in exits if e not in late):
                trial.problems.append(f"actor {actors.ids[actor]} speaks after its process was seen dead")
        return found

    @cached_property
    def exited_before(self) -> npt.NDArray[np.bool_]:
        """[a, b]: a's process was seen dead before b's was started, by the same eyes."""
        actors = self.trial.actors
        born: dict[int, Moment] = {}
        for event in self.trial.in_row_order:
            if event.op == Op.SPAWN and event.seq:
                born.setdefault(event.seq, event)
        table = np.zeros((len(actors.ids), len(actors.ids)), dtype=bool)
        for a, gone in self.exits.items():
            for b, process in enumerate(actors.process):
                spawn = born.get(process) if process else None
                table[a, b] = spawn is not None and spawn.actor == gone.actor and gone.inv < spawn.inv
        return table

    # -- crashes

    def _crashes(self) -> list[Crash]:
        trial = self.trial
        events = trial.in_row_order
        begins = [e for e in events if e.op == Op.FAULT_BEGIN]
        fired = [e for e in events if e.op == Op.FAULT_FIRED]
        deaths = [e for e in events if e.op == Op.EXIT and e.value != 0]
        of_exit = {id(e): frozenset(a for a, gone in self.exits.items() if gone is e) for e in deaths}
        outages, claimed, buried = self._outages(begins, fired, deaths, of_exit)
        found = list(outages)
        unfired = [b for b in begins if _kind(b) == _POWER and not any(f.seq == b.seq and f.t_row >= b.t_row for f in fired)]
        for death in deaths:
            if id(death) in claimed:
                continue
            victims = of_exit[id(death)]
            spoken = max((self.spoken.get(v, 0) for v in victims), default=0)
            ids = {trial.actors.ids[v] for v in victims}
            aimed = [b.t_row for b in begins if b.key in ids and b.t_row <= death.t_row and self.taken_back(b) >= spoken]
            t_begin = min(aimed) if aimed else min(spoken, death.t_row)
            doubtful = any(b.t_row <= death.t_row and t_begin <= self.taken_back(b) for b in unfired)
            domain = self._domain(death)
            found.append(Crash(victims, t_begin, death.t_row, bool(aimed), bool(victims) and not doubtful, death.value, domain, death))
            buried |= victims
        for shot in fired:
            target = trial.actors.index.get(shot.key)
            if _kind(shot) != _PROCESS or target in buried:
                continue
            victims = self._neighbours(target)
            if all(self.spoken.get(v, 0) <= shot.t_row for v in victims):
                t_begin = max((b.t_row for b in begins if b.seq == shot.seq and b.t_row <= shot.t_row), default=shot.t_row)
                found.append(Crash(victims, t_begin, shot.t_row, True, bool(victims), 0, self._domain(shot), shot))
        return found

    def _domain(self, event: "Moment") -> int:
        return int(self.trial.actors.domain[event.actor])

    def _neighbours(self, actor: int | None) -> frozenset[int]:
        actors = self.trial.actors
        if actor is None or not actors.tabled[actor]:
            return frozenset()
        process = actors.process[actor]
        return frozenset({actor} | {a for a, p in enumerate(actors.process) if process and p == process})

    def _outages(
        self, begins: list["Moment"], fired: list["Moment"], deaths: list["Moment"], of_exit: dict[int, frozenset[int]]
    ) -> tuple[list[Crash], set[int], frozenset[int]]:
        """Power losses; which exits are theirs; and whose."""
        trial, actors = self.trial, self.trial.actors
        found: list[Crash] = []
        claimed: set[int] = set()
        exited = frozenset[int]()
        gone: set[int] = set()
        born = {e.seq: e.t_row for e in trial.in_row_order if e.op == Op.SPAWN}
        for loss in sorted((f for f in fired if _kind(f) == _POWER), key=lambda f: f.t_row):
            t_begin = max((b.t_row for b in begins if b.seq == loss.seq and b.t_row <= loss.t_row), default=loss.t_row)
            back = self.taken_back(loss)
            until = loss.t_row if back == INFINITE else back
            killed: set[int] = set()
            for shot in fired:
                target = actors.index.get(shot.key)
                if _kind(shot) == _PROCESS and shot.t_row <= t_begin and self.spoken.get(-1 if target is None else target, 0) <= shot.t_row:
                    killed.add(-1 if target is None else target)
            t_end, mine = loss.t_row, frozenset[int]()
            for death in deaths:
                victims = of_exit[id(death)]
                if id(death) in claimed or death.t_row < t_begin or victims & killed:
                    continue
                silent = bool(victims) and max(self.spoken.get(v, 0) for v in victims) <= loss.t_row >= born.get(death.seq, 0)
                if silent or death.t_row <= until:
                    claimed.add(id(death))
                    mine |= victims
                    t_end = max(t_end, death.t_row)
            exited |= mine
            gone |= mine | killed | {loss.actor}
            mute = frozenset(
                a
                for a, process in enumerate(actors.process)
                if process and actors.tabled[a] and a not in gone and a not in self.exits
                if actors.domain[a] == actors.domain[loss.actor] and 0 < self.spoken.get(a, 0) <= loss.t_row
            )
            gone = (gone | mute) - killed - {loss.actor}
            found.append(Crash(mine | mute, t_begin, t_end, True, True, 0, self._domain(loss), loss, power=True))
        return found, claimed, exited

    # -- when an actor was gone

    def seen_dead(self, actor: int) -> int:
        exit_row = self.exits.get(actor)
        ends = [crash.t_end for crash in self.crashes if actor in crash.victims]
        return int(min([INFINITE, *ends, *([exit_row.t_row] if exit_row else [])]))

    def gone(self, actor: int) -> int:
        return min([self.seen_dead(actor), *(crash.t_begin for crash in self.crashes if actor in crash.victims)])

    # -- calls and crashes

    def before_crash(self, call: Any, crash: Crash) -> Any:
        domain = self.trial.actors.domain
        by_clock = (domain[call.actor] == crash.domain) & (call.t_done + self.trial.epsilon < crash.t_begin)
        return by_clock if crash.power else by_clock | self._victim(call, crash)

    def after_crash(self, call: Any, crash: Crash) -> Any:
        domain = self.trial.actors.domain
        after = (domain[call.actor] == crash.domain) & (crash.t_end + self.trial.epsilon < call.t_inv)
        for victim in crash.victims:
            after = after | self.exited_before[victim, call.actor]
        return after & ~self._victim(call, crash)

    def _victim(self, call: Any, who: Crash | Epoch) -> Any:
        return np.isin(call.actor, list(who.victims))

    # -- epochs

    def seams(self, stream: int) -> list[Epoch]:
        if stream not in self.trial.streams:
            return []
        if stream not in self._seams:
            self._seams[stream] = self._seams_of(stream)
        return self._seams[stream]

    @cached_property
    def _mere_readers(self) -> frozenset[int]:
        trial = self.trial
        callers = {actor for actor, words in trial.words.items() if words.in_run}
        writers = {actor for actor, words in trial.words.items() if words.waits}
        by_role = {a for a, role in enumerate(trial.actors.roles) if role in _MERE}
        return frozenset((callers | by_role) - writers)

    def _seams_of(self, stream: int) -> list[Epoch]:
        trial = self.trial
        open_crashes = [c for c in self.crashes if c.power or not c.victims or c.victims - self._mere_readers]
        found: list[Epoch] = []
        last = 0
        for row in (e for e in trial.said(Op.RECOVERY_END) if e.stream == stream):
            begun = [e.t_row for e in trial.events if e.op == Op.RECOVERY_BEGIN and e.stream == stream and last <= e.t_row <= row.t_row]
            limit = max(begun, default=row.t_row)
            causes = [c for c in open_crashes if c.t_begin <= limit]
            open_crashes = [c for c in open_crashes if c.t_begin > limit]
            t_begin = min([c.t_begin for c in causes] + begun, default=row.t_row)
            found.append(self._seam(t_begin, row.t_row, row.seq, True, causes, row.actor, row.inv))
            last = row.t_row
        openings = [c for c in trial.calls if c.op == Op.OPEN_WRITER and c.stream == stream and c.outcome == 0]
        for crash in open_crashes:
            later = [c for c in openings if c.t_inv > crash.t_begin]
            first = min(later, key=lambda c: c.t_inv, default=None)
            ends = (first.t_done, first.actor, first.done) if first is not None else (INFINITE, -1, INFINITE)
            found.append(self._seam(crash.t_begin, ends[0], 0, False, [crash], ends[1], ends[2]))
        return sorted(found, key=lambda seam: seam.t_begin)

    def _seam(self, t_begin: int, t_end: int, kept: int, recorded: bool, causes: list[Crash], actor: int, place: int) -> Epoch:
        victims = frozenset[int]().union(*(crash.victims for crash in causes))
        domain = causes[0].domain if causes else int(self.trial.actors.domain[actor])
        return Epoch(t_begin, t_end, kept, recorded, victims, domain, actor, place)

    def epochs(self, calls: Any, stream: int) -> Any:
        """How many recoveries of the stream came before each; -1 where nobody knows."""
        trial = self.trial
        domain = trial.actors.domain[calls.actor]
        count: Any = np.zeros_like(calls.actor)
        unknown: Any = np.zeros_like(calls.actor, dtype=bool)
        for seam in self.seams(stream):
            one_clock = domain == seam.domain
            own = np.equal(calls.actor, seam.actor)
            after = np.where(own, np.greater(calls.inv, seam.place), one_clock & (seam.t_end + trial.epsilon < calls.t_inv))
            before = self._victim(calls, seam) | (one_clock & (calls.t_done + trial.epsilon < seam.t_begin))
            count = count + after
            unknown = unknown | (~after & ~before)
        return np.where(unknown, UNKNOWN, count)

    def keeps(self, stream: int, position: int, one: int, later: int) -> bool:
        """Both epochs are known, and every recovery between them kept the position."""
        return 0 <= one <= later and all(seam.kept > position for seam in self.seams(stream)[one:later])
