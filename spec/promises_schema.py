"""Linter and JSON Schema of promise files, both read off the dataclasses of promises.py.

The linter has two parts. Structure (keys, types, values) means exactly what the JSON Schema means. Contradictions are promises
that are well formed one by one and cannot be meant together; no schema says them, so they are asked only of sound structure.

`python -m fireassay.spec.promises_schema` prints the schema that is kept in promises.schema.json.
"""

import difflib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from fireassay.spec.promises import (
    After,
    CursorAfter,
    CursorSurvival,
    Order,
    PositionKind,
    Promises,
    Protects,
    ReaderKind,
    Redelivery,
    Scope,
    SeekBy,
    Survival,
    Visible,
)

__all__ = ["Problem", "build", "contradictions", "json_schema", "lint", "schema_text", "structure"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a promise file."""

    where: str  # the file
    path: str  # the place in it, e.g. "survives.power_loss.after"
    wrong: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where}: {self.path or 'the document'}: {self.wrong}; {self.remedy}"


# The shape of a dataclass


def _shape(cls: type[Any]) -> list[tuple[Field[Any], Any]]:
    """Fields with their types; an optional one is given by the type it has where it is present."""
    hints = get_type_hints(cls)
    return [(entry, _present(hints[entry.name])) for entry in fields(cls)]


def _present(hint: Any) -> Any:
    if get_origin(hint) is UnionType:
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
    return hint


def _values(enum: type[StrEnum]) -> list[str]:
    return [member.value for member in enum]


def _is_enum(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, StrEnum)


# JSON Schema


def json_schema() -> dict[str, Any]:
    """The schema (draft 2020-12) of a promise file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Fireassay promise file",
        **_object_schema(Promises),
    }


def schema_text() -> str:
    """The schema as promises.schema.json keeps it."""
    return json.dumps(json_schema(), indent=2) + "\n"


def _object_schema(cls: type[Any]) -> dict[str, Any]:
    shape = _shape(cls)
    schema: dict[str, Any] = {
        "type": "object",
        "description": " ".join((cls.__doc__ or "").split()),
        "additionalProperties": False,
        "properties": {entry.name: _value_schema(entry, hint) for entry, hint in shape},
    }
    required = [entry.name for entry, _ in shape if entry.metadata.get("required")]
    return schema | ({"required": required} if required else {})


def _value_schema(entry: Field[Any], hint: Any) -> dict[str, Any]:
    if is_dataclass(hint):
        return _object_schema(hint)  # type: ignore[arg-type]
    schema: dict[str, Any] = {"description": entry.metadata["text"]}
    if "const" in entry.metadata:
        return schema | {"type": "integer", "const": entry.metadata["const"]}
    if hint is bool:
        schema |= {"type": "boolean"}
    elif hint is int:
        schema |= {"type": "integer", "minimum": entry.metadata["minimum"]}
    elif _is_enum(hint):
        schema |= {"type": "string", "enum": _values(hint)}
    else:
        items = {"type": "string", "enum": _values(get_args(hint)[0])}
        schema |= {"type": "array", "items": items, "uniqueItems": True}
        schema |= {"minItems": 1} if entry.metadata.get("nonempty") else {}
    if entry.default not in (None, MISSING):
        schema["default"] = list(entry.default) if isinstance(entry.default, tuple) else entry.default
    return schema


# Structure


def structure(document: Mapping[str, Any], where: str) -> tuple[Problem, ...]:
    """Unknown keys, wrong types and wrong values: what the JSON Schema would refuse."""
    return tuple(_table_problems(Promises, document, (), where))


def _table_problems(cls: type[Any], table: object, path: tuple[str, ...], where: str) -> Iterator[Problem]:
    at = ".".join(path)
    if not isinstance(table, Mapping):
        yield Problem(where, at, f"is {_said(table)}, not a table", f"write it as [{at}] with the keys {_listed(_names(cls))}")
        return
    shape = {entry.name: (entry, hint) for entry, hint in _shape(cls)}
    for key in table:
        if key not in shape:
            yield Problem(where, ".".join((*path, str(key))), "no such promise", _did_you_mean(str(key), list(shape)))
    for name, (entry, hint) in shape.items():
        below = (*path, name)
        if name in table:
            if is_dataclass(hint):
                yield from _table_problems(hint, table[name], below, where)  # type: ignore[arg-type]
            else:
                yield from _value_problems(entry, hint, table[name], ".".join(below), where)
        elif entry.metadata.get("required"):
            yield Problem(where, ".".join(below), "is missing", f"write {name} = {entry.metadata['const']}")


