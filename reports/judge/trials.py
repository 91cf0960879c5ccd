"""Second stage: the facts of one trial → findings. A check that crashes is unknown and hides no other."""

import json
from collections.abc import Mapping
from typing import Any

from fireassay.reports.judge.clauses import CLAUSES
from fireassay.reports.judge.findings import SHOWN, Case, Check, Verdicts, faults_around
from fireassay.reports.judge.groups import Columns
from fireassay.reports.judge.owed import Owed
from fireassay.reports.judge.schemas import FINDINGS, Kind
from fireassay.reports.judge.trial import Trial
from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.outcomes import Verdict

__all__ = ["findings_of"]

Line = dict[str, Any]


def findings_of(facts: Columns, declared: Declared | Mapping[str, Declared]) -> Columns:
    """Of a trial without a row there is nothing to say."""
    name = facts["trial"][0]
    lines: list[Line] = []
    if Kind.WORDS not in facts["kind"]:
        return {column: [] for column in FINDINGS.names}
    try:
        trial = Trial(facts, declared if isinstance(declared, Declared) else declared[name])
        case = Case(trial, Owed(trial))
    except Exception as error:
        lines = [_crashed(clause, error) for clause in CLAUSES]
    else:
        for clause, check in CLAUSES.items():
            lines += _judged(case, clause, check)
    return {column: [name if column == "trial" else line.get(column) for line in lines] for column in FINDINGS.names}


def _crashed(clause: str, error: Exception) -> Line:
    reason = f"the check crashed: {type(error).__name__}: {error}"
    return {"clause": clause, "witness": -1, "name": Verdict.UNKNOWN.value, "counts": "{}", "reasons": [reason]}


def _judged(case: Case, clause: str, check: Check) -> list[Line]:
    try:
        return _lines(case, check(case))
    except Exception as error:
        return [_crashed(clause, error)]


def _lines(case: Case, said: Verdicts) -> list[Line]:
    problems = case.t.problems
    verdict, reasons = said.verdict(problems)
    convicted = verdict is Verdict.FAIL
    counts = {**said.counts, "suspected": len(said.found)} if problems and not said.inapplicable else said.counts
    lines: list[Line] = [
        {"clause": said.clause, "witness": -1, "name": verdict.value, "counts": json.dumps(counts), "reasons": reasons},
    ]
    for number, found in enumerate(said.found if convicted else ()):
        like = {"clause": said.clause, "witness": number, "name": found.anomaly, "stream": found.stream}
        like |= {"total": len(found.rows), "text": found.text}
        shown = [("row", ref) for _, ref in found.rows[:SHOWN]]
        shown += [("fault", ref) for ref in faults_around(case.t, found.rows[:SHOWN])]
        for place, (role, (recording, row)) in enumerate(shown):
            lines.append({**like, "role": role, "number": place, "recording": recording, "row": row})
    return lines
