"""Judges all trials of a sealed history in one Spark job."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fireassay.reports.judge.frames import FACTS_DDL, actor_facts, facts, findings, in_trials, witness_rows
from fireassay.reports.judge.schemas import SEALED
from fireassay.spec.checks import CHECKS
from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.checks.result import CheckResult, Witness
from fireassay.spec.history.model import Actor
from fireassay.spec.history.ops import Flag, Op, Phase
from fireassay.spec.history.row import FIELDS, Row
from fireassay.spec.outcomes import HarnessError, Verdict

__all__ = ["judge"]

_WIDE = ("t_ns", "t_intended_ns", "seq", "key", "value")
Ref = tuple[str, int]


def judge(
    session: Any, history_dir: str, actors: Mapping[str, Sequence[Actor]], declared: Declared | Mapping[str, Declared]
) -> Mapping[str, tuple[CheckResult, ...]]:
    """Trial → one result per clause of the registry, in its order; none where a trial has no row. `declared` of all, or of each."""
    partitions = max(2, session.sparkContext.defaultParallelism)
    rows = in_trials(session.read.schema(SEALED).parquet(history_dir))
    tables = session.createDataFrame(actor_facts(actors), schema=FACTS_DDL)
    found = findings(facts(rows, partitions).unionByName(tables), declared, partitions).persist()
    try:
        lines = found.toArrow().to_pylist()
        shown = witness_rows(found, rows).toArrow().to_pylist() if any(line["witness"] >= 0 for line in lines) else []
    finally:
        found.unpersist()
    return _results(lines, {(line["recording"], line["row"]): _row(line) for line in shown})


def _row(line: Mapping[str, Any]) -> Row:
    values: dict[str, Any] = {name: line[name] for name in FIELDS}
    values |= {name: values[name] % (1 << 64) for name in _WIDE}
    values |= {"op": Op(values["op"]), "phase": Phase(values["phase"]), "flags": Flag(values["flags"])}
    return Row(**values)


def _results(lines: list[dict[str, Any]], rows: Mapping[Ref, Row]) -> dict[str, tuple[CheckResult, ...]]:
    witnesses: dict[tuple[str, str], dict[int, list[dict[str, Any]]]] = {}
    verdicts: dict[str, dict[str, dict[str, Any]]] = {}
    for line in lines:
        if line["witness"] < 0:
            verdicts.setdefault(line["trial"], {})[line["clause"]] = line
        else:
            witnesses.setdefault((line["trial"], line["clause"]), {}).setdefault(line["witness"], []).append(line)
    results = {}
    for trial, said in sorted(verdicts.items()):
        results[trial] = tuple(_result(clause, said.get(clause), witnesses.get((trial, clause), {}), rows) for clause in CHECKS)
    return results


def _result(clause: str, line: dict[str, Any] | None, found: Mapping[int, list[dict[str, Any]]], rows: Mapping[Ref, Row]) -> CheckResult:
    if line is None:
        return CheckResult(clause=clause, verdict=Verdict.UNKNOWN, reasons=("not judged by this engine yet",))
    return CheckResult(
        clause=clause,
        verdict=Verdict(line["name"]),
        witnesses=tuple(_witness(clause, found[number], rows) for number in sorted(found)),
        counts=json.loads(line["counts"]),
        reasons=tuple(line["reasons"]),
    )


def _witness(clause: str, lines: list[dict[str, Any]], rows: Mapping[Ref, Row]) -> Witness:
    lines = sorted(lines, key=lambda line: line["number"])
    lost = [line for line in lines if (line["recording"], line["row"]) not in rows]
    if lost:
        raise HarnessError(f"a witness of {clause} names row {lost[0]['row']} of {lost[0]['recording']}, and history has none such")
    first = lines[0]
    return Witness(
        clause=clause,
        anomaly=first["name"],
        stream=first["stream"],
        rows=tuple(rows[line["recording"], line["row"]] for line in lines if line["role"] == "row"),
        total=first["total"],
        explanation=first["text"],
        faults=tuple(rows[line["recording"], line["row"]] for line in lines if line["role"] == "fault"),
    )
