"""Who writes a queue: what writer.lock records, whether that process lives, and whether anybody holds the lock.

The lock is never tried: even a moment of holding it would turn a writer away. The kernel's list of locks tells instead.
"""

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from fireassay.reference.files import opened
from fireassay.spec import layouts
from fireassay.spec.layouts import LayoutError
from fireassay.spec.layouts import chronicle as layout

__all__ = ["LOCK", "Holder", "HolderState", "holder_of", "start_ticks"]

LOCK = "writer.lock"
_LOCKS = Path("/proc/locks")


class HolderState(StrEnum):
    NONE = "none"  # no writer yet, or the last one closed
    LIVE = "live"
    DEAD = "dead"  # the recorded process is gone, and nobody holds the lock
    INHERITED = "inherited"  # held, though not by the process it names
    UNREADABLE = "unreadable"  # the record is not whole


@dataclass(frozen=True, slots=True)
class Holder:
    state: HolderState
    pid: int
    epoch: int
    held: bool | None  # None where the kernel does not tell
    what: str


def holder_of(queue: Path) -> Holder:
    try:
        with opened(queue / LOCK) as file:
            data, found = os.read(file, layout.WRITER_LOCK.size + 1), os.fstat(file)
    except FileNotFoundError:
        return Holder(HolderState.NONE, 0, 0, False, "no writer has opened this queue")
    except LayoutError as error:
        return Holder(HolderState.UNREADABLE, 0, 0, None, f"writer.lock: {error}")
    held = _is_held(found)
    if not data and not held:
        return Holder(HolderState.NONE, 0, 0, held, "no writer has recorded itself")
    try:
        record = layouts.parse(layout.WRITER_LOCK, data)
    except LayoutError as error:
        return Holder(HolderState.UNREADABLE, 0, 0, held, f"writer.lock: {error}")
    pid, epoch = int(record["pid"]), int(record["epoch"])
    alive = pid != 0 and start_ticks(pid) == record["start_ticks"]
    if alive and held is not False:
        return Holder(HolderState.LIVE, pid, epoch, held, f"process {pid} writes")
    if held:
        owner = f"process {pid} that it names is gone" if pid else "its writer has closed"
        return Holder(HolderState.INHERITED, pid, epoch, held, f"the lock is held, though {owner}")
    if alive:
        return Holder(HolderState.NONE, pid, epoch, held, f"process {pid} has closed its writer")
    if pid == 0:
        return Holder(HolderState.NONE, pid, epoch, held, "the last writer closed")
    return Holder(HolderState.DEAD, pid, epoch, held, f"process {pid} wrote last and is gone")


def start_ticks(pid: int) -> int | None:
    """When that process started; None where there is none that lives."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    fields = text[text.rindex(")") + 2 :].split()  # the command's name may hold anything; field 3 is the first one here
    return None if fields[0] in "ZX" else int(fields[19])


def _is_held(lock: os.stat_result) -> bool | None:
    """Whether some open file description has it locked; processes of other namespaces are not seen."""
    try:
        lines = _LOCKS.read_text().splitlines()
    except OSError:
        return None
    wanted = f"{os.major(lock.st_dev):02x}:{os.minor(lock.st_dev):02x}:{lock.st_ino}"
    return any(fields[1] == "FLOCK" and fields[5] == wanted for fields in map(str.split, lines) if len(fields) == 8)
