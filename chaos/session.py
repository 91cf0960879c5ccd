"""One experiment on one target: its trials, what the plain checks say of them, and the run directory it leaves.

Actions and probes of an experiment are plain functions that know nothing of each other. What they have in common is found again by what
they were asked for: target, seed and directory.
"""

import os
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fireassay.chaos.bench import Bench, begin, keep
from fireassay.conformance.run.directory import RunDirectory
from fireassay.conformance.targets import load, small
from fireassay.conformance.trials import TrialResult, convictions, judge_trials
from fireassay.spec.checks import CheckResult
from fireassay.spec.outcomes import Verdict
from fireassay.spec.promises import Promises

__all__ = ["SOUND", "VIOLATED", "Session", "finish", "session"]

SOUND, VIOLATED = "sound", "violated"
_SHOWN = 5

_open: dict[tuple[str, int, str], "Session"] = {}


@dataclass
class Session:
    run: RunDirectory
    bench: Bench
    promises: Promises
    results: list[TrialResult] = field(default_factory=list)
    engines: set[str] = field(default_factory=set)  # that were started
    broken: bool = False  # something was begun and not brought to its end
    _judged: dict[str, tuple[CheckResult, ...]] = field(default_factory=dict)  # by trial

    @classmethod
    def begin(cls, target: str, seed: int, out: str) -> "Session":
        spec, scratch = small(target), Path(tempfile.mkdtemp(prefix="fireassay-chaos-"))
        name = os.environ.get("FIREASSAY_EXPERIMENT", "FILE")
        again = f"fireassay chaos run {shlex.quote(name)} --target {shlex.quote(target)} --seed {seed}"
        try:
            promises = load(spec, scratch / "looked-at-small").promises
            run, bench = begin(target, (spec,), mode="quick", seed=seed, out=Path(out) if out else None, scratch=scratch, repeat=again)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        return cls(run, bench, promises)

    def keep(self, result: TrialResult) -> None:
        keep(self.run, result)
        self.results.append(result)

    def judged(self, trials: Sequence[TrialResult]) -> str:
        """SOUND, or what was violated, or what nobody knows. A trial that shows nothing is not sound."""
        names = [result.trial for result in trials if result.ran]
        fresh = [name for name in names if name not in self._judged]
        self._judged |= judge_trials(self.run.recordings, self.promises, self.bench.deadline_s, only=fresh)
        for verdict, word in ((Verdict.FAIL, VIOLATED), (Verdict.UNKNOWN, "unknown")):
            bad = {name: tuple(_first(check) for check in self._judged.get(name, ()) if check.verdict is verdict) for name in names}
            if any(bad.values()):
                return _few(word, convictions(bad))
        silent = [name for name in names if not any(check.verdict is Verdict.PASS for check in self._judged.get(name, ()))]
        return _few("unknown", [f"trial {name} shows nothing" for name in silent]) if silent else SOUND

    def fired(self) -> str:
        """SOUND where every planned fault fired, and where any were asked for some were planned."""
        if not self.engines:
            return SOUND
        faults = [fault for result in self.results for fault in result.faults if fault.planned]
        missed = [f"{fault.where} in trial {fault.trial}: {fault.reason}" for fault in faults if not fault.fired]
        if not faults:
            return _few("no fault was made", [each.reason for result in self.results for each in result.not_run])
        return _few(f"{len(missed)} of {len(faults)} planned faults did not fire", missed) if missed else SOUND

    def finish(self) -> Path:
        """Seals the run. Recordings of a trial that broke off are no part of it."""
        kept = {result.trial for result in self.results if result.ran}
        for path in self.run.recordings.iterdir():
            if path.name.partition("-")[0] not in kept:
                path.unlink()
        self.close()
        return self.run.finish()

    def close(self) -> None:
        shutil.rmtree(self.bench.scratch, ignore_errors=True)


def session(target: str, seed: int, out: str) -> Session:
    """The one that is open for these, or a new one."""
    key = (target, seed, out)
    if key not in _open:
        _open[key] = Session.begin(*key)
    return _open[key]


def finish(*, whole: bool) -> dict[Path, bool]:
    """Ends every open session: run directory → whether it is whole. No judge takes one that is not."""
    found = {}
    while _open:
        _, each = _open.popitem()
        found[each.run.path] = whole and not each.broken
        each.finish() if found[each.run.path] else each.close()
    return found


def _first(check: CheckResult) -> CheckResult:
    """With one of its witnesses: a sentence for each clause says more than many for the first."""
    return replace(check, witnesses=check.witnesses[:1])


def _few(word: str, sentences: Sequence[str]) -> str:
    more = len(sentences) - _SHOWN
    return ": ".join([word, *filter(None, ["; ".join(sentences[:_SHOWN])])]) + (f"; and {more} more" if more > 0 else "")
