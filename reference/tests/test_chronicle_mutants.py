"""Each deliberate fault of chronicle shows itself, and the same steps without it do not."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fireassay.conformance.tests.test_mutation import MUTANTS as EXAMINED
from fireassay.reference import core, mutants
from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.writer import PAD
from fireassay.reference.failpoints import Action
from fireassay.reference.tests.chronicle_files import assert_consistent, control_of, readable
from fireassay.reference.tests.mutant_steps import OK, SEGMENT, armed, drained, filled, numbers, reader, shows, writer
from fireassay.reference.tests.test_chronicle_cold_mutants import SHOWN_BY as COLD
from fireassay.reference.tests.test_chronicle_read_mutants import SHOWN_BY as READ
from fireassay.reference.tests.test_chronicle_retention_mutants import SHOWN_BY as KEPT
from fireassay.reference.tests.test_chronicle_wait_mutants import SHOWN_BY as WAITING
from fireassay.reference.tests.test_chronicle_write_mutants import SHOWN_BY as WRITTEN
from fireassay.spec.layouts import LayoutError
from fireassay.spec.outcomes import ErrorClass


def sequences_stand_where_they_belong(where: Path) -> str:
    with filled(where / "q", 3):
        return OK if [record.seq for record in readable(where / "q")] == [0, 1, 2] else "the headers are wrong"


def an_empty_record_is_read(where: Path) -> str:
    with writer(where / "q") as queue, reader(where / "q") as port:
        queue.append(b"")
        queue.append(b"x")
        return OK if [message.payload for message in drained(port)] == [b"", b"x"] else "the empty record was not read"


def padding_is_not_read(where: Path) -> str:
    with filled(where / "q"), reader(where / "q") as port:
        return OK if all(message.type_id != PAD for message in drained(port)) else "padding was read"


def padding_cannot_be_appended(where: Path) -> str:
    with writer(where / "q") as queue:
        try:
            queue.append(b"x", type_id=PAD)
        except core.CoreError as error:
            return OK if error.error_class is ErrorClass.INVALID else str(error)
        return "padding was appended"


def the_queue_keeps_its_segment_size(where: Path) -> str:
    filled(where / "q", 3).close()
    try:
        with writer(where / "q", 4096) as queue, reader(where / "q", size=4096) as port:
            return OK if (queue.segment_size, port.segment_size) == (SEGMENT, SEGMENT) else "another size was taken"
    except core.CoreError as error:
        return str(error)


def segments_say_their_number(where: Path) -> str:
    with filled(where / "q"):
        try:
            return OK if assert_consistent(where / "q") else "nothing"
        except AssertionError:
            return "a segment has another number than its name"


def nothing_is_committed_before_its_payload(where: Path) -> str:
    with writer(where / "q") as queue, reader(where / "q") as port:
        done = threading.Event()

        def append() -> None:
            for number in range(50):
                queue.append(b"%0100d" % number)
            done.set()

        thread = threading.Thread(target=append)
        thread.start()
        seen: list[bytes] = []
        while len(seen) < 50:
            finished, batch = done.is_set(), port.read_batch(9, 1.0)
            seen += [message.payload for message in batch.messages]
            if finished and batch.end:
                break
        thread.join()
        return OK if seen == [b"%0100d" % number for number in range(50)] else "a record was read before it was written"


def control_is_ready_when_it_is_seen(where: Path) -> str:
    thread = threading.Thread(target=lambda: writer(where / "q").close())
    thread.start()
    try:
        while not (where / "q" / "control.meta").exists():
            pass
        control_of(where / "q")
        return OK
    except LayoutError as error:
        return str(error)
    finally:
        thread.join()


def segment_and_offset_change_together(where: Path) -> str:
    """Large and small records in turn, each in a segment of its own: an offset tells to which segment it belongs."""
    published = {0: (64, 832), 1: (64, 384)}
    with writer(where / "q") as queue, reader(where / "q") as port:
        thread = threading.Thread(target=lambda: [queue.append(bytes((700, 200)[number % 2])) for number in range(20)])
        thread.start()
        torn: set[tuple[int, int]] = set()
        while thread.is_alive():
            segment, offset = port.writer_position()
            if offset not in published[segment % 2]:
                torn.add((segment, offset))
        thread.join()
        return OK if not torn else f"positions nobody published: {torn}"


def a_second_writer_is_refused(where: Path) -> str:
    with writer(where / "q"):
        try:
            writer(where / "q").close()
        except core.CoreError as error:
            return OK if error.error_class is ErrorClass.LOCKED else str(error)
        return "two writers are open"


def a_reader_passes_every_roll(where: Path) -> str:
    with filled(where / "q"), reader(where / "q") as port:
        try:
            return OK if numbers(port) == list(range(30)) else "records are missing"
        except core.CoreError as error:
            return str(error)


def a_lagging_reader_misses_nothing(where: Path) -> str:
    with filled(where / "q") as queue, reader(where / "q") as port:
        queue.append(b"30")
        return OK if numbers(port) == list(range(31)) else "records are missing"


def a_reader_stays_until_the_seal(where: Path) -> str:
    """A roll fails after the next file was made; a smaller record then still goes into the old segment."""
    with armed(where / "control") as control, writer(where / "q") as queue, reader(where / "q") as port:
        queue.append(b"%0700d" % 0)
        assert numbers(port) == [0]
        control.arm("chronicle_segment_mmap", Action.ERROR, errno=12)
        with pytest.raises(core.CoreError, match="Cannot allocate memory"):
            queue.append(b"%0700d" % 9)
        assert port.read_batch(1).end
        queue.append(b"1")
        queue.append(b"%0700d" % 2)
        return OK if numbers(port) == [1, 2] else "a record was passed over"


def a_torn_tail_is_passed(where: Path) -> str:
    with reader_of_three(where) as port:
        with writer(where / "q") as queue:
            queue.append(b"3")
        return OK if numbers(port) == [3] else "the reader hangs at the torn tail"


@contextmanager
def reader_of_three(where: Path) -> Iterator[Reader]:
    filled(where / "q", 3).close()
    with reader(where / "q") as port:
        assert numbers(port) == [0, 1, 2]
        yield port


def a_commit_is_where_the_reader_was(where: Path) -> str:
    filled(where / "q", 6).close()
    with reader(where / "q") as port:
        port.commit(*port.read_batch(3).messages[1].next)
    with reader(where / "q") as port:
        return OK if numbers(port) == [2, 3, 4, 5] else "the reader resumes elsewhere"


def recovery_keeps_what_was_committed(where: Path) -> str:
    filled(where / "q", 3).close()
    with writer(where / "q"), reader(where / "q") as port:
        return OK if numbers(port) == [0, 1, 2] else "a committed record is gone"


def numbers_go_on(where: Path) -> str:
    filled(where / "q", 3).close()
    with writer(where / "q") as queue:
        return OK if queue.append(b"x") == 3 else "a number was given again"


def a_name_stays_in_its_directory(where: Path) -> str:
    with writer(where / "q"):
        try:
            reader(where / "q", "../../stray").close()
        except core.CoreError as error:
            return OK if error.error_class is ErrorClass.INVALID and not (where / "stray.meta").exists() else str(error)
        return "a file was made elsewhere" if (where / "stray.meta").exists() else "the name was taken"


def a_segment_is_there_before_control(where: Path) -> str:
    thread = threading.Thread(target=lambda: writer(where / "q").close())
    thread.start()
    try:
        while not (where / "q" / "control.meta").exists():
            pass
        return OK if (where / "q" / "000000000.q").exists() else "there is no segment"
    finally:
        thread.join()


def each_record_is_written_once(where: Path) -> str:
    with filled(where / "q"), reader(where / "q") as port:
        return OK if numbers(port) == list(range(30)) else "other records than were appended"


def a_flush_syncs(where: Path) -> str:
    with armed(where / "control") as control, writer(where / "q") as queue:
        queue.append(b"x")
        control.arm("chronicle_flush_current", Action.COUNT)
        queue.flush_sync()
        return OK if control.hits("chronicle_flush_current") == 1 else "nothing was synced"


SHOWN_BY: dict[str, Callable[[Path], str]] = {
    "chronicle_header_swapped": sequences_stand_where_they_belong,
    "chronicle_commit_bare": an_empty_record_is_read,
    "chronicle_pad_surfaces": padding_is_not_read,
    "chronicle_pad_accepted": padding_cannot_be_appended,
    "chronicle_size_local": the_queue_keeps_its_segment_size,
    "chronicle_segment_nameless": segments_say_their_number,
    "chronicle_commit_first": nothing_is_committed_before_its_payload,
    "chronicle_control_early": control_is_ready_when_it_is_seen,
    "chronicle_seqlock_even": segment_and_offset_change_together,
    "chronicle_lock_ignored": a_second_writer_is_refused,
    "chronicle_roll_unpadded": a_reader_passes_every_roll,
    "chronicle_hint_followed": a_lagging_reader_misses_nothing,
    "chronicle_seal_ignored": a_reader_stays_until_the_seal,
    "chronicle_tail_unrepaired": a_torn_tail_is_passed,
    "chronicle_cursor_ahead": a_commit_is_where_the_reader_was,
    "chronicle_cursor_unsaved": a_commit_is_where_the_reader_was,
    "chronicle_seq_restarts": numbers_go_on,
    "chronicle_name_unchecked": a_name_stays_in_its_directory,
    "chronicle_control_first": a_segment_is_there_before_control,
    "chronicle_roll_drops": each_record_is_written_once,
    "chronicle_roll_duplicates": each_record_is_written_once,
    "chronicle_recovery_drops": recovery_keeps_what_was_committed,
    "chronicle_flush_unsynced": a_flush_syncs,
}


def test_every_mutant_of_chronicle_is_shown() -> None:
    """Here, or by the cases of its clause: they are examined with it."""
    assert {*SHOWN_BY, *WAITING, *KEPT, *WRITTEN, *READ, *COLD, *EXAMINED} == {
        mutant.name for mutant in mutants.mutants() if mutant.name.startswith("chronicle_")
    }


@pytest.mark.parametrize("name", SHOWN_BY)
def test_the_mutant_shows_and_the_sound_build_does_not(tmp_path: Path, name: str) -> None:
    shows(tmp_path, name, SHOWN_BY[name])


def test_a_target_takes_its_mutant_from_the_environment(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib; from fireassay.reference.chronicle.target import make\n"
        "t = make(pathlib.Path(sys.argv[1]), {'segment_size': '1024'})\n"
        "with t.open_writer('s') as w: w.append_batch([b'x'] * 3)\n"
        "with t.open_writer('s') as w: print(w.granted)\n"
    )
    for mutant, granted in (("", "3"), ("chronicle_seq_restarts", "0")):
        settings = {**os.environ, "FIREASSAY_CORE": "mutants", "FIREASSAY_MUTANT": mutant}
        done = subprocess.run([sys.executable, "-c", script, str(tmp_path / f"m{mutant}")], env=settings, capture_output=True, text=True)
        assert (done.stdout.strip(), done.stderr) == (granted, "")