def _value_problems(entry: Field[Any], hint: Any, value: object, at: str, where: str) -> Iterator[Problem]:
    if "const" in entry.metadata:
        if not _is_int(value) or value != entry.metadata["const"]:
            yield Problem(where, at, f"is {_said(value)}", f"write {entry.metadata['const']}, the only version this fireassay reads")
    elif hint is bool:
        if not isinstance(value, bool):
            yield Problem(where, at, f"is {_said(value)}", "write true or false, without quotes")
    elif hint is int:
        minimum = entry.metadata["minimum"]
        if not _is_int(value) or value < minimum:
            yield Problem(where, at, f"is {_said(value)}", f"write a whole number of at least {minimum}, or leave it out")
    elif _is_enum(hint):
        yield from _choice_problems(hint, value, at, where)
    else:
        yield from _list_problems(entry, get_args(hint)[0], value, at, where)


def _choice_problems(enum: type[StrEnum], value: object, at: str, where: str) -> Iterator[Problem]:
    choices = _values(enum)
    if not isinstance(value, str):
        yield Problem(where, at, f"is {_said(value)}", f"write {_listed(choices)}, in quotes")
    elif value not in choices:
        yield Problem(where, at, f"is {_said(value)}", _did_you_mean(value, choices))


def _list_problems(entry: Field[Any], enum: type[StrEnum], value: object, at: str, where: str) -> Iterator[Problem]:
    if not isinstance(value, list):
        yield Problem(where, at, f"is {_said(value)}", f"write a list of {_listed(_values(enum))}")
        return
    if entry.metadata.get("nonempty") and not value:
        yield Problem(where, at, "is an empty list", f"name at least one of {_listed(_values(enum))}, or leave the key out")
    for index, item in enumerate(value):
        yield from _choice_problems(enum, item, f"{at}[{index}]", where)
        if item in value[:index]:
            yield Problem(where, f"{at}[{index}]", f"{_said(item)} stands there twice", "name each once")


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _names(cls: type[Any]) -> list[str]:
    return [entry.name for entry in fields(cls)]


def _said(value: object) -> str:
    text = repr(value) if not isinstance(value, bool) else str(value).lower()
    return text if len(text) <= 60 else text[:57] + "..."


def _listed(choices: Sequence[str]) -> str:
    return ", ".join(choices[:-1]) + (" or " if len(choices) > 1 else "") + choices[-1]


def _did_you_mean(word: str, choices: Sequence[str]) -> str:
    near = difflib.get_close_matches(word.lower().replace(" ", "_"), choices, n=1)
    return f"did you mean {near[0]}? It can be {_listed(choices)}" if near else f"it can be {_listed(choices)}"


# From a document of sound structure to promises


def build(document: Mapping[str, Any]) -> Promises:
    """The promises of a document in which `structure` found nothing."""
    return _build(Promises, document)


def _build(cls: type[T], table: Mapping[str, Any]) -> T:
    return cls(**{entry.name: _value(hint, table[entry.name]) for entry, hint in _shape(cls) if entry.name in table})


def _value(hint: Any, value: Any) -> Any:
    if is_dataclass(hint):
        return _build(hint, value)  # type: ignore[arg-type]
    if _is_enum(hint):
        return hint(value)
    if get_origin(hint) is tuple:
        return tuple(get_args(hint)[0](item) for item in value)
    return value


# Contradictions: each rule yields (path, wrong, remedy)

Finding = tuple[str, str, str]
_STRENGTH: Mapping[str, int] = {"never": 0, "sync": 1, "append": 2, "commit": 2}


def _sync_needed(p: Promises) -> Iterator[Finding]:
    if p.sync.scope is not Scope.NONE:
        return
    remedy = "declare sync.scope as handle, stream or all, or promise this without sync"
    if p.visible is Visible.SYNC:
        yield "visible", "is sync while there is no sync (sync.scope is none)", remedy
    grades: list[tuple[str, Survival | CursorSurvival]] = [
        ("survives.process_death", p.survives.process_death),
        ("survives.power_loss", p.survives.power_loss),
        ("cursors.process_death", p.cursors.process_death),
        ("cursors.power_loss", p.cursors.power_loss),
    ]
    for path, grade in grades:
        if grade.after in (After.SYNC, CursorAfter.SYNC):
            yield f"{path}.after", "is sync while there is no sync (sync.scope is none)", remedy


def _sync_reaches_others(p: Promises) -> Iterator[Finding]:
    if p.sync.covers_other_processes and p.sync.scope in (Scope.NONE, Scope.HANDLE):
        wrong = f"is true while sync.scope is {p.sync.scope.value}, which ends at the process"
        yield "sync.covers_other_processes", wrong, "widen sync.scope to stream or all, or write false"


