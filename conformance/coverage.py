"""The gate between cases and clauses: no case without a clause, no clause without a case where its system exists.

Pure, so that the gate itself can be shown to fail; the pytest plugin only feeds it.
"""

from collections.abc import Iterable, Mapping, Set
from types import MappingProxyType

from fireassay.spec.clause import Clause, Method, System
from fireassay.spec.outcomes import Verdict

__all__ = ["GROUP", "SYSTEM_OF_TARGET", "existing_systems", "gaps", "standing", "systems_of"]

GROUP = "fireassay.targets"

SYSTEM_OF_TARGET: Mapping[str, System] = MappingProxyType(
    {
        "om_bus": System.OMB,
        "bridge": System.BRG,
        "comet": System.COM,
        "chronicle": System.CHR,
        "simplebus": System.SMB,
    }
)


def systems_of(targets: Iterable[str]) -> frozenset[System]:
    """The systems that exist where these targets are registered. Any target at all, also a stranger's, makes LOG exist."""
    names = frozenset(targets)
    named = {SYSTEM_OF_TARGET[name] for name in names if name in SYSTEM_OF_TARGET}
    return frozenset(named | {System.LOG}) if names else frozenset()


def existing_systems() -> frozenset[System]:
    """The systems of the targets registered in this environment; no target is imported for it."""
    from importlib.metadata import entry_points  # it costs a driver a third of its start, and few look for names

    return systems_of(entry.name for entry in entry_points(group=GROUP))


def gaps(
    clauses: Iterable[Clause],
    cases: Mapping[str, Iterable[str]],
    existing: Set[System],
    pending: Set[str] = frozenset(),
    checked: Set[str] = frozenset(),
) -> tuple[str, ...]:
    """One sentence per hole: a case without a clause, a case with an unknown one, a clause without a case.

    A clause in `checked` is decided from the history that trials record, and needs no case. One that is verified by inspection
    alone needs none either; the certificate says that people read it. One that is pending has neither yet and is not-run; it leaves
    the list with its first case or check, or the list would hide that the case is lost again.
    """
    known = {clause.id: clause for clause in clauses}
    shown: set[str] = set()
    sentences: list[str] = []
    for case in sorted(cases):
        named = tuple(cases[case])
        shown.update(named)
        if not named:
            sentences.append(f"{case} names no clause: mark it with @pytest.mark.clause(...) and the clauses it can convict.")
        for unknown in sorted(set(named) - known.keys()):
            sentences.append(f"{case} names {unknown}, which is no clause: correct the id or add the clause to fireassay.spec.clauses.")
    for id_, clause in sorted(known.items()):
        if id_ in pending:
            if id_ in shown or id_ in checked:
                has = "a case" if id_ in shown else "a check of history"
                sentences.append(f"{id_} ({clause.title}) is listed as pending and has {has}: take it out of conformance/pending.py.")
        elif clause.system in existing and id_ not in shown | checked and set(clause.verified) != {Method.INSPECTION}:
            sentences.append(f"{id_} ({clause.title}) has no case while its system exists: write a case marked clause({id_!r}).")
    for unknown in sorted(pending - known.keys()):
        sentences.append(f"{unknown} is listed as pending and is no clause: correct conformance/pending.py.")
    return tuple(sentences)


def standing(clauses: Iterable[Clause], existing: Set[System]) -> Mapping[str, Verdict]:
    """NOT_RUN for each clause of a system that does not exist here; nothing is said of the others."""
    return {clause.id: Verdict.NOT_RUN for clause in clauses if clause.system not in existing}
