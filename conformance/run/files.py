"""Files of a run directory: whole or not at all."""

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["digest_of", "fsync", "write_json", "write_text"]


def write_json(path: Path, content: Any) -> None:
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Under another name, on disk, then renamed; replaces what was there."""
    descriptor, passing = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(
            descriptor, "w", encoding="utf-8", errors="replace"
        ) as file:  # a target may say what is no text; a run is not lost for it
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(passing, 0o644)
        os.replace(passing, path)
    except BaseException:
        Path(passing).unlink(missing_ok=True)
        raise
    fsync(path.parent)


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
