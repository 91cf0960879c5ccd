"""What a run directory says in JSON: manifest, faults and cases, as the judge takes them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fireassay.reports.files import MIB, RunError, read_json
from fireassay.reports.shape import Shape
from fireassay.spec.checks import CHECKS
from fireassay.spec.clauses import BY_ID
from fireassay.spec.promises import Promises, PromisesError

__all__ = [
    "CASES_SCHEMA",
    "FAULTS_SCHEMA",
    "OUTCOMES",
    "RUN_SCHEMA",
    "Case",
    "Fault",
    "Faults",
    "Manifest",
    "NotRun",
    "TargetNamed",
    "Trial",
    "read_cases",
    "read_faults",
    "read_manifest",
]

RUN_SCHEMA, FAULTS_SCHEMA, CASES_SCHEMA = "fireassay.run/1", "fireassay.faults/1", "fireassay.cases/1"
OUTCOMES = ("passed", "failed", "error", "skipped")
_LARGEST = 64 * MIB
_MODES = frozenset({"smoke", "quick", "long"})
_TRIAL = re.compile(r"[0-9A-Za-z_.]{1,32}")  # a recording is named after it, up to the first hyphen


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetNamed:
    spec: str
    name: str
    kind: str
    digest: str
    variant: str
    promises: Promises
    promises_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    name: str
    scenario: str
    seed: int
    repeat: str  # the command that repeats it
    canary: str = ""  # the clause of which it must be convicted: it was made on a log that is broken on purpose
    incidents: tuple[str, ...] = ()  # what the target did that nobody asked for, as those saw it who ran the trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    run: str
    nonce: int
    seed: int
    mode: str
    started: str
    ended: str | None
    complete: bool
    target: TargetNamed
    spec_version: str
    spec_clauses: str  # digest of the clauses the run was made under
    environment: Mapping[str, Any]
    versions: Mapping[str, Any]
    deadline_ns: int
    epsilon_ns: int
    trials: tuple[Trial, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    trial: str  # empty: outside of every trial
    id: int
    kind: str  # kill, failpoint, power; others are shown and rest no clause
    where: str  # the failpoint, or "random"
    nth: int | None
    planned: bool
    fired: bool
    victim: int
    reason: str  # why it did not fire


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRun:
    kind: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    faults: tuple[Fault, ...] = ()
    not_run: tuple[NotRun, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    case: str
    clauses: tuple[str, ...]
    outcome: str
    seconds: float
    message: str
    through: str


def read_manifest(path: Path) -> Manifest:
    shape = Shape(path, read_json(path, _LARGEST))
    shape.schema(RUN_SCHEMA)
    spec = shape.object("spec")
    trials = shape.objects("trials", _trial)
    names = [trial.name for trial in trials]
    if len(set(names)) < len(names):
        raise shape.wrong("trials", f"names {next(name for name in names if names.count(name) > 1)!r} twice")
    return Manifest(
        run=shape.text("run", longest=256),
        nonce=shape.number("nonce"),
        seed=shape.number("seed", low=-(1 << 63), high=(1 << 128) - 1),
        mode=shape.choice("mode", _MODES),
        started=shape.text("started", longest=64),
        ended=shape.text_or_none("ended"),
        complete=shape.truth("complete"),
        target=_target(shape.object("target")),
        spec_version=str(spec.value.get("version", "")),
        spec_clauses=spec.text("clauses", longest=128),
        environment=shape.mapping("environment"),
        versions=shape.mapping("versions"),
        deadline_ns=shape.number("deadline_ns"),
        epsilon_ns=shape.number("epsilon_ns"),
        trials=trials,
    )


def _target(shape: Shape) -> TargetNamed:
    text = shape.text("promises")
    try:
        promises = Promises.from_toml(text, "target.promises")
    except PromisesError as error:
        raise RunError(
            shape.path, f"the target's promises do not hold together: {error}", "Correct the target and make the run again"
        ) from None
    return TargetNamed(
        spec=shape.text("spec"),
        name=shape.text("name"),
        kind=shape.choice("kind", frozenset({"object", "driver"})),
        digest=shape.text("digest"),
        variant=shape.text("variant"),
        promises=promises,
        promises_text=text,
    )


def _trial(shape: Shape) -> Trial:
    name = shape.text("trial")
    if not _TRIAL.fullmatch(name):
        raise shape.wrong("trial", f"is {name[:40]!r}, which no recording can be named after")
    seed = shape.number("seed", low=-(1 << 63), high=(1 << 128) - 1)
    canary = shape.optional_text("canary")
    if canary and canary not in CHECKS:
        raise shape.wrong("canary", f"is {canary[:40]!r}, for which this version has no check")
    incidents = shape.texts("incidents") if "incidents" in shape.value else ()
    return Trial(name=name, scenario=shape.text("scenario"), seed=seed, repeat=shape.text("repeat"), canary=canary, incidents=incidents)


def read_faults(path: Path, trials: frozenset[str]) -> Faults:
    shape = Shape(path, read_json(path, _LARGEST))
    shape.schema(FAULTS_SCHEMA)
    faults = shape.objects("faults", lambda each: _fault(each, trials))
    seen: set[tuple[str, int]] = set()
    for number, fault in enumerate(faults):
        if fault.trial and (fault.trial, fault.id) in seen:
            raise shape.wrong(f"faults[{number}]", f"is the second fault {fault.id} of trial {fault.trial}")
        seen.add((fault.trial, fault.id))
    return Faults(faults=faults, not_run=shape.objects("not_run", lambda each: NotRun(kind=each.text("kind"), reason=each.text("reason"))))


def _fault(shape: Shape, trials: frozenset[str]) -> Fault:
    trial = shape.optional_text("trial")
    if trial and trial not in trials:
        raise shape.wrong("trial", f"is {trial[:40]!r}, which the manifest does not name")
    return Fault(
        trial=trial,
        id=shape.number("id"),
        kind=shape.text("kind", longest=64),
        where=shape.text("where", longest=256),
        nth=shape.number_or_none("nth"),
        planned=shape.truth("planned"),
        fired=shape.truth("fired"),
        victim=shape.number_or_none("victim") or 0,
        reason=shape.optional_text("reason"),
    )


def read_cases(path: Path) -> tuple[Case, ...]:
    shape = Shape(path, read_json(path, _LARGEST))
    shape.schema(CASES_SCHEMA)
    return shape.objects("cases", _case)


def _case(shape: Shape) -> Case:
    clauses = shape.texts("clauses")
    unknown = sorted(set(clauses) - BY_ID.keys())
    if unknown:
        raise shape.wrong("clauses", f"names {unknown[0][:40]!r}, which is no clause of this version")
    return Case(
        case=shape.text("case"),
        clauses=tuple(dict.fromkeys(clauses)),
        outcome=shape.choice("outcome", frozenset(OUTCOMES)),
        seconds=shape.seconds("seconds"),
        message=shape.text("message", longest=_LARGEST),
        through=shape.optional_text("through"),
    )
