"""A witness as a small picture: one lane per actor, rows in the order of time, faults as lines across all lanes.

Columns stand for order, not for distance: what convicts often lies nanoseconds apart and its crash seconds away.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Lane", "Mark", "Timeline", "timeline"]

_LEFT, _STEP, _TOP, _LANE = 108, 42, 30, 34
_FAULTS = frozenset({"fault_begin", "fault_fired", "fault_end", "exit"})
_SHAPES = {"append": "dot", "append_run": "dot", "read": "wedge", "read_run": "wedge", "sync": "box"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    label: str
    y: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    x: int
    y: int
    shape: str  # dot, wedge, box, gem; rule for a fault
    kind: str  # phase, or fault
    label: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    width: int
    height: int
    lanes: tuple[Lane, ...]
    marks: tuple[Mark, ...]
    summary: str  # for those who cannot see it


def timeline(witness: Mapping[str, Any], roles: Mapping[int, str]) -> Timeline | None:
    """None where there is nothing to draw."""
    rows = _distinct([*witness["rows"], *witness["faults"]])
    if not rows:
        return None
    spoken = sorted({row["actor"] for row in rows if row["op"] not in _FAULTS})
    lanes = tuple(Lane(label=_who(actor, roles), y=_TOP + number * _LANE + _LANE // 2) for number, actor in enumerate(spoken))
    at = {actor: lane.y for actor, lane in zip(spoken, lanes, strict=True)}
    start = rows[0]["t_ns"]
    marks = tuple(_mark(row, _LEFT + _STEP // 2 + number * _STEP, at, start) for number, row in enumerate(rows))
    faults = sum(mark.kind == "fault" for mark in marks)
    return Timeline(
        width=_LEFT + _STEP * len(rows) + 8,
        height=_TOP + _LANE * max(1, len(lanes)) + 22,
        lanes=lanes,
        marks=marks,
        summary=f"{len(rows) - faults} rows of {len(lanes)} actors and {faults} fault rows in the order of time",
    )


def _distinct(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """In the order of time; a fault row may stand among the rows and among the faults."""
    seen: list[Mapping[str, Any]] = []
    for row in sorted(rows, key=lambda row: row["t_ns"]):
        if row not in seen:
            seen.append(row)
    return seen


def _mark(row: Mapping[str, Any], x: int, lanes: Mapping[int, int], start: int) -> Mark:
    fault = row["op"] in _FAULTS
    op = str(row["op"]).replace("_", " ")
    label = op.removeprefix("fault ") if fault else str(row["seq"])
    title = f"{op} {row['phase']}, actor {row['actor']}, position {row['seq']}, identity {row['key']:#x}, {after(row['t_ns'] - start)}"
    shape = "rule" if fault else _SHAPES.get(row["op"], "gem")
    return Mark(x=x, y=lanes.get(row["actor"], _TOP), shape=shape, kind="fault" if fault else str(row["phase"]), label=label, title=title)


def _who(actor: int, roles: Mapping[int, str]) -> str:
    return f"{roles.get(actor) or 'actor'} {actor}"[:16]


def after(ns: int) -> str:
    """A span in the unit a person would take."""
    for unit, size in (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1000)):
        if abs(ns) >= size:
            return f"+{ns / size:.3f} {unit}"
    return f"+{ns} ns"
