"""From a spec string to a Target. Nothing of a target is imported before it is asked for."""

import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fireassay.conformance.coverage import GROUP
from fireassay.conformance.targets.specs import TargetSpec, parse
from fireassay.spec.outcomes import EnvironmentUnfit, HarnessError, TargetError
from fireassay.spec.ports import FailpointControl, Target

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["Factory", "FailpointInfo", "control_file", "failpoints", "known", "load", "loaded", "pid_of", "small", "speeds"]

Factory = Callable[[Path, Mapping[str, str]], Target]
_MEMBERS = ("name", "promises", "digest", "capabilities", "open_writer", "open_reader")


@dataclass(frozen=True, slots=True)
class FailpointInfo:
    """A place in a target where a fault can be planted; `kind` is the target's word, such as store or syscall."""

    name: str
    kind: str
    what: str


def known() -> tuple[str, ...]:
    """Names that are registered here."""
    return tuple(sorted(_entries()))


def load(spec: str | TargetSpec, place: Path) -> Target:
    """The target on that place, which is made where it is missing. HarnessError says what is wrong with the name or its options."""
    found = parse(spec) if isinstance(spec, str) else spec
    place.mkdir(parents=True, exist_ok=True)
    if found.how == "driver":
        from fireassay.conformance.driver.client import DriverTarget  # only where a driver is asked for

        return DriverTarget(found.command, place)
    _, make = _factory(found)
    try:
        target = make(place, found.options)
    except (HarnessError, EnvironmentUnfit, TargetError):
        raise
    except Exception as error:
        raise HarnessError(f"target {found.text!r} could not be made: {type(error).__name__}: {error}") from error
    missing = [member for member in _MEMBERS if member not in dir(target)]
    if missing:
        raise HarnessError(f"target {found.text!r}: what its factory made is no Target; it has no {', '.join(missing)}")
    return target


@contextmanager
def loaded(spec: str | TargetSpec, place: Path) -> Iterator[Target]:
    """As load; what the target itself keeps running, such as a driver in waiting, ends with it."""
    target = load(spec, place)
    try:
        yield target
    finally:
        close: Callable[[], object] | None = getattr(target, "close", None)
        if close is not None:
            close()


def pid_of(target: Target) -> int:
    """The process in which the target's code runs from its next open on: a driver's own, else this one."""
    pid: object = getattr(target, "pid", None)
    return pid if isinstance(pid, int) else os.getpid()


def failpoints(spec: str | TargetSpec) -> tuple[FailpointInfo, ...]:
    """What the target's factory module offers; empty where it offers nothing, and always of a driver."""
    offered = _offer(spec, "failpoints")
    if offered is None:
        return ()
    rows: Sequence[tuple[str, object, str]] = offered()
    return tuple(FailpointInfo(name, str(getattr(kind, "name", kind)).lower(), what) for name, kind, what in rows)


def control_file(spec: str | TargetSpec, path: Path) -> AbstractContextManager[FailpointControl]:
    """What arms the target's failpoints, from this process in another."""
    offered = _offer(spec, "control_file")
    if offered is None:
        text = spec if isinstance(spec, str) else spec.text
        raise HarnessError(f"target {text!r} offers no control file for failpoints")
    made: AbstractContextManager[FailpointControl] = offered(path)
    return made


def small(spec: str) -> str:
    """The same target with the options its factory module gives as SMALL, so that some hundred records pass what many would.

    Options that were asked for are never changed.
    """
    options: str | None = None if parse(spec).options else _offer(spec, "SMALL")
    return f"{spec}?{options}" if options else spec


def speeds(spec: str | TargetSpec, place: Path) -> Mapping[str, Callable[[], float]]:
    """What the target measures of itself in its own language: each call is a round and gives nanoseconds per operation."""
    offered = _offer(spec, "speeds")
    measured: Mapping[str, Callable[[], float]] = offered(place) if offered is not None else {}
    return measured


def _offer(spec: str | TargetSpec, name: str) -> Any:
    """None where the module has nothing of that name, and always of a driver."""
    found = parse(spec) if isinstance(spec, str) else spec
    return None if found.how == "driver" else getattr(_factory(found)[0], name, None)


def _entries() -> "dict[str, EntryPoint]":
    from importlib.metadata import entry_points  # it costs a driver a third of its start, and few look for names

    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _factory(spec: TargetSpec) -> tuple[ModuleType, Factory]:
    where = spec.name if spec.how == "factory" else _registered(spec)
    module_name, _, function = where.partition(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise HarnessError(f"target {spec.text!r}: {module_name} cannot be imported: {type(error).__name__}: {error}") from error
    make: Factory | None = getattr(module, function, None)
    if not callable(make):
        raise HarnessError(f"target {spec.text!r}: {module_name} has no function {function}")
    return module, make


def _registered(spec: TargetSpec) -> str:
    entries = _entries()
    if spec.name in entries:
        return entries[spec.name].value
    import difflib

    close = difflib.get_close_matches(spec.name, entries, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(sorted(entries)) or 'none'}"
    raise HarnessError(f"there is no target {spec.name!r}; {hint} A program is named by driver:COMMAND, a factory by py:module:function")
