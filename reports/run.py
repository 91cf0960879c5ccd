"""Opens a run directory for the judge. Whatever is wrong with it is a RunError; what is wrong with one trial alone is its doubt.

A run that opens is whole: every file is the one that was digested when the run ended, every schema is known, every row is accounted for.
A trial in doubt is judged no further than unknown: rows were lost, or a recording has no end that anybody saw.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from fireassay.reports.files import MIB, RunError, digest_of, read_json
from fireassay.reports.records import Case, Fault, Faults, Manifest, read_cases, read_faults, read_manifest
from fireassay.reports.sealed import ACTORS_FILE, Recording, Sealed, open_sealed
from fireassay.reports.shape import Shape
from fireassay.spec.checks import Declared
from fireassay.spec.history.model import Actor
from fireassay.spec.history.ops import Op
from fireassay.spec.history.row import Row

__all__ = ["DIGESTS_SCHEMA", "OUTPUTS", "Run", "open_run"]

DIGESTS_SCHEMA = "fireassay.digests/1"
OUTPUTS = ("verdicts.json", "certificate.json", "report.html")  # written by the judge itself, so no part of what is judged
_BESIDE = ("journal.json",)  # of a chaos experiment: it is written when the run is over
_REQUIRED = ("manifest.json", "faults.json", "cases.json", "junit.xml")
_HISTORY = "history"
_SHA256 = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
_AGAIN = "Make the run again"
_COPY = "Take the run directory from where it was made, or make the run again"
_MOST_FILES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    path: Path
    digest: str  # of digests.json, and with it of everything that is judged
    manifest: Manifest
    faults: Faults
    cases: tuple[Case, ...]
    sealed: Sealed | None  # None only where no trial was run
    doubts: Mapping[str, tuple[str, ...]]  # trial → why it can show nothing
    notes: tuple[str, ...]  # strange, and harmless to the verdict

    @property
    def declared(self) -> Declared:
        recorded = [recording.epsilon_ns for recording in self.sealed.recordings] if self.sealed else []
        epsilon = max([self.manifest.epsilon_ns, *recorded])
        return Declared.of(self.manifest.target.promises, deadline_ns=self.manifest.deadline_ns, epsilon_ns=epsilon)

    @property
    def actors(self) -> Mapping[str, tuple[Actor, ...]]:
        """Trial → its actors. Where two tables differ on one, the trial is in doubt and the first counts."""
        found: dict[str, dict[int, Actor]] = {trial.name: {} for trial in self.manifest.trials}
        for recording in self.sealed.recordings if self.sealed else ():
            for actor in recording.actors:
                found[recording.trial].setdefault(actor.id, actor)
        return {trial: tuple(table.values()) for trial, table in found.items()}


def open_run(path: Path) -> Run:
    """Everything checked but the history's meaning. Reads each file twice: once for its digest."""
    if not path.is_dir():
        raise RunError(path, "is no run directory", "Name the directory that `fireassay run` made")
    digests = _read_digests(path)
    listed = _verify(path, digests)
    manifest = read_manifest(path / "manifest.json")
    if not manifest.complete:
        raise RunError(path / "manifest.json", "says that the run did not come to its end", _AGAIN)
    trials = frozenset(trial.name for trial in manifest.trials)
    faults, cases = read_faults(path / "faults.json", trials), read_cases(path / "cases.json")
    has_history = any(name.startswith(f"{_HISTORY}/") for name in digests)
    if trials and not has_history:
        raise RunError(path / _HISTORY, f"is missing, and the manifest names {len(trials)} trials", _COPY)
    sealed = open_sealed(path / _HISTORY) if has_history else None
    doubts = _doubts(path, manifest, faults, sealed)
    return Run(
        path=path,
        digest=digest_of(path / "digests.json"),
        manifest=manifest,
        faults=faults,
        cases=cases,
        sealed=sealed,
        doubts=doubts,
        notes=tuple(f"{name} lies in the run directory and is no part of the run" for name in listed),
    )


