"""One verdict per clause, out of checks over trials, cases, promises and faults.

How it folds, in this order:

1. Trials. Of one check over all trials: fail > unknown > pass-with-tolerated > pass > not-run > not-applicable. A trial that had no
   occasion for a clause does not spoil what others show. A trial in doubt (rows lost, an end nobody saw) is unknown for every check.
2. Runs of one case (through object and driver, parameters): passed is pass, failed is fail, error is unknown, skipped is not-run;
   folded as trials are. A skip whose message begins with 'not applicable' is not-applicable.
3. The check and the cases of a clause: fail > unknown > not-run > pass-with-tolerated > pass, as everywhere (spec.outcomes.fold), so that
   a case which could not be run is not hidden by one that was. A check without occasion in any trial says nothing where a case spoke.
4. Faults. A clause that a check decides and that rests on a grade of crash is unknown where faults were planned and not enough fired.
5. Canaries. Trials on a log that is broken on purpose count for no clause. Where one was not convicted of its clause, nothing that the
   checks let pass has passed: it is unknown.
6. Promises. A clause whose needs are not promised is not applicable, whatever was seen.

Nothing said is not-run, with the reason.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fireassay.reports.firing import Firing, firing_of, grades_of
from fireassay.reports.records import OUTCOMES, Case
from fireassay.reports.run import Run
from fireassay.spec.checks import CHECKS, CheckResult, Witness
from fireassay.spec.clause import Clause, Method, System
from fireassay.spec.clauses import ALL
from fireassay.spec.outcomes import Verdict, fold
from fireassay.spec.promises import CONDITIONS

__all__ = ["SHOWN_WITNESSES", "Canary", "ClauseVerdict", "Found", "Verdicts", "fold_trials", "verdicts_of"]

SHOWN_WITNESSES = 24
_SHOWN_REASONS = 12
_TRIALS_WORST_FIRST = (Verdict.FAIL, Verdict.UNKNOWN, Verdict.TOLERATED, Verdict.PASS, Verdict.NOT_RUN, Verdict.NOT_APPLICABLE)
_OF_CASE = {"passed": Verdict.PASS, "failed": Verdict.FAIL, "error": Verdict.UNKNOWN, "skipped": Verdict.NOT_RUN}
_SHOWN = frozenset({Verdict.PASS, Verdict.TOLERATED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A witness and where it was found."""

    trial: str
    witness: Witness
    tolerated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """What the judge said of a trial on a broken log."""

    trial: str
    clause: str
    verdict: Verdict

    @property
    def convicted(self) -> bool:
        return self.verdict is Verdict.FAIL

    @property
    def sentence(self) -> str:
        if self.convicted:
            return f"The canary of trial {self.trial} was convicted of {self.clause}, as it must be."
        return (
            f"The canary of trial {self.trial}, a log that is broken on purpose, was not convicted of {self.clause} but judged "
            f"{self.verdict.value}: what this judge lets pass is not shown."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseVerdict:
    clause: Clause
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    evidence: Mapping[str, int]  # what the checks counted, over all trials
    trials: Mapping[str, int]  # verdict → number of trials
    cases: Mapping[str, int]  # outcome → number of cases
    witnesses: tuple[Found, ...] = ()  # at most SHOWN_WITNESSES
    witnesses_total: int = 0
    in_scope: bool = True  # its system was examined

    @property
    def tolerated(self) -> tuple[str, ...]:
        return tuple(sorted({found.witness.anomaly for found in self.witnesses if found.tolerated}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    engine: str
    clauses: tuple[ClauseVerdict, ...]
    firings: tuple[Firing, ...]
    canaries: tuple[Canary, ...] = ()

    @property
    def in_scope(self) -> tuple[ClauseVerdict, ...]:
        return tuple(each for each in self.clauses if each.in_scope)

    @property
    def counts(self) -> Mapping[Verdict, int]:
        """Of what was examined, every verdict with its number."""
        found = Counter(each.verdict for each in self.in_scope)
        return {verdict: found[verdict] for verdict in Verdict}

    @property
    def headline(self) -> Verdict:
        """The worst that was found, and pass where something was shown and nothing worse found. What was not run stands beside it."""
        counts = self.counts
        for verdict in (Verdict.FAIL, Verdict.UNKNOWN, Verdict.TOLERATED, Verdict.PASS):
            if counts[verdict]:
                return verdict
        return Verdict.NOT_RUN


def fold_trials(verdicts: Iterable[Verdict]) -> Verdict:
    seen = set(verdicts)
    return next((verdict for verdict in _TRIALS_WORST_FIRST if verdict in seen), Verdict.NOT_RUN)


def verdicts_of(run: Run, engine: str, results: Mapping[str, Sequence[CheckResult]], clauses: Iterable[Clause] = ALL) -> Verdicts:
    by_clause: dict[str, list[tuple[str, CheckResult]]] = defaultdict(list)
    canaries: list[Canary] = []
    for trial in run.manifest.trials:
        for result in _results_of(run, trial.name, results.get(trial.name, ())):
            if not trial.canary:
                by_clause[result.clause].append((trial.name, result))
            elif trial.canary == result.clause:
                canaries.append(Canary(trial=trial.name, clause=result.clause, verdict=result.verdict))
    silent = [canary.sentence for canary in canaries if not canary.convicted]
    cases: dict[str, list[Case]] = defaultdict(list)
    for case in run.cases:
        for clause in case.clauses:
            cases[clause].append(case)
    examined = {System.LOG} | {System(clause.partition("-")[0]) for clause in cases}
    firings = firing_of(run.faults)
    found = (_clause(run, each, by_clause.get(each.id, []), cases.get(each.id, []), firings, examined) for each in clauses)
    heard = tuple(_doubted(each, silent) if silent and each.trials else each for each in found)
    return Verdicts(engine=engine, clauses=heard, firings=firings, canaries=tuple(canaries))


def _doubted(said: ClauseVerdict, why: list[str]) -> ClauseVerdict:
    return replace(said, verdict=Verdict.UNKNOWN, reasons=_few([*why, *said.reasons])) if said.verdict in _SHOWN else said


def _results_of(run: Run, trial: str, results: Sequence[CheckResult]) -> Iterable[CheckResult]:
    """One result per check, whatever the engine returned; a trial in doubt convicts nobody and shows nothing."""
    by_clause = {result.clause: result for result in results}
    doubts = run.doubts.get(trial, ())
    for clause in (*CHECKS, *(extra for extra in by_clause if extra not in CHECKS)):
        said = by_clause.get(clause)
        if said is None:
            why = doubts or ("the engine said nothing of it",)
            yield CheckResult(clause=clause, verdict=Verdict.UNKNOWN, reasons=why)
        elif doubts and said.verdict is not Verdict.NOT_APPLICABLE:
            counts = {**said.counts, "suspected": len(said.witnesses)} if said.witnesses else said.counts
            yield CheckResult(clause=clause, verdict=Verdict.UNKNOWN, counts=counts, reasons=doubts + said.reasons)
        else:
            yield said


def _clause(
    run: Run,
    clause: Clause,
    results: list[tuple[str, CheckResult]],
    cases: list[Case],
    firings: tuple[Firing, ...],
    examined: set[System],
) -> ClauseVerdict:
    judged = [(trial, _tolerating(clause, result)) for trial, result in results]
    witnesses = [
        Found(trial=trial, witness=witness, tolerated=witness.anomaly in clause.tolerated)
        for trial, result in judged
        for witness in result.witnesses
    ]
    evidence: Counter[str] = Counter()
    for _, result in judged:
        evidence.update(result.counts)
    said = ClauseVerdict(
        clause=clause,
        verdict=Verdict.NOT_RUN,
        evidence=dict(evidence),
        trials=dict(Counter(result.verdict.value for _, result in judged)),
        cases={outcome: sum(case.outcome == outcome for case in cases) for outcome in OUTCOMES},
        witnesses=_spread(witnesses),
        witnesses_total=len(witnesses),
        in_scope=clause.system in examined,
    )
    unmet = [CONDITIONS[need].text for need in clause.needs if not CONDITIONS[need].holds(run.manifest.target.promises)]
    if unmet:
        seen = sum(said.cases[outcome] for outcome in ("failed", "error"))
        extra = [f"{seen} of its cases did not pass; that convicts nobody where nothing is promised"] if seen else []
        why = (f"not promised: {'; '.join(unmet)}", *extra)
        return replace(said, verdict=Verdict.NOT_APPLICABLE, reasons=why, witnesses=(), witnesses_total=0)
    check = fold_trials(result.verdict for _, result in judged)
    groups = _groups(cases)
    shown = list[Verdict](verdict for verdict in groups.values() if verdict is not Verdict.NOT_APPLICABLE)
    if judged and (check not in (Verdict.NOT_RUN, Verdict.NOT_APPLICABLE) or not shown):
        shown.append(check)
    verdict = fold(shown or groups.values())
    reasons = [*_trial_reasons(judged), *_case_reasons(cases)]
    if not judged and not cases:
        reasons.append(_why_nothing(run, clause, examined))
    doubtful = [f for f in grades_of(clause, firings) if f.planned and not f.enough] if judged else []
    if doubtful and verdict is not Verdict.FAIL:
        verdict = Verdict.UNKNOWN
        reasons = [f"not enough faults fired; {firing.sentence}" for firing in doubtful] + reasons
    if verdict is Verdict.NOT_RUN:
        grades = [firing for firing in grades_of(clause, firings) if firing.not_run and not firing.fired]
        reasons = [f"no {firing.grade.name} could be made: {'; '.join(firing.not_run)}" for firing in grades] + reasons
        if not reasons:
            reasons.append("no trial had an occasion for it")
    return replace(said, verdict=verdict, reasons=_few(reasons))


def _tolerating(clause: Clause, result: CheckResult) -> CheckResult:
    """A failure of which every witness is tolerated by the clause is no failure, and is still reported."""
    if result.verdict is Verdict.FAIL and result.witnesses and all(w.anomaly in clause.tolerated for w in result.witnesses):
        return replace(result, verdict=Verdict.TOLERATED)
    return result


def _spread(witnesses: list[Found]) -> tuple[Found, ...]:
    """The few that are shown: convicting ones first, of each anomaly some, of each trial one before a second."""
    rank: Counter[tuple[str, str]] = Counter()
    ranked: list[tuple[bool, int, int, Found]] = []
    for number, found in enumerate(witnesses):
        ranked.append((found.tolerated, rank[found.trial, found.witness.anomaly], number, found))
        rank[found.trial, found.witness.anomaly] += 1
    return tuple(found for *_, found in sorted(ranked, key=lambda each: each[:3])[:SHOWN_WITNESSES])


def _groups(cases: list[Case]) -> Mapping[str, Verdict]:
    verdicts: dict[str, list[Verdict]] = defaultdict(list)
    for case in cases:
        verdicts[case.case.partition("[")[0]].append(_case_verdict(case))
    return {name: fold_trials(each) for name, each in verdicts.items()}


def _case_verdict(case: Case) -> Verdict:
    said = case.message.removeprefix("Skipped:").strip().lower()
    return Verdict.NOT_APPLICABLE if case.outcome == "skipped" and said.startswith("not applicable") else _OF_CASE[case.outcome]


def _trial_reasons(judged: list[tuple[str, CheckResult]]) -> Iterable[str]:
    """Each reason once, with the trials it was given for. What has no occasion in one trial is of no interest where others show it."""
    trials: dict[str, list[str]] = defaultdict(list)
    for trial, result in judged:
        for reason in result.reasons:
            trials[reason].append(trial)
    for reason, named in sorted(trials.items(), key=lambda item: -len(item[1])):
        if len(named) == len(judged) > 1:
            yield f"in all trials: {reason}"
        else:
            yield f"trial {named[0]}{f' and {len(named) - 1} more' if len(named) > 1 else ''}: {reason}"


def _case_reasons(cases: list[Case]) -> Iterable[str]:
    for case in cases:
        if case.outcome != "passed":
            lines = case.message.strip().splitlines() or ["it gave no message"]
            through = f" through {case.through}" if case.through else ""
            yield f"{case.case}{through} {'was skipped' if case.outcome == 'skipped' else case.outcome}: {lines[0][:300]}"


def _why_nothing(run: Run, clause: Clause, examined: set[System]) -> str:
    if clause.system not in examined:
        return f"no case of the system {clause.system.value} was run: the target is {run.manifest.target.name}"
    if set(clause.verified) == {Method.INSPECTION}:
        return "verified by inspection: people read it, nothing is run for it"
    return "neither a check nor a case of this run speaks of it"


def _few(reasons: Iterable[str]) -> tuple[str, ...]:
    every = tuple(dict.fromkeys(reasons))
    more = len(every) - _SHOWN_REASONS
    return every if more <= 0 else (*every[:_SHOWN_REASONS], f"and {more} more reasons")
