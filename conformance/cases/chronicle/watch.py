"""Processes that watch a queue's files while others write, and look at once where something has just changed.

A look runs in a process of its own until it is told to stop, then once more over what is left. It gives back how much it saw and
a sentence for each fault. What it reads first is ordered before what it reads next: a lock is taken in between.
"""

import mmap
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from fireassay.conformance.cases.chronicle.queue import HEADER, Queue, span
from fireassay.conformance.trials.children import launch
from fireassay.spec import layouts
from fireassay.spec.layouts import LayoutError
from fireassay.spec.layouts import chronicle as layout
from fireassay.spec.outcomes import HarnessError
from fireassay.spec.ports import Target

__all__ = [
    "Sight",
    "Stop",
    "assert_born_well",
    "births",
    "commits",
    "death",
    "half_made",
    "pairs",
    "rolls",
    "waited",
    "watching",
    "without_segment",
]

Stop = Callable[[], bool]
WITHIN_S = 20.0
BIRTHS = 4
_fence = threading.Lock()


@dataclass(frozen=True, slots=True)
class Sight:
    seen: int
    faults: tuple[str, ...]


class Watch:
    def __init__(self, process: Any, line: Connection) -> None:
        self._process, self._line = process, line

    def heard(self) -> Any:
        if not self._line.poll(WITHIN_S):
            raise HarnessError(f"the process that watches said nothing for {WITHIN_S:g} s")
        try:
            return self._line.recv()
        except EOFError:
            raise HarnessError("the process that watches died") from None

    @property
    def done(self) -> bool:
        """It has seen all that it wants, and stopped by itself."""
        return bool(self._line.poll())

    def stop(self) -> Sight:
        """What it saw. That it saw anything is for the case to demand."""
        with suppress(BrokenPipeError):  # it has seen everything, and left
            self._line.send("stop")
        found = self.heard()
        if not isinstance(found, Sight):
            raise HarnessError(f"the process that watches broke: {found}")
        return found

    def end(self) -> None:
        with suppress(OSError, ValueError):
            self._line.close()
        self._process.join(1.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


@contextmanager
def watching(look: Callable[..., Sight], *arguments: object) -> Iterator[Watch]:
    """It has begun when this begins."""
    watch = Watch(*launch(_watch, look, arguments))
    try:
        watch.heard()
        yield watch
    finally:
        watch.end()


def _watch(look: Callable[..., Sight], arguments: Sequence[object], line: Connection) -> None:
    told = False

    def stop() -> bool:
        nonlocal told
        told = told or line.poll()
        return told

    line.send("begun")
    try:
        found: object = look(stop, *arguments)
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    with suppress(OSError):
        line.send(found)


# -- what is looked at


def _ordered() -> None:
    with _fence:
        pass


def _mapped(path: Path) -> memoryview:
    with path.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))


def _until(stop: Stop, condition: Callable[[], bool]) -> bool:
    """Whether it came to hold; stop is asked now and then, since that costs."""
    while True:
        for _ in range(200):
            if condition():
                return True
        if stop():
            return condition()


