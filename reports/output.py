"""verdicts.json: what the judge found, for programs. Rows of witnesses are written with the names of their ops and phases."""

import json
from typing import Any

from fireassay.reports.run import Run
from fireassay.reports.verdicts import ClauseVerdict, Found, Verdicts
from fireassay.spec.history.ops import Flag
from fireassay.spec.history.row import FIELDS, Row

__all__ = ["VERDICTS_SCHEMA", "as_text", "row_json", "verdicts_json"]

VERDICTS_SCHEMA = "fireassay.verdicts/1"


def as_text(document: Any) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def verdicts_json(run: Run, verdicts: Verdicts) -> dict[str, Any]:
    repeat = {trial.name: trial.repeat for trial in run.manifest.trials}
    return {
        "schema": VERDICTS_SCHEMA,
        "run": run.manifest.run,
        "digests": f"sha256:{run.digest}",
        "engine": verdicts.engine,
        "headline": verdicts.headline.value,
        "counts": {verdict.value: number for verdict, number in verdicts.counts.items()},
        "doubts": {trial: list(doubts) for trial, doubts in run.doubts.items()},
        "notes": list(run.notes),
        "incidents": [{"trial": trial.name, "text": text} for trial in run.manifest.trials for text in trial.incidents],
        "clauses": [_clause(each, repeat) for each in verdicts.clauses],
    }


def _clause(each: ClauseVerdict, repeat: dict[str, str]) -> dict[str, Any]:
    return {
        "clause": each.clause.id,
        "title": each.clause.title,
        "level": each.clause.level.value,
        "verdict": each.verdict.value,
        "examined": each.in_scope,
        "evidence": dict(each.evidence),
        "trials": dict(each.trials),
        "cases": dict(each.cases),
        "reasons": list(each.reasons),
        "tolerated": list(each.tolerated),
        "witnesses": [_witness(found, repeat) for found in each.witnesses],
        "witnesses_total": each.witnesses_total,
    }


def _witness(found: Found, repeat: dict[str, str]) -> dict[str, Any]:
    witness = found.witness
    return {
        "trial": found.trial,
        "anomaly": witness.anomaly,
        "tolerated": found.tolerated,
        "stream": witness.stream,
        "explanation": witness.explanation,
        "total": witness.total,
        "rows": [row_json(row) for row in witness.rows],
        "faults": [row_json(row) for row in witness.faults],
        "repeat": repeat.get(found.trial, ""),
    }


def row_json(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = {name: getattr(row, name) for name in FIELDS}
    flags = [flag.name.lower() for flag in Flag if flag in row.flags and flag.name]
    return {**found, "op": row.op.name.lower(), "phase": row.phase.name.lower(), "flags": flags}
