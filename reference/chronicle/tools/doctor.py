"""Every queue below a path, every record of it, and what to do about what is found."""

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fireassay.reference.chronicle.bus.markers import LEASE, READY, lease_of, ready_of
from fireassay.reference.chronicle.holder import HolderState
from fireassay.reference.chronicle.segments import Extent, Stop, map_segment, name_of
from fireassay.reference.chronicle.tools.cold_files import archives, is_store, origins, snapshots
from fireassay.reference.chronicle.tools.survey import DEFAULT_TTL_S, Problem, Survey, is_queue, survey
from fireassay.reference.files import read_small
from fireassay.reference.mutants import is_selected
from fireassay.spec import layouts
from fireassay.spec.layouts import LayoutError
from fireassay.spec.layouts import chronicle as layout
from fireassay.spec.outcomes import HarnessError

__all__ = ["Finding", "examine", "queues_below"]

_LEFT_BEHIND = re.compile(r"\d{9}\.q\.(lost|tmp)|(control|index)\.meta\.tmp|(READY|LEASE)\.tmp")


@dataclass(frozen=True, slots=True)
class Finding:
    queue: Path
    problem: Problem


def queues_below(path: Path) -> list[Path]:
    """Queues and stores of archives, at the path or below it; links are not followed. HarnessError where there is none."""
    if not path.is_dir():
        raise HarnessError(f"{path} is no directory; name a queue or the root of a bus")
    found = [Path(place) for place, _, _ in os.walk(path) if is_queue(Path(place)) or is_store(Path(place))]
    if not found:
        raise HarnessError(f"there is no queue of chronicle in {path} or below")
    return sorted(found)


def examine(queue: Path, ttl_s: float = DEFAULT_TTL_S, now_ns: int | None = None) -> Iterator[Finding]:
    """What is wrong first with the whole, then with each file; then what is merely worth knowing."""
    if is_selected("chronicle_doctor_blind"):
        return
    problems = [*archives(queue), *(_of_queue(queue, ttl_s, now_ns) if is_queue(queue) or not is_store(queue) else ())]
    yield from (Finding(queue, problem) for problem in sorted(problems, key=lambda problem: not problem.wrong))


def _of_queue(queue: Path, ttl_s: float, now_ns: int | None) -> list[Problem]:
    now = time.time_ns() if now_ns is None else now_ns
    facts = survey(queue, ttl_s, now)
    return [
        *facts.problems,
        *_records(facts),
        *_index(queue),
        *_dead_readers(facts),
        *_markers(facts, ttl_s, now),
        *snapshots(queue),
        *origins(queue),
        *_left_behind(facts),
        *_deletable(facts),
    ]


def _records(facts: Survey) -> Iterator[Problem]:
    """Each record of each segment that can be opened, and whether the numbers go on from one to the next."""
    expected: int | None = None
    before = -1
    for segment in (known.segment for known in facts.segments):
        try:
            size = facts.segment_size or os.stat(facts.queue / name_of(segment)).st_size
            with map_segment(facts.queue, segment, size) as view:
                sealed, found = view.sealed, view.extent()
        except (FileNotFoundError, LayoutError):
            continue  # gone since, or told already
        expected = expected if before + 1 == segment else None
        before = segment
        yield from _content(segment, sealed, found)
        if found.first_seq is None or found.last_seq is None:
            continue
        if found.last_seq - found.first_seq + 1 != found.records:
            what = f"it holds {found.records} records, numbered {found.first_seq} to {found.last_seq}"
            yield Problem(name_of(segment), what, "records are missing or double in it: compare with an archive")
        if expected not in (None, found.first_seq):
            what = f"it begins with record {found.first_seq}, and the segment before ends with {expected - 1}"
            yield Problem(name_of(segment), what, "records are missing or double between them: compare with an archive")
        expected = found.last_seq + 1 if found.stop is not Stop.BAD else None


def _content(segment: int, sealed: bool, found: Extent) -> Iterator[Problem]:
    advice = "restore the segment from an archive, or let readers go to the next one and lose its rest"
    if found.stop is Stop.BAD:
        yield Problem(name_of(segment), f"the record at {found.end} cannot be trusted, behind {found.records} that can", advice)
    elif sealed and found.stop is Stop.OPEN:
        yield Problem(name_of(segment), f"it is sealed, and there is no record at {found.end}", advice)


def _index(queue: Path) -> Iterator[Problem]:
    try:
        layouts.parse(layout.INDEX, read_small(queue / "index.meta", layout.INDEX.size))
    except FileNotFoundError:
        return
    except LayoutError as error:
        yield Problem("index.meta", str(error), "remove it: the next writer then looks through the whole queue and makes a new one")


def _dead_readers(facts: Survey) -> Iterator[Problem]:
    for reader in facts.readers:
        file = f"readers/{reader.name}.meta"
        if not reader.alive:
            holds = "still holds retention back" if reader.live else "no longer holds retention back"
            what = f"its process {reader.pid} is gone without closing; last heartbeat {reader.heartbeat_age_s:.0f} s ago, it {holds}"
            yield Problem(file, what, "start that reader again, and it goes on there; or remove the file")
        elif not reader.live:
            what = f"its process {reader.pid} lives, gave its last heartbeat {reader.heartbeat_age_s:.0f} s ago and holds nothing back"
            yield Problem(file, what, "see whether it is stopped or stuck")


def _markers(facts: Survey, ttl_s: float, now_ns: int) -> Iterator[Problem]:
    for name, read in ((READY, ready_of), (LEASE, lease_of)):
        try:
            mark = read(facts.queue)
        except LayoutError as error:
            yield Problem(name, str(error), "remove it; its owner writes it anew")
            continue
        if mark is None:
            continue
        if name == READY and facts.holder.state is not HolderState.LIVE:
            yield Problem(
                name, "it says that the queue is ready, and nobody writes it", "start the writer, or remove the file", wrong=False
            )
        if name == LEASE and mark.age_s(now_ns) > ttl_s:
            what = f"process {mark.pid} refreshed it last {mark.age_s(now_ns):.0f} s ago"
            yield Problem(name, what, "see whether its owner lives", wrong=False)


def _left_behind(facts: Survey) -> Iterator[Problem]:
    if facts.holder.state is HolderState.LIVE:
        return  # they may be in use
    for name in sorted(os.listdir(facts.queue)):
        if not _LEFT_BEHIND.fullmatch(name):
            continue
        if name.endswith(".lost"):
            what = "recovery set it aside: it lay beyond the end of the log after a power loss"
            yield Problem(name, what, "look into it, then remove it", wrong=False)
        else:
            yield Problem(name, "a process that was killed left it", "remove it; nobody reads it", wrong=False)


def _deletable(facts: Survey) -> Iterator[Problem]:
    """Sealed segments behind every live reader, but never the current one, nor the one before it while the current one is empty."""
    held = min((reader.segment for reader in facts.readers if reader.live), default=1 << 32)
    current = facts.control.segment if facts.control else 0
    kept = current - any(known.segment == current and known.first_seq is None for known in facts.segments)
    ready = [known.segment for known in facts.segments if known.sealed and known.segment < min(held, kept)]
    if ready and facts.segment_size:
        count, size = len(ready), len(ready) * facts.segment_size
        what = f"{count} segments up to this one ({size:,} bytes) are behind every live reader: retention may delete them"
        yield Problem(name_of(ready[-1]), what, "nothing to do; the writer's retention takes them when it is on", wrong=False)
