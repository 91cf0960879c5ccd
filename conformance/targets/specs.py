"""How a target is named on a command line.

| written | is |
|---|---|
| `chronicle` | registered under the entry-point group fireassay.targets |
| `chronicle?segment_size=4096` | the same with options, written as in a URL: `&` between them, `%26` for an `&` in a value |
| `py:package.module:make` | a factory that is registered nowhere; options as above |
| `driver:./my-driver --fast` | a program that speaks the driver protocol; words and quotes as in a shell, no shell is run |
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal
from urllib.parse import parse_qsl

from fireassay.spec.outcomes import HarnessError

__all__ = ["TargetSpec", "parse"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_DRIVER = "driver:"
_PYTHON = "py:"


@dataclass(frozen=True, slots=True)
class TargetSpec:
    text: str
    how: Literal["name", "factory", "driver"]
    name: str  # of the entry point, or module:function; the first word of a driver's command
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    command: tuple[str, ...] = ()

    @property
    def kind(self) -> Literal["object", "driver"]:
        return "driver" if self.how == "driver" else "object"

    @property
    def label(self) -> str:
        """Fit for a file's name."""
        last = self.name.rpartition("/")[2] if self.how == "driver" else self.name
        return re.sub(r"[^A-Za-z0-9._-]+", "-", last).strip("-.") or "target"


def parse(text: str) -> TargetSpec:
    """HarnessError says what is wrong with it."""
    if text.startswith(_DRIVER):
        return _driver(text)
    head, mark, query = text.partition("?")
    how: Literal["name", "factory"] = "factory" if head.startswith(_PYTHON) else "name"
    name = head.removeprefix(_PYTHON)
    if how == "factory" and not _FACTORY.fullmatch(name):
        raise HarnessError(f"target {text!r}: after py: comes module:function, not {name!r}")
    if how == "name" and not _NAME.fullmatch(name):
        raise HarnessError(
            f"target {text!r}: {name!r} is no name of a target; write NAME, NAME?key=value, py:module:function or driver:COMMAND"
        )
    return TargetSpec(text, how, name, _options(text, query) if mark else MappingProxyType({}))


def _driver(text: str) -> TargetSpec:
    try:
        command = tuple(shlex.split(text.removeprefix(_DRIVER)))
    except ValueError as error:
        raise HarnessError(f"target {text!r}: {error}") from None
    if not command:
        raise HarnessError(f"target {text!r}: after driver: comes a command")
    return TargetSpec(text, "driver", command[0], command=command)


def _options(text: str, query: str) -> Mapping[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True)
    except ValueError:
        pairs = []
    if not pairs:
        raise HarnessError(f"target {text!r}: options are written key=value, with & between them, not {query!r}")
    options = dict(pairs)
    if len(options) < len(pairs) or "" in options:
        raise HarnessError(f"target {text!r}: each option has a name, and is given once")
    return MappingProxyType(options)
