"""Each deliberate fault of chronicle's sleeping and waking shows itself, and the same steps without it do not."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fireassay.reference.failpoints import Action, ControlFile
from fireassay.reference.tests.chronicle_files import control_of
from fireassay.reference.tests.mutant_steps import OK, armed, drained, goes_on, reader, shows, stands, stopping, writer


def hits_of_a_wake(where: Path, sleepers: int) -> int:
    with armed(where / "control") as control, writer(where / "q") as queue, reader(where / "q") as port:
        control.arm("chronicle_wake", Action.COUNT)
        thread = threading.Thread(target=lambda: port.wait(1.0))
        if sleepers:
            thread.start()
            while not control_of(where / "q")["waiters_pending"]:
                pass
        queue.append(b"x")
        if sleepers:
            thread.join()
        return control.hits("chronicle_wake")


def a_sleeper_is_woken(where: Path) -> str:
    return OK if hits_of_a_wake(where, 1) == 1 else "the sleeper was not woken"


def nobody_is_woken_for_nothing(where: Path) -> str:
    return OK if hits_of_a_wake(where, 0) == 0 else "a wake call for nobody"


SLEEPER = (
    "import sys; from fireassay.reference.chronicle.reader import Hybrid, Reader\n"
    "with Reader(sys.argv[1], sys.argv[2], strategy=Hybrid(0)) as r:\n"
    "    while (m := r.read_batch(1, 30).messages)[0].payload != b'last': pass\n"
    "    print(r.late)\n"
)
LISTENER = (
    "import sys; from fireassay.reference.chronicle.writer import Writer\n"
    "with Writer(sys.argv[1], heartbeat_s=0) as w:\n"
    "    for line in sys.stdin: print(w.append(line.strip().encode()), flush=True)\n"
)


def a_waiter_looks_again(where: Path) -> str:
    with (
        writer(where / "q") as queue,
        ControlFile.create(where / "control", "mutants") as control,
        stopping(control, "chronicle_announce", SLEEPER, where / "q", "r") as child,
    ):
        stands(child)
        queue.append(b"last")
        goes_on(child, control, "chronicle_announce")
        return OK if child.communicate()[0] == b"0\n" else "the waiter slept over a record"


def a_waiter_on_its_way_is_not_forgotten(where: Path) -> str:
    """One sleeps; the writer has seen its flag and not yet lowered it; another has announced itself and not yet slept."""
    with (
        ControlFile.create(where / "mine", "mutants") as mine,
        ControlFile.create(where / "others", "mutants") as others,
        stopping(mine, "chronicle_lower", LISTENER, where / "q") as queue,
    ):
        assert queue.stdin is not None
        assert queue.stdout is not None
        queue.stdin.write(b"zero\n")
        queue.stdin.flush()
        assert queue.stdout.readline() == b"0\n"
        with reader(where / "q", "first") as first:
            assert not first.wait(0) or drained(first)
            first.wait(0.001)
        queue.stdin.write(b"one\n")
        queue.stdin.flush()
        stands(queue)
        with stopping(others, "chronicle_sleep", SLEEPER, where / "q", "second") as second:
            stands(second)
            goes_on(queue, mine, "chronicle_lower")
            assert queue.stdout.readline() == b"1\n"
            goes_on(second, others, "chronicle_sleep")
            while "futex" not in Path(f"/proc/{second.pid}/wchan").read_text():
                assert second.poll() is None
            queue.stdin.write(b"last\n")
            queue.stdin.flush()
            return OK if second.communicate()[0] == b"0\n" else "a waiter slept over a record"


SHOWN_BY: dict[str, Callable[[Path], str]] = {
    "chronicle_wake_never": a_sleeper_is_woken,
    "chronicle_wake_always": nobody_is_woken_for_nothing,
    "chronicle_wait_unchecked": a_waiter_looks_again,
    "chronicle_wake_lost": a_waiter_on_its_way_is_not_forgotten,
}


@pytest.mark.parametrize("name", SHOWN_BY)
def test_the_mutant_shows_and_the_sound_build_does_not(tmp_path: Path, name: str) -> None:
    shows(tmp_path, name, SHOWN_BY[name])
