"""The catalogue: every clause of the contract and of the five systems, in one fixed order."""

import hashlib
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from fireassay.spec.clause import Clause, System
from fireassay.spec.clauses import bridge, chronicle, comet, log, ombus, simplebus

__all__ = ["ALL", "BY_ID", "digest", "index", "of_system"]


def index(clauses: Iterable[Clause]) -> Mapping[str, Clause]:
    """The clauses by id, read-only; an id that occurs twice is refused."""
    by_id: dict[str, Clause] = {}
    for clause in clauses:
        if clause.id in by_id:
            raise ValueError(f"clause id {clause.id} occurs twice: {by_id[clause.id].title!r} and {clause.title!r}")
        by_id[clause.id] = clause
    return MappingProxyType(by_id)


ALL: tuple[Clause, ...] = (
    *log.CLAUSES,
    *ombus.CLAUSES,
    *bridge.CLAUSES,
    *comet.CLAUSES,
    *chronicle.CLAUSES,
    *simplebus.CLAUSES,
)

BY_ID: Mapping[str, Clause] = index(ALL)


def of_system(system: System) -> tuple[Clause, ...]:
    """The clauses of one system, in the order of the catalogue."""
    return tuple(clause for clause in ALL if clause.system is system)


def digest(clauses: Iterable[Clause] = ALL) -> str:
    """SHA-256 over ids and statements in the order of the catalogue: which specification a run was made or judged under."""
    found = hashlib.sha256()
    for clause in clauses:
        found.update(f"{clause.id}\0{clause.statement}\0".encode())
    return found.hexdigest()
