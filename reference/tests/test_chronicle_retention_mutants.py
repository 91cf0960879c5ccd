"""Each deliberate fault in what chronicle keeps, and for whom, shows itself, and the same steps without it do not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fireassay.reference import core
from fireassay.reference.chronicle.limits import Limits
from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.writer import Writer
from fireassay.reference.failpoints import ControlFile
from fireassay.reference.tests.mutant_steps import OK, SEGMENT, filled, goes_on, numbers, reader, shows, stands, stopping
from fireassay.spec.layouts import chronicle as layout
from fireassay.spec.outcomes import ErrorClass


def bounded(queue: Path, **limits: int) -> Writer:
    return Writer(queue, SEGMENT, heartbeat_s=0, limits=Limits(**limits), variant="mutants")


def a_full_queue_refuses(where: Path) -> str:
    with bounded(where / "q", max_segments=2) as queue:
        try:
            for number in range(20):
                queue.append(b"%0130d" % number)
        except core.CoreError as error:
            return OK if error.error_class is ErrorClass.FULL else str(error)
        return "the queue grew beyond its bound"


def a_torn_commit_falls_back(where: Path) -> str:
    filled(where / "q", 6).close()
    meta = where / "q" / "readers" / "r.meta"
    with reader(where / "q") as port:
        messages = port.read_batch(3).messages
        for message in messages:
            port.commit(*message.next)
    data = bytearray(meta.read_bytes())
    newest = layout.committed_slot(bytes(data))["generation"]
    (at,) = (at for at in (0, 64) if int.from_bytes(data[at : at + 8], "little") == newest)
    data[at + 16] ^= 0xFF
    meta.write_bytes(data)
    try:
        with reader(where / "q") as port:
            return OK if numbers(port) == list(range(len(messages) - 1, 6)) else "the reader resumes elsewhere"
    except core.CoreError as error:
        return str(error)


def an_idle_reader_beats(where: Path) -> str:
    with filled(where / "q"), Reader(where / "q", "r", heartbeat_s=0, variant="mutants") as port:
        before = (where / "q" / "readers" / "r.meta").read_bytes()
        port.heartbeat()
        return OK if (where / "q" / "readers" / "r.meta").read_bytes() != before else "no heartbeat was stored"


def the_dead_hold_nothing(where: Path) -> str:
    with bounded(where / "q", reader_ttl_s=0) as queue, Reader(where / "q", "r", heartbeat_s=0, variant="mutants"):
        for number in range(30):
            queue.append(b"%0130d" % number)
        return OK if queue.retain().deleted else "a dead reader holds its segments"


def the_lagging_hold_nothing(where: Path) -> str:
    with bounded(where / "q", max_lag_segments=1) as queue, reader(where / "q"):
        for number in range(30):
            queue.append(b"%0130d" % number)
        found = queue.retain()
        return OK if found.deleted and found.lagging else "a reader far behind holds its segments"


def the_living_keep_their_segment(where: Path) -> str:
    with filled(where / "q") as queue:
        with reader(where / "q") as port:
            port.commit(*port.read_batch(1).messages[0].next)
        queue.retain()
        try:
            with reader(where / "q") as port:
                return OK if numbers(port) == list(range(1, 30)) else "records are missing"
        except core.CoreError as error:
            return str(error)


def the_current_segment_stays(where: Path) -> str:
    with filled(where / "q") as queue:
        queue.retain()
        return OK if any((where / "q").glob("*.q")) else "no segment is left"


def who_registers_keeps_what_it_found(where: Path) -> str:
    script = (
        "import sys; from fireassay.reference.chronicle.reader import Reader\n"
        "with Reader(sys.argv[1], 'new') as r:\n"
        "    while not (b := r.read_batch(9)).end: print(*(int(m.payload) for m in b.messages))\n"
    )
    with (
        filled(where / "q") as queue,
        ControlFile.create(where / "control", "mutants") as control,
        stopping(control, "replace_rename", script, where / "q") as child,
    ):
        stands(child)
        queue.retain()
        goes_on(child, control, "replace_rename")
        return OK if child.communicate()[0].split() == [b"%d" % number for number in range(30)] else "a granted segment was deleted"


def who_unregisters_leaves_nothing(where: Path) -> str:
    filled(where / "q").close()
    reader(where / "q").unregister()
    return OK if not list((where / "q" / "readers").iterdir()) else "the meta file stays"


def who_returns_too_late_is_told(where: Path) -> str:
    with bounded(where / "q", reader_ttl_s=0) as queue, Reader(where / "q", "r", heartbeat_s=0, variant="mutants") as port:
        for number in range(30):
            queue.append(b"%0130d" % number)
        port.read_batch(1)
        queue.retain()
        try:
            numbers(port)
        except core.CoreError as error:
            return OK if error.error_class is ErrorClass.MISSING else str(error)
        return "the reader went on elsewhere without a word"


SHOWN_BY: dict[str, Callable[[Path], str]] = {
    "chronicle_capacity_ignored": a_full_queue_refuses,
    "chronicle_meta_one_slot": a_torn_commit_falls_back,
    "chronicle_heart_stopped": an_idle_reader_beats,
    "chronicle_ttl_ignored": the_dead_hold_nothing,
    "chronicle_lag_ignored": the_lagging_hold_nothing,
    "chronicle_retain_early": the_living_keep_their_segment,
    "chronicle_retain_current": the_current_segment_stays,
    "chronicle_retain_unlocked": who_registers_keeps_what_it_found,
    "chronicle_unregister_kept": who_unregisters_leaves_nothing,
    "chronicle_missing_hidden": who_returns_too_late_is_told,
}


@pytest.mark.parametrize("name", SHOWN_BY)
def test_the_mutant_shows_and_the_sound_build_does_not(tmp_path: Path, name: str) -> None:
    shows(tmp_path, name, SHOWN_BY[name])