def commits(stop: Stop, path: Path, first: int, payloads: Sequence[bytes]) -> Sight:
    """From the start of segment `first` on: the moment a commit word is there, everything else of the record must be, too."""
    queue, faults, seen, number, last_seq = Queue(path), list[str](), 0, first, -1
    while seen < len(payloads):
        if not _until(stop, queue.segment_path(number).exists):
            break
        view = _mapped(queue.segment_path(number))
        words, at = view.cast("I"), HEADER
        while at + HEADER <= len(view) and seen < len(payloads):
            if not _until(stop, lambda words=words, at=at: words[at // 4] != 0):  # type: ignore[misc]
                return Sight(seen, tuple(faults))
            word = words[at // 4]
            _ordered()
            rest = bytes(view[at + 4 : at + HEADER + max(len(payloads[seen]), 1)])
            where = f"segment {number}, byte {at}: commit_len was {word}"
            seq, type_id = int.from_bytes(rest[4:12], "little"), int.from_bytes(rest[20:22], "little")
            at += span(word - 1)
            if type_id == layout.PAD:
                continue
            if seq <= last_seq or rest[12:20] == bytes(8):
                faults.append(f"{where} while seq was {seq} after {last_seq} and timestamp_ns {int.from_bytes(rest[12:20], 'little')}")
            if word != len(payloads[seen]) + 1 or rest[60 : 60 + len(payloads[seen])] != payloads[seen]:
                faults.append(
                    f"{where} while the payload was {rest[60:84]!r}…, not the {len(payloads[seen])} bytes {payloads[seen][:24]!r}…"
                )
            seen, last_seq = seen + 1, seq
        number += 1
    return Sight(seen, tuple(faults))


def births(stop: Stop, paths: Sequence[Path], wrong: Callable[[Path], str]) -> Sight:
    """The moment control.meta has its name, nothing must be wrong with the queue."""
    said: list[str] = []
    for path in paths:
        if not _until(stop, (path / "control.meta").exists):
            break
        said.append(wrong(path))
    return Sight(len(said), tuple(filter(None, said)))


def half_made(path: Path) -> str:
    data = (path / "control.meta").read_bytes()
    try:
        layouts.parse(layout.CONTROL, data)
    except LayoutError as error:
        return f"{path.name}/control.meta had {len(data)} bytes when it appeared: {error}"
    return ""


def without_segment(path: Path) -> str:
    if (path / "000000000.q").exists():
        return ""
    return f"{path.name}/control.meta appeared while there was no {path.name}/000000000.q, only {sorted(os.listdir(path))}"


def assert_born_well(target: Target, place: Path, wrong: Callable[[Path], str]) -> None:
    names = [f"q{number}" for number in range(BIRTHS)]
    with watching(births, [place / name for name in names], wrong) as watch:
        for name in names:
            target.open_writer(name).close()
        sight = watch.stop()
    assert not sight.faults, f"of {sight.seen} new queues {len(sight.faults)} were found half-made: {'; '.join(sight.faults)}"
    assert sight.seen == BIRTHS, f"{sight.seen} of {BIRTHS} new queues have a control.meta"


def pairs(stop: Stop, path: Path, never: Sequence[int], enough: int) -> Sight:
    """Read under the seqlock, an even segment never goes with the offset never[0], nor an odd one with never[1]. Segments are counted."""
    view = _mapped(Queue(path).control_path)
    words, faults, seen = view.cast("I"), list[str](), set[int]()
    while not faults and len(seen) < enough:
        for _ in range(200):
            before = words[128 // 4]
            _ordered()
            segment, offset = words[132 // 4], words[256 // 4]
            _ordered()
            if before % 2 or words[128 // 4] != before:
                continue
            seen.add(segment)
            if offset == never[segment % 2]:
                faults.append(f"control.meta gave segment {segment} with write_offset {offset}, which belongs to a segment beside it, "
                              f"while segment_gen stood at {before}")  # fmt: skip
                break
        if stop():
            break
    return Sight(len(seen), tuple(faults))


def rolls(stop: Stop, path: Path, first: int) -> Sight:
    """The moment a segment is sealed, the next one is there and published, and the sealed one's rest is filled."""
    queue, faults, number = Queue(path), list[str](), first
    control = _mapped(queue.control_path).cast("I")
    while True:
        if not _until(stop, queue.segment_path(number).exists):
            break
        flags = _mapped(queue.segment_path(number)).cast("I")
        if not _until(stop, lambda flags=flags: flags[12 // 4] & layout.SEALED != 0):  # type: ignore[misc]
            break
        _ordered()
        current = control[132 // 4]
        _ordered()
        faults += [f"segment {number} was sealed while {fault}" for fault in _unready(queue, number, current)]
        number += 1
    return Sight(number - first, tuple(faults))


def _unready(queue: Queue, number: int, current: int) -> Iterator[str]:
    sealed = queue.segment(number)  # at once: what is filled in late must not be there yet
    if not sealed.whole:
        yield f"nothing was committed at byte {sealed.end} of {sealed.size}: its rest was not filled with PAD"
    if current <= number:
        yield f"control.meta still named segment {current} as the current one"
    try:
        following = queue.segment(number + 1)
    except (OSError, AssertionError) as error:
        yield f"the next segment was not there: {error}"
    else:
        if following.size != sealed.size:
            yield f"the next segment had {following.size} bytes, not {sealed.size}"


def death(stop: Stop, path: Path, pid: int, wait_s: float) -> Sight:
    """Kills the process some moments after that path has appeared."""
    appeared = _until(stop, path.exists)
    if appeared:
        time.sleep(wait_s)
        os.kill(pid, signal.SIGKILL)
    return Sight(int(appeared), ())


def waited(condition: Callable[[], bool], within_s: float) -> bool:
    """Whether it came to hold in time."""
    until = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True
