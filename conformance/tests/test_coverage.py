"""The gate between cases and clauses, shown to open and to close."""

from importlib import metadata
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from fireassay.conformance.coverage import existing_systems, gaps, standing, systems_of
from fireassay.spec.clause import Clause, Level, Method, System
from fireassay.spec.outcomes import Verdict


def clause(id_: str, *verified: Method) -> Clause:
    return Clause(
        id=id_, level=Level.MUST, title=f"title of {id_}", statement="s", why="w", seed="contract", verified=verified or (Method.CASE,)
    )


CLAUSES = (clause("LOG-01"), clause("CHR-01"), clause("COM-01"))
ALL = frozenset(System)


def test_a_whole_set_has_no_gap() -> None:
    assert gaps(CLAUSES, {"a": ["LOG-01", "CHR-01"], "b": ["COM-01"]}, ALL) == ()


def test_a_case_without_a_clause_is_named_with_the_remedy() -> None:
    (sentence,) = gaps(CLAUSES, {"cases/test_x.py::test_y": []}, frozenset())
    assert sentence.startswith("cases/test_x.py::test_y names no clause")
    assert "pytest.mark.clause" in sentence


def test_a_case_with_an_unknown_clause_is_named_with_the_id() -> None:
    (sentence,) = gaps(CLAUSES, {"case": ["LOG-01", "LOG-99"]}, frozenset())
    assert sentence.startswith("case names LOG-99, which is no clause")


def test_a_clause_without_a_case_is_a_gap_only_where_its_system_exists() -> None:
    (sentence,) = gaps(CLAUSES, {"case": ["LOG-01"]}, {System.LOG, System.CHR})
    assert sentence.startswith("CHR-01 (title of CHR-01) has no case")


def test_an_unknown_id_does_not_stand_for_the_clause_it_resembles() -> None:
    found = gaps((clause("LOG-01"),), {"case": ["LOG-1"]}, {System.LOG})
    assert len(found) == 2


def test_a_clause_read_by_people_alone_needs_no_case() -> None:
    assert gaps((clause("LOG-01", Method.INSPECTION),), {}, ALL) == ()
    assert gaps((clause("LOG-01", Method.INSPECTION, Method.CASE),), {}, ALL)


def test_nothing_exists_without_a_target() -> None:
    assert systems_of([]) == frozenset()


def test_any_target_makes_the_log_contract_exist() -> None:
    assert systems_of(["somebody-elses"]) == {System.LOG}
    assert systems_of(["chronicle", "simplebus"]) == {System.LOG, System.CHR, System.SMB}


def test_each_seed_system_has_one_target_name() -> None:
    assert systems_of(["om_bus", "bridge", "comet", "chronicle", "simplebus"]) == ALL


def test_targets_are_read_from_the_entry_points_without_importing_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def registered(*, group: str) -> EntryPoints:
        return EntryPoints([EntryPoint(name="comet", value="no.such.module:Target", group=group)] if group == "fireassay.targets" else [])

    monkeypatch.setattr(metadata, "entry_points", registered)
    assert existing_systems() == {System.LOG, System.COM}


def test_clauses_of_absent_systems_are_not_run() -> None:
    assert standing(CLAUSES, {System.LOG, System.CHR}) == {"COM-01": Verdict.NOT_RUN}
    assert set(standing(CLAUSES, frozenset()).values()) == {Verdict.NOT_RUN}


def test_a_pending_clause_needs_no_case_yet() -> None:
    assert gaps(CLAUSES, {"a": ["LOG-01"], "b": ["COM-01"]}, ALL, {"CHR-01"}) == ()


def test_a_pending_clause_that_has_a_case_is_named() -> None:
    (sentence,) = gaps(CLAUSES, {"a": ["LOG-01", "CHR-01", "COM-01"]}, ALL, {"CHR-01"})
    assert "take it out of conformance/pending.py" in sentence


def test_a_check_of_history_stands_for_a_case() -> None:
    assert gaps(CLAUSES, {"a": ["LOG-01"], "b": ["COM-01"]}, ALL, checked={"CHR-01"}) == ()


def test_a_pending_clause_that_has_a_check_is_named() -> None:
    (sentence,) = gaps(CLAUSES, {"a": ["LOG-01"], "b": ["COM-01"]}, ALL, {"CHR-01"}, {"CHR-01"})
    assert sentence.startswith("CHR-01 (title of CHR-01) is listed as pending and has a check of history")


def test_what_is_pending_must_be_a_clause() -> None:
    (sentence,) = gaps(CLAUSES, {"a": ["LOG-01", "CHR-01", "COM-01"]}, ALL, {"CHR-99"})
    assert sentence.startswith("CHR-99 is listed as pending and is no clause")
