"""Files of a run directory: read with a bound, parsed without trust, replaced in one step."""

import hashlib
import json
import os
import re
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from fireassay.spec.outcomes import HarnessError

__all__ = ["MIB", "RunError", "digest_of", "read_bytes", "read_json", "replace_text"]

MIB = 1 << 20
_CHUNK = MIB
_DEEPEST = 64  # no file of ours nests deeper than ten
_BRACKETS = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[{\]}]', re.S)  # strings are taken whole, so that brackets inside count nothing


class RunError(HarnessError):
    """A run directory that cannot be judged: what is wrong, where, and what to do."""

    def __init__(self, where: str | Path, what: str, remedy: str) -> None:
        super().__init__(f"{where}: {what}. {remedy}")
        self.where, self.what, self.remedy = str(where), what, remedy


_DAMAGED = "Take the run directory from where it was made, or make the run again"


def _open(path: Path, bound: int | None) -> tuple[int, int]:
    """Descriptor and length. A link, a pipe or a device is no file of a run, and opening some of them would wait for ever."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise RunError(path, "is missing", _DAMAGED) from None
    except OSError as error:
        raise RunError(path, f"cannot be opened ({error.strerror})", "A run holds plain files that the judge may read") from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise RunError(path, "is not a plain file", _DAMAGED)
    if bound is not None and found.st_size > bound:
        os.close(descriptor)
        raise RunError(path, f"has {found.st_size} bytes, more than the {bound} such a file may have", _DAMAGED)
    return descriptor, found.st_size


def read_bytes(path: Path, bound: int) -> bytes:
    """The whole file, its length looked at before a byte is read."""
    descriptor, size = _open(path, bound)
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(size + 1)
    if len(data) != size:
        raise RunError(path, "changed while it was read", "Judge a run only when nothing writes to it any more")
    return data


def digest_of(path: Path) -> str:
    descriptor, _ = _open(path, None)
    found = hashlib.sha256()
    with os.fdopen(descriptor, "rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()


def read_json(path: Path, bound: int) -> dict[str, Any]:
    """The object in the file. Keys that occur twice, numbers that are none and deep nests are refused: their reader would guess."""
    data = read_bytes(path, bound)
    if not data.strip():
        raise RunError(path, "is empty", _DAMAGED)
    _refuse_depth(path, data)
    try:
        found = json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise RunError(path, f"is not UTF-8 (byte {error.start})", _DAMAGED) from None
    except json.JSONDecodeError as error:
        raise RunError(path, f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}", _DAMAGED) from None
    except (ValueError, RecursionError) as error:
        raise RunError(path, f"is not JSON that can be read: {error}", _DAMAGED) from None
    if not isinstance(found, dict):
        raise RunError(path, f"holds a {type(found).__name__} where an object is due", _DAMAGED)
    return found


def _refuse_depth(path: Path, data: bytes) -> None:
    depth = deepest = 0
    for token in _BRACKETS.finditer(data):
        kind = data[token.start()]
        if kind in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif kind in b"]}":
            depth -= 1
    if deepest > _DEEPEST:
        raise RunError(path, f"nests {deepest} deep, more than {_DEEPEST}", _DAMAGED)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} occurs twice in one object")
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def replace_text(path: Path, text: str) -> None:
    """The file has the old content or the new one, at every moment and after a power cut."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        # A name that was no text at all, such as bytes of a path, must not cost the verdict.
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
