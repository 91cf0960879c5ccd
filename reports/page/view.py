"""What the page shows, taken out of the documents: sorted, grouped, shortened; no markup."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from fireassay.reports.judging import Judged
from fireassay.reports.page.timeline import after, timeline
from fireassay.spec.clauses import BY_ID
from fireassay.spec.outcomes import Verdict

__all__ = ["LEVELS", "SYMBOLS", "SYSTEMS", "headline_sentence", "view"]

SYMBOLS = {
    Verdict.PASS.value: "✓",
    Verdict.TOLERATED.value: "≈",
    Verdict.FAIL.value: "✕",
    Verdict.UNKNOWN.value: "?",
    Verdict.NOT_RUN.value: "–",
    Verdict.NOT_APPLICABLE.value: "·",
}
ORDER = (Verdict.FAIL, Verdict.UNKNOWN, Verdict.TOLERATED, Verdict.PASS, Verdict.NOT_RUN, Verdict.NOT_APPLICABLE)
LEVELS = {"M": "must", "S": "should", "P": "performance"}
SYSTEMS = {"LOG": "any log", "OMB": "om_bus", "BRG": "bridge", "COM": "comet", "CHR": "chronicle", "SMB": "simplebus"}
_CASES_SHOWN = 2000
_INCIDENTS_SHOWN = 100
_OUTCOME_ORDER = {"failed": 0, "error": 1, "skipped": 2, "passed": 3}
_SHOWN = frozenset({Verdict.PASS, Verdict.TOLERATED})
_WORDS = {
    Verdict.FAIL: "Fails",
    Verdict.UNKNOWN: "Unknown",
    Verdict.TOLERATED: "Holds, with tolerated anomalies",
    Verdict.PASS: "Holds",
    Verdict.NOT_RUN: "Nothing was shown",
}


def headline_sentence(judged: Judged) -> str:
    """What a reader should take away, in one sentence."""
    counts: Counter[str] = Counter(judged.verdicts["counts"])
    shown = counts["pass"] + counts["pass-with-tolerated"]
    parts = [f"{counts['fail']} failed"] if counts["fail"] else []
    parts += [f"{counts['unknown']} could not be decided"] if counts["unknown"] else []
    parts += [f"{counts['not-run']} were not run"] if counts["not-run"] else []
    parts += [f"{counts['not-applicable']} are not promised"] if counts["not-applicable"] else []
    return f"{shown} of {sum(counts.values())} clauses in scope were shown to hold" + (f"; {', '.join(parts)}." if parts else ".")


def view(judged: Judged) -> dict[str, Any]:
    run, manifest = judged.run, judged.run.manifest
    roles = {trial: {actor.id: actor.role for actor in actors} for trial, actors in run.actors.items()}
    clauses = [_clause(each, roles) for each in judged.verdicts["clauses"]]
    fired, planned = (sum(grade[key] for grade in judged.certificate["crash_grades"]) for key in ("fired", "planned"))
    counts = judged.verdicts["counts"]
    return {
        "title": manifest.target.name,
        "headline": judged.headline.value,
        "word": _WORDS[judged.headline] + (" where it was examined" if judged.headline in _SHOWN and counts["not-run"] else ""),
        "sentence": headline_sentence(judged),
        "tally": [(verdict.value, SYMBOLS[verdict.value], counts[verdict.value]) for verdict in ORDER if counts[verdict.value]],
        "order": [verdict.value for verdict in ORDER],
        "symbols": SYMBOLS,
        "levels": LEVELS,
        "facts": [
            ("Target", f"{manifest.target.name} ({manifest.target.kind}, {manifest.target.variant or 'no variant'})"),
            ("Digest", manifest.target.digest),
            ("Run", manifest.run),
            ("When", f"{manifest.started} – {manifest.ended or 'no end'}"),
            ("Mode", manifest.mode),
            ("Seed", str(manifest.seed)),
            ("Judged by", f"{judged.verdicts['engine']} engine, fireassay {judged.certificate['harness']['version']}"),
            ("Evidence", f"{len(manifest.trials)} trials, {run.sealed.rows if run.sealed else 0:,} rows, {len(run.cases)} cases"),
            ("Faults", f"{fired} fired of {planned} planned"),
            ("Canary", _canary(judged.certificate["canaries"])),
        ],
        "systems": [
            {"id": system, "name": name, "examined": system in judged.systems, "clauses": [c for c in clauses if c["system"] == system]}
            for system, name in SYSTEMS.items()
        ],
        "clauses": clauses,
        "convicted": [each for each in clauses if each["witnesses"]],
        "grades": judged.certificate["crash_grades"],
        "other_faults": _other_faults(judged),
        "cases": sorted(run.cases, key=lambda case: (_OUTCOME_ORDER[case.outcome], case.case))[:_CASES_SHOWN],
        "cases_left": max(0, len(run.cases) - _CASES_SHOWN),
        "outcomes": Counter(case.outcome for case in run.cases),
        "not_verified": judged.certificate["not_verified"],
        "signature_note": judged.certificate["signature_note"],
        "promises": manifest.target.promises_text,
        "environment": _flat(manifest.environment),
        "versions": _flat(manifest.versions),
        "repeat": judged.certificate["repeat"],
        "scenarios": _scenarios(judged),
        "doubts": judged.verdicts["doubts"],
        "incidents": judged.verdicts["incidents"][:_INCIDENTS_SHOWN],
        "incidents_total": len(judged.verdicts["incidents"]),
        "notes": judged.verdicts["notes"],
    }


def _canary(canaries: Sequence[Mapping[str, Any]]) -> str:
    if not canaries:
        return "none was judged"
    silent = [each for each in canaries if each["verdict"] != Verdict.FAIL.value]
    told = ", ".join(f"{each['clause']} in trial {each['trial']}" for each in silent or canaries)
    return f"NOT convicted of {told}" if silent else f"convicted of {told}, as it must be"


def _clause(said: Mapping[str, Any], roles: Mapping[str, Mapping[int, str]]) -> dict[str, Any]:
    clause = BY_ID.get(said["clause"])
    return {
        **said,
        "system": said["clause"].partition("-")[0],
        "number": said["clause"].partition("-")[2],
        "statement": clause.statement if clause else "",
        "why": clause.why if clause else "",
        "symbol": SYMBOLS[said["verdict"]],
        "cases_run": ", ".join(f"{number} {outcome}" for outcome, number in said["cases"].items() if number),
        "trials_run": ", ".join(f"{number} {verdict}" for verdict, number in said["trials"].items() if number),
        "counted": [(name.replace("_", " "), number) for name, number in said["evidence"].items()],
        "witnesses": [_witness(each, roles.get(each["trial"], {})) for each in said["witnesses"]],
    }


def _witness(said: Mapping[str, Any], roles: Mapping[int, str]) -> dict[str, Any]:
    start = min((row["t_ns"] for row in (*said["rows"], *said["faults"])), default=0)
    rows = [{**row, "after": after(row["t_ns"] - start), "role": roles.get(row["actor"], "")} for row in said["rows"]]
    return {**said, "rows": rows, "timeline": timeline(said, roles)}


def _other_faults(judged: Judged) -> list[tuple[str, str, int, int]]:
    """Faults of no grade: kind, where, planned, fired."""
    known = {place["kind"] for grade in judged.certificate["crash_grades"] for place in grade["places"]}
    found: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for fault in judged.run.faults.faults:
        if fault.kind not in known:
            found[fault.kind, fault.where].append(fault.fired)
    return [(kind, where, len(fired), sum(fired)) for (kind, where), fired in sorted(found.items())]


def _scenarios(judged: Judged) -> list[dict[str, Any]]:
    trials: dict[str, list[Any]] = defaultdict(list)
    for trial in judged.run.manifest.trials:
        trials[trial.scenario].append(trial)
    return [{"name": name, "trials": found} for name, found in sorted(trials.items())]


def _flat(document: Mapping[str, Any], above: str = "") -> list[tuple[str, str]]:
    """Nested tables as dotted names, so that one table shows them."""
    found: list[tuple[str, str]] = []
    for name, value in document.items():
        if isinstance(value, dict):
            found += _flat(value, f"{above}{name}.")
        else:
            found.append((f"{above}{name}", ", ".join(map(str, value)) if isinstance(value, list) else str(value)))
    return found
