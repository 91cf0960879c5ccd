"""What a journal of the Chaos Toolkit means.

The toolkit ends with 'completed' and exit code 0 when the steady state did not hold before the method, so that nothing was done, and
when an action raised. Here only that counts which was seen: both steady states held, every activity succeeded, nothing deviated.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from fireassay.chaos.session import VIOLATED

__all__ = ["Exit", "Gate", "gate"]

Said = Iterator[tuple["Exit", str]]
_TYPES = re.compile(r"(?:\w+\.[\w.]+: )+")  # of exceptions, one around the other


class Exit(IntEnum):
    """The command's exit code."""

    HELD = 0
    VIOLATED = 1
    WRONG_USE = 2
    UNFIT = 3
    NOTHING_SHOWN = 4


_WORST_FIRST = (Exit.VIOLATED, Exit.WRONG_USE, Exit.UNFIT, Exit.NOTHING_SHOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    exit: Exit
    sentences: tuple[str, ...]


def gate(journal: Mapping[str, Any]) -> Gate:
    found = [*_interrupted(journal), *_steady(journal, "before")]
    if not found:  # else nothing was done, and nothing looked at afterwards
        found = [*_method(journal), *_steady(journal, "after")]
    found += _sealed(journal)
    codes = {code for code, _ in found}
    worst = next((code for code in _WORST_FIRST if code in codes), Exit.HELD)
    return Gate(exit=worst, sentences=tuple(dict.fromkeys(text for _, text in found)))


def _interrupted(journal: Mapping[str, Any]) -> Said:
    if journal.get("status") not in ("completed", "failed"):
        yield Exit.NOTHING_SHOWN, f"the experiment was {journal.get('status')}"


def _steady(journal: Mapping[str, Any], when: str) -> Said:
    state = (journal.get("steady_states") or {}).get(when)
    if not state:
        yield Exit.NOTHING_SHOWN, f"the steady state was not looked at {when} the method"
        return
    said = [each for probe in state.get("probes", []) for each in _activity(f"{when} the method", probe)]
    yield from said
    if not said and not state.get("steady_state_met"):
        yield Exit.NOTHING_SHOWN, f"{when} the method the steady state did not hold"


def _method(journal: Mapping[str, Any]) -> Said:
    entries = journal.get("run") or []
    if not entries:
        yield Exit.NOTHING_SHOWN, "the method did nothing"
    for entry in entries:
        yield from _activity("in the method", entry)
    if journal.get("deviated") and (journal.get("steady_states") or {}).get("after", {}).get("steady_state_met"):
        yield Exit.NOTHING_SHOWN, "the experiment deviated"


def _activity(when: str, entry: Mapping[str, Any]) -> Said:
    name, status, output = (entry.get("activity") or {}).get("name", "an activity"), entry.get("status"), entry.get("output")
    if status != "succeeded":
        raised = ("".join(entry.get("exception") or []).strip().splitlines() or [f"its status is {status}"])[-1]
        code = Exit.UNFIT if "EnvironmentUnfit" in raised else Exit.WRONG_USE if "HarnessError" in raised else Exit.NOTHING_SHOWN
        yield code, f"{when}, {name!r} failed: {_TYPES.sub('', raised, count=1)}"
    elif entry.get("tolerance_met") is False:
        violated = isinstance(output, str) and output.startswith(VIOLATED)
        yield Exit.VIOLATED if violated else Exit.NOTHING_SHOWN, f"{when}, {name!r} does not hold: {output}"


def _sealed(journal: Mapping[str, Any]) -> Said:
    """Of an experiment that leaves a run."""
    left = journal.get("fireassay") or {}
    if left.get("error"):
        yield Exit.NOTHING_SHOWN, f"the run could not be sealed: {left['error']}"
    elif not left.get("whole", True):
        yield Exit.NOTHING_SHOWN, "the run was broken off, and no judge takes it"
