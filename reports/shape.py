"""Fields out of parsed JSON, each with its type; what is wrong is said with the file and the path of the field."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from fireassay.reports.files import RunError

__all__ = ["Shape"]

_T = TypeVar("_T")
_REMEDY = "It was written by another version of fireassay or changed since: make the run again, or judge it with the version that made it"


class Shape:
    """One JSON object at a place in a file."""

    def __init__(self, path: Path, value: Any, at: str = "") -> None:
        self.path, self.at = path, at
        if not isinstance(value, dict):
            raise self.wrong("", f"is a {type(value).__name__}, not an object")
        self.value: Mapping[str, Any] = value

    def wrong(self, name: str, what: str) -> RunError:
        field = ".".join(part for part in (self.at, name) if part)
        return RunError(self.path, f"{field or 'the document'} {what}", _REMEDY)

    def schema(self, expected: str) -> None:
        found = self.value.get("schema")
        if found != expected:
            raise self.wrong("schema", f"is {_short(found)}, can read {expected!r}")

    def text(self, name: str, *, longest: int = 1 << 16) -> str:
        found = self._typed(name, str, "a text")
        if len(found) > longest:
            raise self.wrong(name, f"has {len(found)} characters, more than {longest}")
        return found

    def text_or_none(self, name: str) -> str | None:
        return None if self.value.get(name) is None else self.text(name)

    def optional_text(self, name: str) -> str:
        return "" if self.value.get(name) is None else self.text(name)

    def number(self, name: str, low: int = 0, high: int = (1 << 64) - 1) -> int:
        found = self._typed(name, int, "a whole number")
        if isinstance(found, bool) or not low <= found <= high:
            raise self.wrong(name, f"is {_short(found)}, not a whole number from {low} to {high}")
        return found

    def number_or_none(self, name: str) -> int | None:
        return None if self.value.get(name) is None else self.number(name)

    def seconds(self, name: str) -> float:
        found = self.value.get(name)
        if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found < 1e12:
            raise self.wrong(name, f"is {_short(found)}, not a time in seconds")
        return float(found)

    def truth(self, name: str) -> bool:
        return self._typed(name, bool, "true or false")

    def choice(self, name: str, known: frozenset[str]) -> str:
        found = self.text(name)
        if found not in known:
            raise self.wrong(name, f"is {_short(found)}, not one of {', '.join(sorted(known))}")
        return found

    def object(self, name: str) -> "Shape":
        return Shape(self.path, self._typed(name, dict, "an object"), ".".join(part for part in (self.at, name) if part))

    def mapping(self, name: str) -> Mapping[str, Any]:
        return self.object(name).value

    def texts(self, name: str) -> tuple[str, ...]:
        found = self._typed(name, list, "a list")
        if not all(isinstance(item, str) for item in found):
            raise self.wrong(name, "holds something else than texts")
        return tuple(found)

    def objects(self, name: str, build: Callable[["Shape"], _T]) -> tuple[_T, ...]:
        found = self._typed(name, list, "a list")
        at = ".".join(part for part in (self.at, name) if part)
        return tuple(build(Shape(self.path, item, f"{at}[{index}]")) for index, item in enumerate(found))

    def _typed(self, name: str, kind: type[_T], word: str) -> _T:
        if name not in self.value:
            raise self.wrong(name, "is missing")
        found = self.value[name]
        if not isinstance(found, kind):
            raise self.wrong(name, f"is {_short(found)}, not {word}")
        return found


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
