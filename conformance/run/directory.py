"""A run directory while it is made.

    run = RunDirectory.create(None, target=facts, seed=7, mode="quick", deadline_ns=…, epsilon_ns=…)
    …trials record into run.recordings, under names that begin with the trial and '-'…
    run.trials.append(…); run.faults.append(…); run.cases += …
    run.finish()

manifest.json says complete only from `finish` on, and digests.json is written last of all: a run that broke off has none.
"""

import secrets
import shutil
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fireassay.conformance.recorder.recording import find_recordings, open_recording
from fireassay.conformance.recorder.seal import seal
from fireassay.conformance.run.facts import environment, versions
from fireassay.conformance.run.files import digest_of, fsync, write_json, write_text
from fireassay.conformance.run.junit import junit
from fireassay.conformance.run.model import CaseResult, FaultEntry, Mode, NotRun, TargetFacts, TrialEntry
from fireassay.conformance.targets import parse
from fireassay.spec.clauses import digest as clauses_digest
from fireassay.spec.outcomes import HarnessError

__all__ = ["RunDirectory"]

RUNS = Path("runs")
SPEC_VERSION = "1"


def _now() -> datetime:
    return datetime.now(UTC)


class RunDirectory:
    def __init__(self, path: Path, manifest: dict[str, Any], now: Callable[[], datetime]) -> None:
        self.path = path
        self.recordings = path / "recordings"
        self.trials: list[TrialEntry] = []
        self.faults: list[FaultEntry] = []
        self.not_run: list[NotRun] = []
        self.cases: list[CaseResult] = []
        self._manifest = manifest
        self._now = now
        self._finished = False

    @classmethod
    def create(
        cls,
        path: Path | None,
        *,
        target: TargetFacts,
        seed: int,
        mode: Mode,
        deadline_ns: int,
        epsilon_ns: int,
        nonce: int | None = None,
        now: Callable[[], datetime] = _now,
    ) -> "RunDirectory":
        """At `path`, which must not exist, or under runs/ by time, target and seed."""
        started = now()
        made = _make(path) if path is not None else _make_default(started, parse(target.spec).label, seed)
        manifest: dict[str, Any] = {
            "schema": "fireassay.run/1",
            "run": made.name,
            "nonce": secrets.randbits(63) | 1 if nonce is None else nonce,
            "seed": seed,
            "mode": mode,
            "started": _iso(started),
            "ended": None,
            "complete": False,
            "target": target.as_json(),
            "spec": {"version": SPEC_VERSION, "clauses": clauses_digest()},
            "environment": environment(),
            "versions": versions(),
            "deadline_ns": deadline_ns,
            "epsilon_ns": epsilon_ns,
            "trials": [],
        }
        run = cls(made, manifest, now)
        run.recordings.mkdir()
        write_json(made / "manifest.json", manifest)
        return run

    @property
    def nonce(self) -> int:
        """Of every recording and payload of this run."""
        return int(self._manifest["nonce"])

    def finish(self) -> Path:
        """Seal the recordings and write everything; the run is complete when this returns."""
        if self._finished:
            raise HarnessError(f"{self.path}: the run is finished already")
        self._seal()
        not_run = [asdict(each) for each in self.not_run]
        faults = {"schema": "fireassay.faults/1", "faults": [asdict(each) for each in self.faults], "not_run": not_run}
        write_json(self.path / "faults.json", faults)
        write_json(self.path / "cases.json", {"schema": "fireassay.cases/1", "cases": [asdict(each) for each in self.cases]})
        write_text(self.path / "junit.xml", junit(self.cases, self._manifest["run"]))
        self._manifest |= {"ended": _iso(self._now()), "complete": True, "trials": [asdict(each) for each in self.trials]}
        write_json(self.path / "manifest.json", self._manifest)
        files = sorted(entry for entry in self.path.rglob("*") if entry.is_file())
        digests = {entry.relative_to(self.path).as_posix(): digest_of(entry) for entry in files}
        write_json(self.path / "digests.json", {"schema": "fireassay.digests/1", "files": digests})
        self._finished = True
        return self.path

    def _seal(self) -> None:
        found = [open_recording(prefix) for prefix in find_recordings(self.recordings)]
        trials = {trial.trial for trial in self.trials}
        strangers = [recording.name for recording in found if recording.name.partition("-")[0] not in trials]
        foreign = [recording.name for recording in found if recording.header.nonce != self.nonce]
        if len(trials) < len(self.trials):
            raise HarnessError(f"{self.path}: two trials have one name")
        if strangers:
            raise HarnessError(f"{self.path}: {strangers[0]} is a recording of no trial of this run")
        if foreign:
            raise HarnessError(f"{self.path}: {foreign[0]} was recorded by another run")
        if trials and not found:
            raise HarnessError(f"{self.path}: {len(trials)} trials, and nothing was recorded")
        if found:
            seal(found, self.path / "history")
        shutil.rmtree(self.recordings)
        fsync(self.path)


def _make(path: Path) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir()
    except FileExistsError:
        raise HarnessError(f"{path} exists; a run never overwrites anything. Name a directory that does not exist") from None
    except OSError as error:
        raise HarnessError(f"{path} cannot be made: {error.strerror}") from None
    return path


def _make_default(started: datetime, label: str, seed: int) -> Path:
    name = f"{started:%Y%m%dT%H%M%SZ}-{label}-{seed}"
    for suffix in ("", *(f"-{number}" for number in range(2, 100))):
        path = RUNS / (name + suffix)
        if not path.exists():
            return _make(path)
    raise HarnessError(f"{RUNS / name} exists a hundred times over")


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