def _power_not_stronger(p: Promises) -> Iterator[Finding]:
    yield from _stronger("survives.power_loss", p.survives.process_death, p.survives.power_loss)
    yield from _stronger("cursors.power_loss", p.cursors.process_death, p.cursors.power_loss)


def _stronger(path: str, death: Survival | CursorSurvival, power: Survival | CursorSurvival) -> Iterator[Finding]:
    why = "while a power loss kills every process too"
    weaken = path.replace("power_loss", "process_death")
    if _STRENGTH[power.after] > _STRENGTH[death.after]:
        wrong = f"is {power.after.value}, stronger than {death.after.value} for process death, {why}"
        yield f"{path}.after", wrong, f"weaken it to {death.after.value} or strengthen {weaken}.after"
    elif power.after == death.after and _STRENGTH[power.after]:
        for key in ("tail_records", "tail_ms"):
            in_death, in_power = getattr(death, key), getattr(power, key)
            if in_death is not None and in_power is not None and in_power < in_death:
                wrong = f"is {in_power}, less than the {in_death} that process death may lose, {why}"
                yield f"{path}.{key}", wrong, f"raise it to {in_death} or lower {weaken}.{key}"
        if _has_tail(death) and not _has_tail(power):
            wrong = f"allows no tail while process death may lose one, {why}"
            yield f"{path}.after", wrong, f"allow the tail here too or remove it from {weaken}"


def _has_tail(grade: Survival | CursorSurvival) -> bool:
    return grade.tail_records is not None or grade.tail_ms is not None


def _no_tail_of_never(p: Promises) -> Iterator[Finding]:
    for table, grades in (("survives", p.survives), ("cursors", p.cursors)):
        for name in ("process_death", "power_loss"):
            grade = getattr(grades, name)
            for key in ("tail_records", "tail_ms"):
                if _STRENGTH[grade.after] == 0 and getattr(grade, key) is not None:
                    yield (
                        f"{table}.{name}.{key}",
                        "allows a tail to be lost while after is never, which owes nothing",
                        f"remove it, or raise {table}.{name}.after",
                    )


def _total_order_has_positions(p: Promises) -> Iterator[Finding]:
    if p.writers.order is Order.TOTAL and p.position.kind is PositionKind.NONE:
        yield "writers.order", "is total while position.kind is none", "declare position.kind as dense or increasing, or order as producer"


def _seek_has_positions(p: Promises) -> Iterator[Finding]:
    if SeekBy.POSITION in p.seek.by and p.position.kind is PositionKind.NONE:
        yield "seek.by", "names position while position.kind is none", "declare position.kind as dense or increasing, or leave position out"


def _drop_needs_live(p: Promises) -> Iterator[Finding]:
    if p.retention.drop_past_lag is not None and p.retention.protects is not Protects.LIVE:
        wrong = f"says when a reader loses protection while retention.protects is {p.retention.protects.value}"
        yield "retention.drop_past_lag", wrong, "write retention.protects = live, or leave drop_past_lag out"


def _redelivery_has_a_group(p: Promises) -> Iterator[Finding]:
    kinds = set(p.readers.kinds)
    if Redelivery.ACK_TIMEOUT in p.readers.redelivery and ReaderKind.COMPETING not in kinds:
        yield "readers.redelivery", "names ack-timeout while no group competes", "add competing to readers.kinds, or leave ack-timeout out"
    if Redelivery.REBALANCE in p.readers.redelivery and kinds == {ReaderKind.INDEPENDENT}:
        yield "readers.redelivery", "names rebalance while readers form no group", "add a group to readers.kinds, or leave rebalance out"


_RULES: tuple[Callable[[Promises], Iterator[Finding]], ...] = (
    _sync_needed,
    _sync_reaches_others,
    _power_not_stronger,
    _no_tail_of_never,
    _total_order_has_positions,
    _seek_has_positions,
    _drop_needs_live,
    _redelivery_has_a_group,
)


def contradictions(promises: Promises, where: str) -> tuple[Problem, ...]:
    """Promises that cannot be meant together."""
    return tuple(Problem(where, *finding) for rule in _RULES for finding in rule(promises))


def lint(document: Mapping[str, Any], where: str) -> tuple[Problem, ...]:
    """Everything wrong with a promise file: its structure, or, where that is sound, its contradictions."""
    return structure(document, where) or contradictions(build(document), where)


if __name__ == "__main__":
    print(schema_text(), end="")
