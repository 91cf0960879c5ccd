"""Where the records of an archive queue came from: the file origin.json beside its segments.

    {"origins": [{"archive_seq": 0, "source": "…/queue", "source_seq": 500}, {"archive_seq": 90, "source": "import", …}], "crc32": …}

An entry says: from record `archive_seq` on, each record is the copy of the next one of `source`, beginning with its record `source_seq`.
It holds up to the next entry, or to the end. It is durable before the first record that it speaks of is appended, and nobody appends
without one. So the length of the archive alone tells how far its source was copied, at whatever instant the copier died.
"""

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fireassay.reference.files import read_small, replace
from fireassay.spec.layouts import LayoutError

__all__ = ["IMPORT", "ORIGIN", "Origin", "append_origin", "copied_of", "origins_of"]

ORIGIN = "origin.json"
IMPORT = "import"
_LIMIT = 16 << 20


@dataclass(frozen=True, slots=True)
class Origin:
    archive_seq: int
    source: str
    source_seq: int


def origins_of(archive: Path) -> list[Origin]:
    """In the order of the archive; empty where nothing was copied yet. LayoutError where the file is not whole."""
    path = archive / ORIGIN
    try:
        data = read_small(path, _LIMIT)
    except FileNotFoundError:
        return []
    try:
        told = json.loads(data)
        found = [Origin(**entry) for entry in told["origins"]]
        whole = told["crc32"] == _sum(told["origins"]) and all(_is_sound(origin) for origin in found)
    except (ValueError, KeyError, TypeError) as error:
        raise LayoutError("not whole", str(path), "origins and their crc32", error) from None
    if not whole or found != sorted(found, key=lambda origin: origin.archive_seq):
        raise LayoutError("damaged", str(path), "origins in order and their crc32", "others")
    return found


def append_origin(archive: Path, origin: Origin) -> None:
    """Durable when it returns. One that nothing was copied under gives way."""
    kept = [known for known in origins_of(archive) if known.archive_seq < origin.archive_seq]
    entries = [asdict(known) for known in [*kept, origin]]
    replace(archive / ORIGIN, json.dumps({"origins": entries, "crc32": _sum(entries)}, indent=1).encode(), durable=True)


def copied_of(origins: Sequence[Origin], source: str, archive_end: int) -> tuple[Origin, int] | None:
    """The last entry of that source, and how many records were copied under it; None where there is none."""
    end = archive_end
    for origin in reversed(origins):
        if origin.source == source:
            return origin, end - origin.archive_seq
        end = origin.archive_seq
    return None


def _sum(entries: Sequence[Any]) -> int:
    return zlib.crc32(json.dumps(entries, sort_keys=True).encode())


def _is_sound(origin: Origin) -> bool:
    return isinstance(origin.source, str) and all(type(seq) is int and seq >= 0 for seq in (origin.archive_seq, origin.source_seq))
