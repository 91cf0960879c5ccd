"""Kills at drawn instants and at failpoints, really made: they fire, a sound target outlives them, a broken one is convicted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fireassay.chaos.engines import ENGINES
from fireassay.chaos.engines.counting import Counts, count_lives
from fireassay.chaos.engines.failpoints import hits_to_kill, plan
from fireassay.chaos.engines.lives import Life
from fireassay.chaos.engines.strikes import Path as Deaths
from fireassay.chaos.engines.strikes import Strike, strike
from fireassay.chaos.tests.benches import all_end, at_work, bench, descendants, faulty, fired, mutant, until, verdict_of
from fireassay.conformance.targets import failpoints
from fireassay.conformance.trials.children import stop_server

RANDOM, FAILPOINTS = ENGINES["kill-random"], ENGINES["kill-failpoints"]


@pytest.fixture(scope="module", autouse=True)
def nobody_is_left() -> Iterator[None]:
    yield
    stop_server()


def test_writers_are_killed_while_two_readers_go_on_and_nothing_is_lost(tmp_path: Path) -> None:
    one = bench(tmp_path)
    results = list(RANDOM.make(one, 2))
    assert fired(results) == (2, 2)
    assert {fault.kind for result in results for fault in result.faults} == {"kill"}
    assert verdict_of(one) == []


def test_the_other_way_in_gets_its_kills_too(tmp_path: Path) -> None:
    one = bench(tmp_path, "py:first:make", "py:second:make")
    results = list(RANDOM.make(one, 9))
    assert fired(results) == (9, 0), "neither exists, and what was planned stays planned"
    assert [len(result.faults) for result in results] == [6, 3]
    assert "first" in results[0].incidents[0]
    assert "second" in results[1].incidents[0]


def test_a_target_that_does_not_come_back_is_given_up_and_its_faults_are_none_that_fired(tmp_path: Path) -> None:
    one = bench(tmp_path, "py:nothing:make")
    results = list(RANDOM.make(one, 100))
    assert len(results) == 2
    assert fired(results)[1] == 0
    assert all("nothing cannot be imported" in fault.reason for result in results for fault in result.faults)


def test_records_acknowledged_before_they_are_stored_are_missed_after_a_kill(tmp_path: Path) -> None:
    one = bench(tmp_path, faulty("early-ack"))
    assert fired(list(RANDOM.make(one, 6))) == (6, 6)
    assert any("LOG-10 lost-write" in said for said in verdict_of(one)), verdict_of(one)


def test_lives_are_counted_and_each_failpoint_dies_in_one_that_passes_it(tmp_path: Path) -> None:
    counts, result = count_lives(bench(tmp_path))
    assert (result.faults, result.incidents) == ((), ())
    assert counts.life("chronicle_commit") is Life.REOPENED
    assert counts.life("chronicle_control_rename") is Life.FRESH
    assert counts.life("chronicle_meta_crc") is Life.NEW_READER
    assert counts.life("chronicle_sleep") is Life.WAITING_READER
    assert counts.life("chronicle_publish_repair") is None, "only a recovery passes it"
    assert counts.hits("chronicle_control_rename") == 1
    assert counts.hits("chronicle_commit") > counts.hits("chronicle_seal") > 1
    assert {path.strikes[0].point for path in plan(counts, 1)} == counts.names


def test_hits_are_the_first_and_where_much_is_asked_for_one_in_the_middle() -> None:
    assert [hits_to_kill(passed, 1) for passed in (0, 1, 9)] == [(), (1,), (1,)]
    assert hits_to_kill(9, 3) == (1, 2, 3)
    assert [hits_to_kill(passed, 4) for passed in (0, 1, 2, 3, 100)] == [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 50)]


def test_a_plan_has_every_counted_failpoint_once_in_the_first_life_that_passes_it() -> None:
    counts = Counts(
        {
            Life.REOPENED: {"a": 2},
            Life.FRESH: {"a": 2, "b": 1},
            Life.NEW_READER: {"c": 5},
            Life.OLD_READER: {"c": 1},
            Life.WAITING_READER: {},
        }
    )
    assert plan(counts, 1) == [
        Deaths(Life.REOPENED, (Strike("a", 1),)),
        Deaths(Life.FRESH, (Strike("b", 1),)),
        Deaths(Life.NEW_READER, (Strike("c", 1),)),
    ]


@pytest.mark.parametrize(
    ("life", "points"),
    [
        (Life.REOPENED, [["chronicle_commit"], ["chronicle_publish_end", "chronicle_publish_repair"], ["replace_rename"]]),
        (Life.FRESH, [["chronicle_control_rename"], ["chronicle_control_create", "chronicle_segment_pread"]]),
        (Life.NEW_READER, [["chronicle_readers_open"], ["chronicle_meta_crc"]]),
        (Life.WAITING_READER, [["chronicle_sleep"]]),
    ],
)
def test_processes_die_where_they_were_told_and_nothing_is_lost(tmp_path: Path, life: Life, points: list[list[str]]) -> None:
    one = bench(tmp_path)
    struck = strike(one, [Deaths(life, tuple(Strike(point, 1) for point in path)) for path in points])
    assert [(fault.where, fault.fired, fault.reason) for fault in struck.result.faults] == [(p, True, "") for path in points for p in path]
    assert struck.result.incidents == ()
    assert verdict_of(one) == []


def test_a_recovery_that_drops_a_record_is_convicted_by_a_death(tmp_path: Path) -> None:
    one = bench(tmp_path, environment=mutant("chronicle_recovery_drops"))
    struck = strike(one, [Deaths(Life.REOPENED, (Strike("chronicle_flush_current", 2),))])
    assert struck.result.fired == 1
    assert any("LOG-10 lost-write" in said for said in verdict_of(one)), verdict_of(one)


def test_a_place_that_its_victim_never_reached_has_not_fired(tmp_path: Path) -> None:
    one = bench(tmp_path)
    never = (Strike("chronicle_segment_discard", 1), Strike("chronicle_commit", 1))
    struck = strike(one, [Deaths(Life.REOPENED, never)])
    assert [(fault.where, fault.planned, fault.fired, fault.reason) for fault in struck.result.faults] == [
        ("chronicle_segment_discard", True, False, "its life ended after 0 hits")
    ]
    assert struck.missed == [Deaths(Life.REOPENED, never)]
    assert verdict_of(one) == [], "what did not happen convicts nobody"


@pytest.mark.parametrize(("fault", "who"), [("hang-write", "produce"), ("hang-read", "read")])
def test_an_examination_killed_in_the_middle_leaves_no_process_not_even_one_that_hangs(tmp_path: Path, fault: str, who: str) -> None:
    with at_work(tmp_path, "kill-random", faulty(fault)) as child:
        until(lambda: bool([*tmp_path.glob(f"recordings/*-{who}-*")]), "who will hang")
        left = descendants(child.pid)
        child.kill()
    assert len(left) >= 2, "a fork server and who was forked"
    all_end(left)


@pytest.mark.parametrize("target", ["plainlog", "driver:./no-such-program"])
def test_a_target_without_failpoints_is_not_run_and_says_so(tmp_path: Path, target: str) -> None:
    (result,) = FAILPOINTS.make(bench(tmp_path, target), 1)
    assert not result.ran
    assert [(each.kind, each.reason) for each in result.not_run] == [("failpoint", f"target {target} offers no failpoints")]


@pytest.mark.long
@pytest.mark.parametrize("amount", [1, 4])
def test_every_failpoint_is_reached_and_killed_or_reported_by_name(tmp_path: Path, amount: int) -> None:
    one = bench(tmp_path, seed=11)
    results = list(FAILPOINTS.make(one, amount))
    died = {fault.where for result in results for fault in result.faults if fault.fired}
    (said,) = (each.reason for result in results for each in result.not_run)
    assert {point.name for point in failpoints(one.target)} - died == set(said.rpartition(": ")[2].split(", "))
    assert fired(results)[0] == fired(results)[1] >= (65, 250)[amount == 4]
    assert verdict_of(one) == []


@pytest.mark.long
def test_two_hundred_random_kills(tmp_path: Path) -> None:
    one = bench(tmp_path, seed=13)
    assert fired(list(RANDOM.make(one, 200))) == (200, 200)
    assert verdict_of(one) == []
