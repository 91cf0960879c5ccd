"""Each deliberate fault in seeks, in reading many queues as one, and in looking at checks shows itself; sound steps do not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fireassay.reference import core
from fireassay.reference.chronicle.fan_in import FanIn, Order
from fireassay.reference.tests.mutant_steps import OK, filled, reader, shows, writer
from fireassay.spec.outcomes import ErrorClass


def a_seek_finds_its_record(where: Path) -> str:
    with filled(where / "q"), reader(where / "q") as port:
        return OK if (port.seek_number(17), int(port.read_batch(1).messages[0].payload)) == (17, 17) else "it found another"


def each_queue_has_its_turn(where: Path) -> str:
    with (
        writer(where / "a") as busy,
        writer(where / "b") as rare,
        reader(where / "a") as one,
        reader(where / "b") as other,
        FanIn(variant="mutants") as fan,
    ):
        busy.append_batch([b"x"] * 100)
        rare.append(b"y")
        fan.add(one)
        fan.add(other)
        return OK if b"y" in [arrived.message.payload for arrived in fan.read_batch(4)] else "the second queue had no turn"


def a_merge_knows_what_comes_next(where: Path) -> str:
    with (
        writer(where / "a", 1 << 16) as many,
        writer(where / "b", 1 << 16) as late,
        reader(where / "a") as one,
        reader(where / "b") as other,
        FanIn(Order.TIME, variant="mutants") as fan,
    ):
        for stamp in range(100):
            many.append(b"x", timestamp_ns=stamp)
        late.append(b"y", timestamp_ns=1000)
        fan.add(one)
        fan.add(other)
        stamps = [arrived.message.timestamp_ns for _ in range(10) for arrived in fan.read_batch(200)]
        return OK if stamps == sorted(stamps) else "a later record came first"


def damage_is_not_served(where: Path) -> str:
    with filled(where / "q", 3), reader(where / "q") as port:
        with (where / "q" / "000000000.q").open("r+b") as file:
            file.seek(130)
            file.write(b"X")
        try:
            port.read_batch(9)
        except core.CoreError as error:
            return OK if error.error_class is ErrorClass.CORRUPT else str(error)
        return "a damaged record was handed out"


SHOWN_BY: dict[str, Callable[[Path], str]] = {
    "chronicle_seek_late": a_seek_finds_its_record,
    "chronicle_fanin_greedy": each_queue_has_its_turn,
    "chronicle_fanin_hasty": a_merge_knows_what_comes_next,
    "chronicle_damage_served": damage_is_not_served,
}


@pytest.mark.parametrize("name", SHOWN_BY)
def test_the_mutant_shows_and_the_sound_build_does_not(tmp_path: Path, name: str) -> None:
    shows(tmp_path, name, SHOWN_BY[name])