def _read_digests(path: Path) -> Mapping[str, str]:
    place = path / "digests.json"
    if not place.is_symlink() and not place.exists():
        if not (path / "manifest.json").exists():
            raise RunError(
                path, "holds neither manifest.json nor digests.json: it is no run directory", "Name one that `fireassay run` made"
            )
        raise RunError(place, "is missing: the run did not come to its end, or was not copied whole", _AGAIN)
    shape = Shape(place, read_json(place, 16 * MIB))
    shape.schema(DIGESTS_SCHEMA)
    files = shape.object("files")
    if len(files.value) > _MOST_FILES:
        raise shape.wrong("files", f"names {len(files.value)} files, more than {_MOST_FILES}")
    found: dict[str, str] = {}
    for name in files.value:
        pure = PurePosixPath(name)
        if pure.is_absolute() or not pure.parts or ".." in pure.parts or str(pure) != name or "\0" in name:
            raise files.wrong(name[:80], "leads out of the run directory")
        digest = _SHA256.fullmatch(files.text(name))
        if digest is None:
            raise files.wrong(name[:80], "is no SHA-256")
        found[name] = digest[1]
    for name in (*_REQUIRED, f"{_HISTORY}/{ACTORS_FILE}" if any(n.startswith(f"{_HISTORY}/") for n in found) else "manifest.json"):
        if name not in found:
            raise shape.wrong("files", f"does not name {name}")
    return found


def _verify(path: Path, digests: Mapping[str, str]) -> list[str]:
    """Every file is the one that was digested; returns those nobody named. One in the history is an error: Spark would read it."""
    missing = [name for name in digests if not (path / name).exists() and not (path / name).is_symlink()]
    if missing:
        names = ", ".join(missing[:8]) + (f" and {len(missing) - 8} more" if len(missing) > 8 else "")
        raise RunError(path, f"lacks {names}, which digests.json names", _COPY)
    for name, digest in digests.items():
        if any((path / parent).is_symlink() for parent in PurePosixPath(name).parents):
            raise RunError(path / name, "lies behind a link", _COPY)
        if digest_of(path / name) != digest:
            raise RunError(path / name, "is not the file that the run ended with: its SHA-256 differs from digests.json", _COPY)
    lying = {entry.relative_to(path).as_posix() for entry in path.rglob("*") if not entry.is_dir() or entry.is_symlink()}
    extra = sorted(lying - set(digests) - {"digests.json", *OUTPUTS, *_BESIDE})
    in_history = [name for name in extra if name.startswith(f"{_HISTORY}/")]
    if in_history:
        raise RunError(path / in_history[0], "is not named by digests.json", "Remove it if you know what it is, or make the run again")
    return extra


def _doubts(path: Path, manifest: Manifest, faults: Faults, sealed: Sealed | None) -> Mapping[str, tuple[str, ...]]:
    trials = [trial.name for trial in manifest.trials]
    recordings: dict[str, list[Recording]] = defaultdict(list)
    for recording in sealed.recordings if sealed else ():
        if recording.trial not in trials:
            raise RunError(path / _HISTORY, f"holds {recording.name!r}, a recording of no trial that the manifest names", _AGAIN)
        if recording.nonce != manifest.nonce:
            raise RunError(path / _HISTORY, f"{recording.name!r} was recorded by another run (nonce {recording.nonce:#x})", _AGAIN)
        recordings[recording.trial].append(recording)
    rows: dict[str, list[Row]] = defaultdict(list)
    for trial, row in sealed.scan() if sealed else ():
        rows[trial].append(row)
    claimed: dict[str, list[Fault]] = defaultdict(list)
    for fault in faults.faults:
        claimed[fault.trial].append(fault)
    found = {trial: tuple(_doubts_of(recordings[trial], rows[trial], claimed[trial])) for trial in trials}
    return {trial: doubts for trial, doubts in found.items() if doubts}


def _doubts_of(recordings: list[Recording], rows: list[Row], faults: list[Fault]) -> Iterable[str]:
    if not recordings:
        yield "it has no recording"
    ended = {row.seq for row in rows if row.op is Op.EXIT}
    hit = {row.key for row in rows if row.op is Op.FAULT_FIRED}
    fired = {row.seq for row in rows if row.op is Op.FAULT_FIRED}
    tables: dict[int, tuple[str, Actor]] = {}
    for recording in recordings:
        if recording.lost:
            yield f"{recording.name} lost {recording.lost} rows"
        # Its rows outlive the process that wrote them, so a death that was seen ends a recording as well as a close does.
        pids = {recording.pid, *(actor.process for actor in recording.actors)}
        if not recording.closed and not pids & ended and not hit & {actor.id for actor in recording.actors}:
            yield f"{recording.name} was not closed, and nobody saw its process die"
        for actor in recording.actors:
            name, known = tables.setdefault(actor.id, (recording.name, actor))
            if known != actor:
                yield f"{name} and {recording.name} disagree on who actor {actor.id} is"
    for fault in faults:
        if fault.fired and fault.id not in fired:
            yield f"fault {fault.id} ({fault.where}) is said to have fired, and no row of the history says so"
