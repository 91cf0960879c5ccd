"""Which faults fired, where, and whether enough of them did for the clauses that rest on them.

Three grades of crash, since they are different promises. Enough of a grade fired if and only if every place it was planned for was
reached at least once, and at least nine of ten of its faults fired: a place that was never reached is a place nobody knows of.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from fireassay.reports.records import Fault, Faults
from fireassay.spec.clause import Clause, Method

__all__ = ["GRADES", "Firing", "Grade", "PlaceFiring", "firing_of", "grades_of"]

_ENOUGH_IN_TEN = 9


@dataclass(frozen=True, slots=True)
class Grade:
    name: str
    kinds: frozenset[str]  # of faults
    method: Method | None  # a clause that is verified by it rests on this grade
    clause: str


GRADES: tuple[Grade, ...] = (
    Grade("process death", frozenset({"kill", "failpoint"}), Method.KILL, "LOG-10"),
    Grade("power loss", frozenset({"power"}), Method.POWER, "LOG-11"),
    Grade("torn page", frozenset({"torn"}), None, "LOG-12"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceFiring:
    kind: str
    where: str
    planned: int
    fired: int
    reasons: tuple[str, ...]  # why some did not


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """One grade."""

    grade: Grade
    places: tuple[PlaceFiring, ...]
    not_run: tuple[str, ...]  # why a kind of fault could not be made here

    @property
    def planned(self) -> int:
        return sum(place.planned for place in self.places)

    @property
    def fired(self) -> int:
        return sum(place.fired for place in self.places)

    @property
    def enough(self) -> bool:
        return all(place.fired for place in self.places) and 10 * self.fired >= _ENOUGH_IN_TEN * self.planned

    @property
    def sentence(self) -> str:
        """How many, and where not."""
        said = f"{self.grade.name}: {self.fired} of {self.planned} planned faults fired"
        missed = [f"{place.where} ({place.fired} of {place.planned})" for place in self.places if place.fired < place.planned]
        return said + (f"; not all at {', '.join(missed[:8])}{' …' if len(missed) > 8 else ''}" if missed else "")


def firing_of(faults: Faults) -> tuple[Firing, ...]:
    return tuple(
        Firing(
            grade=grade,
            places=_places(fault for fault in faults.faults if fault.kind in grade.kinds and (fault.planned or fault.fired)),
            not_run=tuple(f"{one.kind}: {one.reason}" for one in faults.not_run if one.kind in grade.kinds),
        )
        for grade in GRADES
    )


def _places(faults: Iterable[Fault]) -> tuple[PlaceFiring, ...]:
    by_place: dict[tuple[str, str], list[Fault]] = defaultdict(list)
    for fault in faults:
        by_place[fault.kind, fault.where].append(fault)
    return tuple(
        PlaceFiring(
            kind=kind,
            where=where,
            planned=len(found),
            fired=sum(fault.fired for fault in found),
            reasons=tuple(dict.fromkeys(fault.reason for fault in found if not fault.fired and fault.reason)),
        )
        for (kind, where), found in sorted(by_place.items())
    )


def grades_of(clause: Clause, firings: Iterable[Firing]) -> tuple[Firing, ...]:
    """What the clause rests on."""
    return tuple(firing for firing in firings if firing.grade.method in clause.verified)
