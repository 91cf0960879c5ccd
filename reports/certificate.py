"""certificate.json: what was examined, what was promised, what was shown and how often, and what was not.

It is not signed in this version, and says so. It names the digest of the run it rests on, so that whoever has the run can judge it again.
"""

import shlex
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from fireassay.reports.firing import Firing, grades_of
from fireassay.reports.run import Run
from fireassay.reports.verdicts import ClauseVerdict, Verdicts
from fireassay.spec.clauses import digest as clauses_digest
from fireassay.spec.outcomes import Verdict

__all__ = ["CERTIFICATE_SCHEMA", "certificate_json", "not_verified", "partly_shown"]

CERTIFICATE_SCHEMA = "fireassay.certificate/1"
UNSIGNED = "This certificate is not signed: this version of fireassay has no signatures. It is worth as much as the place you took it from."
MEMORY_MODEL = (
    "Memory model: missing release and acquire pairs that this kind of CPU hides are not decided by running. "
    "Thread sanitizers and model checkers speak for those."
)
FAILPOINT_BUILD = (
    "Deaths at failpoints need the build that carries failpoints. They speak for the release build as far as the two differ in nothing "
    "but these sites."
)
_SHOWN = frozenset({Verdict.PASS, Verdict.TOLERATED})


def harness_version() -> str:
    try:
        return version("fireassay")
    except PackageNotFoundError:
        return "unknown"


def certificate_json(run: Run, verdicts: Verdicts) -> dict[str, Any]:
    manifest, target = run.manifest, run.manifest.target
    return {
        "schema": CERTIFICATE_SCHEMA,
        "signature": None,
        "signature_note": UNSIGNED,
        "target": {"spec": target.spec, "name": target.name, "kind": target.kind, "digest": target.digest, "variant": target.variant},
        "promises": target.promises_text,
        "verdict": verdicts.headline.value,
        "counts": {verdict.value: number for verdict, number in verdicts.counts.items()},
        "spec": {"version": manifest.spec_version, "clauses": manifest.spec_clauses, "judged_under": clauses_digest()},
        "harness": {"version": harness_version(), "of_the_run": dict(manifest.versions)},
        "engine": verdicts.engine,
        "run": {
            "id": manifest.run,
            "digests": f"sha256:{run.digest}",
            "mode": manifest.mode,
            "started": manifest.started,
            "ended": manifest.ended,
            "seed": manifest.seed,
            "nonce": manifest.nonce,
            "trials": len(manifest.trials),
            "seeds": {trial.name: trial.seed for trial in manifest.trials},
            "rows": run.sealed.rows if run.sealed else 0,
            "deadline_ns": manifest.deadline_ns,
            "epsilon_ns": manifest.epsilon_ns,
        },
        "environment": dict(manifest.environment),
        "canaries": [{"trial": each.trial, "clause": each.clause, "verdict": each.verdict.value} for each in verdicts.canaries],
        "crash_grades": [_grade(firing, verdicts) for firing in verdicts.firings],
        "clauses": [_clause(each) for each in verdicts.in_scope],
        "not_verified": not_verified(run, verdicts),
        "repeat": repeat(run),
    }


def _clause(each: ClauseVerdict) -> dict[str, Any]:
    return {
        "clause": each.clause.id,
        "level": each.clause.level.value,
        "title": each.clause.title,
        "verdict": each.verdict.value,
        "evidence": dict(each.evidence),
        "trials": dict(each.trials),
        "cases": dict(each.cases),
        "tolerated": list(each.tolerated),
        "witnesses": each.witnesses_total,
        "reasons": list(each.reasons),
    }


def _grade(firing: Firing, verdicts: Verdicts) -> dict[str, Any]:
    verdict = next((each.verdict.value for each in verdicts.clauses if each.clause.id == firing.grade.clause), Verdict.NOT_RUN.value)
    return {
        "grade": firing.grade.name,
        "clause": firing.grade.clause,
        "verdict": verdict,
        "planned": firing.planned,
        "fired": firing.fired,
        "every_fault_fired": bool(firing.planned) and firing.fired == firing.planned,
        "places": [
            {"kind": p.kind, "where": p.where, "planned": p.planned, "fired": p.fired, "reasons": list(p.reasons)} for p in firing.places
        ],
        "not_run": list(firing.not_run),
    }


def partly_shown(verdicts: Verdicts) -> list[tuple[str, str]]:
    """Clauses that hold as far as they were shown, and the grade of crash they were not shown under."""
    found: list[tuple[str, str]] = []
    for each in verdicts.in_scope:
        if each.verdict not in _SHOWN or not each.trials:
            continue
        for firing in grades_of(each.clause, verdicts.firings):
            if not firing.fired:
                why = f": {'; '.join(firing.not_run)}" if firing.not_run else ""
                found.append((each.clause.id, f"not shown under {firing.grade.name}{why}"))
    return found


def not_verified(run: Run, verdicts: Verdicts) -> dict[str, Any]:
    """Everything a reader of the verdicts could wrongly take for shown."""
    silent = [each for each in verdicts.in_scope if each.verdict is Verdict.NOT_RUN]
    outside = sorted({each.clause.system.value for each in verdicts.clauses if not each.in_scope})
    general = [MEMORY_MODEL]
    if any(fault.kind == "failpoint" and fault.fired for fault in run.faults.faults):
        general.append(FAILPOINT_BUILD)
    general += [canary.sentence for canary in verdicts.canaries if not canary.convicted]
    if run.manifest.trials and not verdicts.canaries:
        general.append("No canary was judged: nothing shows that this judge convicts what is broken.")
    if run.manifest.target.variant not in ("", "release"):
        general.append(f"What was examined is the build variant {run.manifest.target.variant!r}; nothing here speaks for another build.")
    if run.manifest.spec_clauses.removeprefix("sha256:") != clauses_digest():
        general.append("The run was made under another edition of the clauses than the one it was judged under.")
    if run.manifest.mode == "smoke":
        general.append("Smoke mode: one way in and a few faults; it shows that the examination goes through, and little of the target.")
    if run.manifest.mode == "quick":
        general.append("Quick mode: fewer trials and shorter loads than a long run.")
    if verdicts.engine != "spark":
        general.append(f"Judged by the {verdicts.engine} engine; the certifying engine is spark.")
    return {
        "clauses": [{"clause": each.clause.id, "title": each.clause.title, "reasons": list(each.reasons)} for each in silent],
        "partly": [{"clause": clause, "reason": reason} for clause, reason in partly_shown(verdicts)],
        "faults": [f"{one.kind}: {one.reason}" for one in run.faults.not_run],
        "systems": outside,
        "general": general,
    }


def repeat(run: Run) -> dict[str, Any]:
    target, manifest = run.manifest.target, run.manifest
    again = ["fireassay", "run", target.spec, "--mode", manifest.mode, "--seed", str(manifest.seed)]
    return {
        "judge": "fireassay judge RUN_DIRECTORY",
        "run": shlex.join(again),
        "trials": {trial.name: trial.repeat for trial in manifest.trials},
    }
