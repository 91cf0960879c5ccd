"""The catalogue of clauses is whole, its ids are frozen, and CLAUSES.md says what it says."""

from dataclasses import replace
from pathlib import Path

import pytest

from fireassay.spec import document
from fireassay.spec.clause import Clause, Level, Method, System
from fireassay.spec.clauses import ALL, BY_ID, index, of_system

CLAUSES_MD = Path(__file__).resolve().parents[2] / "CLAUSES.md"

# numbered clauses, performance clauses
COUNTS = {
    System.LOG: (32, 1),
    System.OMB: (37, 3),
    System.BRG: (23, 4),
    System.COM: (27, 2),
    System.CHR: (37, 1),
    System.SMB: (19, 1),
}

CONDITIONS = {
    "survives-process-death",
    "survives-power-loss",
    "damage-detection",
    "visible-at-sync",
    "total-order",
    "one-writer",
    "many-writers",
    "reader-groups",
    "competing-group",
    "positions",
    "ordered-ids-or-timestamps",
    "seekable",
    "retention",
    "durable-cursors",
    "bounded-recovery",
    "bounded-staleness",
    "pressure-declared",
    "max-payload",
}


def expected_ids(system: System) -> list[str]:
    numbered, performance = COUNTS[system]
    return [f"{system.value}-{n:02d}" for n in range(1, numbered + 1)] + [f"{system.value}-P{n}" for n in range(1, performance + 1)]


@pytest.mark.parametrize("system", list(System))
def test_the_ids_of_a_system_are_frozen_and_in_order(system: System) -> None:
    assert [clause.id for clause in of_system(system)] == expected_ids(system)


def test_the_catalogue_holds_every_system_in_the_fixed_order() -> None:
    assert [clause.id for clause in ALL] == [i for system in COUNTS for i in expected_ids(system)]


def test_the_seed_systems_have_154_clauses_and_the_contract_33() -> None:
    assert len(of_system(System.LOG)) == 33
    assert len(ALL) - len(of_system(System.LOG)) == 154


def test_ids_are_unique_and_lead_to_their_clause() -> None:
    assert len({clause.id for clause in ALL}) == len(ALL)
    assert all(BY_ID[clause.id] is clause for clause in ALL)


def test_a_duplicate_id_is_refused_and_named() -> None:
    with pytest.raises(ValueError, match="LOG-01 occurs twice"):
        index([BY_ID["LOG-01"], BY_ID["LOG-02"], replace(BY_ID["LOG-01"], title="Another one")])


def test_the_registry_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        BY_ID["LOG-01"] = BY_ID["LOG-02"]  # type: ignore[index]


@pytest.mark.parametrize("clause", [c for c in ALL if c.level is Level.MUST], ids=lambda c: c.id)
def test_a_must_clause_says_what_why_whence_and_how(clause: Clause) -> None:
    assert clause.statement.strip()
    assert clause.why.strip()
    assert clause.seed.strip()
    assert clause.verified


@pytest.mark.parametrize("clause", ALL, ids=lambda c: c.id)
def test_texts_carry_meaning(clause: Clause) -> None:
    assert len(clause.statement) > 20
    assert len(clause.why) > 20
    assert all(len(erratum) > 20 for erratum in clause.errata)
    assert 3 <= len(clause.title.split()) <= 7
    for text in (clause.statement, clause.why, clause.title, *clause.errata):
        assert text == " ".join(text.split()), "doubled or dangling blanks"


def test_performance_ids_have_the_performance_level_and_no_others_do() -> None:
    assert {c.id for c in ALL if c.level is Level.PERFORMANCE} == {c.id for c in ALL if c.id.partition("-")[2].startswith("P")}


def test_performance_clauses_are_verified_by_benchmark() -> None:
    assert [c.id for c in ALL if c.level is Level.PERFORMANCE and Method.BENCHMARK not in c.verified] == []


def test_no_clause_names_a_method_twice() -> None:
    assert [c.id for c in ALL if len(set(c.verified)) != len(c.verified)] == []


def test_only_log_clauses_need_conditions_and_only_known_ones() -> None:
    assert [c.id for c in ALL if c.needs and c.system is not System.LOG] == []
    assert {need for c in ALL for need in c.needs} <= CONDITIONS


def test_every_log_clause_names_what_convicts_it() -> None:
    assert [c.id for c in of_system(System.LOG) if not c.anomalies] == []


def test_a_system_is_convicted_by_the_anomalies_of_the_contract_and_by_no_others() -> None:
    known = {anomaly for clause in of_system(System.LOG) for anomaly in clause.anomalies}
    assert [(c.id, a) for c in ALL for a in (*c.anomalies, *c.tolerated) if a not in known] == []


def test_the_three_crash_grades_are_convicted_by_three_different_losses() -> None:
    assert [BY_ID[i].anomalies[0] for i in ("LOG-10", "LOG-11", "LOG-12")] == ["lost-write-process", "lost-write-power", "lost-write-torn"]


def test_no_anomaly_is_both_convicting_and_tolerated() -> None:
    assert [c.id for c in ALL if set(c.anomalies) & set(c.tolerated)] == []


def test_clauses_md_is_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert document.main(["--check", str(CLAUSES_MD)]) == 0, capsys.readouterr().err


def test_the_document_shows_every_part_of_a_clause() -> None:
    clause = Clause(
        id="COM-01",
        level=Level.SHOULD,
        title="A title | with bar",
        statement="The statement, where a_b < c.",
        why="The reason.",
        seed="002 Somewhere",
        verified=(Method.CASE, Method.KILL),
        errata=("Erratum: one.", "Ours: two."),
        needs=("a-need",),
        anomalies=("an-anomaly",),
        tolerated=("a-tolerated-one",),
    )
    text = document.clauses_markdown([clause])
    assert "| [COM-01](#com-01) | should | A title \\| with bar | case, kill |" in text
    assert "The statement, where a\\_b \\< c." in text
    for part in ("The reason.", "002 Somewhere", "Erratum: one.", "Ours: two.", "a-need", "an-anomaly", "a-tolerated-one"):
        assert part in text
    assert "## LOG" not in text


def test_the_document_has_a_row_and_a_section_for_each_clause() -> None:
    lines = document.clauses_markdown(ALL).splitlines()
    for clause in ALL:
        assert sum(line.startswith(f"| [{clause.id}](") for line in lines) == 1
        assert sum(line.startswith(f"### {clause.id}: ") for line in lines) == 1


@pytest.mark.parametrize("field", ["statement", "why", "title", "seed"])
def test_a_changed_clause_makes_the_document_stale_and_the_message_names_the_command(
    field: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "CLAUSES.md"
    assert document.main([str(path)]) == 0
    assert document.main(["--check", str(path)]) == 0
    before = path.read_bytes()
    changed = [replace(c, **{field: "Something else altogether"}) if c.id == "CHR-06" else c for c in ALL]
    assert document.main(["--check", str(path)], changed) == 1
    assert f"python -m fireassay.spec.document {path}" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_a_missing_document_is_stale(tmp_path: Path) -> None:
    assert document.main(["--check", str(tmp_path / "none.md")]) == 1
    assert not (tmp_path / "none.md").exists()
