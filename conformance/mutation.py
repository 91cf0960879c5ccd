"""The examiner examined: does a case of its own clause convict a target with one deliberate fault?"""

from collections.abc import Mapping
from dataclasses import dataclass

from fireassay.conformance.run.cases import run_cases
from fireassay.conformance.run.model import CaseResult

__all__ = ["DEADLINE_S", "Caught", "examine_mutant"]

DEADLINE_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    """What the cases of one clause say of one mutant. True where at least one of them failed; an error convicts nobody."""

    mutant: str
    clause: str
    cases: tuple[CaseResult, ...]  # all that ran

    @property
    def convicting(self) -> tuple[CaseResult, ...]:
        return tuple(case for case in self.cases if case.outcome == "failed" and self.clause in case.clauses)

    @property
    def seconds(self) -> float:
        return sum(case.seconds for case in self.cases)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Of each case that convicts its name and the first line of what it says; else what the others came to."""
        those = self.convicting or tuple(case for case in self.cases if case.outcome != "passed")
        return tuple(f"{case.case.rpartition('::')[2]} {case.outcome}: {(case.message.splitlines() or [''])[0]}" for case in those)

    def __bool__(self) -> bool:
        return bool(self.convicting)


def examine_mutant(spec: str, name: str, clause: str, environment: Mapping[str, str], *, deadline_s: float = DEADLINE_S) -> Caught:
    """`environment` is what makes the target of `spec` show that fault; `name` is how the result is called."""
    cases = run_cases(spec, select=("--clauses", clause), environment=environment, deadline_s=deadline_s)
    return Caught(mutant=name, clause=clause, cases=tuple(cases))
