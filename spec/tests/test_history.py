"""Rows become calls, chains, crashes and epochs; what does not fit is said."""

import pytest

from fireassay.spec.history.builder import TICK_NS, HistoryBuilder
from fireassay.spec.history.ops import Flag, Op, Phase
from fireassay.spec.outcomes import Outcome


def test_an_invoke_without_a_completion_is_info() -> None:
    h = HistoryBuilder()
    h.producer(1).append(0)
    (append,) = h.build().appends
    assert (append.outcome, append.position) == (Outcome.INFO, None)


def test_an_open_run_is_its_count_ok_and_one_more_in_doubt() -> None:
    h = HistoryBuilder()
    p = h.producer(1)
    p.run(5, 3, 10, ended=False)
    appends = h.build().appends
    assert [(a.identity, a.position, a.outcome) for a in appends] == [
        (p.key(5), 10, Outcome.OK),
        (p.key(6), 11, Outcome.OK),
        (p.key(7), 12, Outcome.OK),
        (p.key(8), None, Outcome.INFO),
    ]


def test_a_completed_run_is_its_count_and_nothing_more() -> None:
    h = HistoryBuilder()
    h.producer(1).run(0, 3, 0)
    history = h.build()
    assert [a.outcome for a in history.appends] == [Outcome.OK] * 3
    assert history.before(history.appends[0], history.appends[1])


def test_a_batch_pairs_by_identity() -> None:
    h = HistoryBuilder()
    p = h.producer(1)
    for number in (0, 1):
        h.row(p.actor, Op.APPEND, Phase.INVOKE, key=p.key(number), call=77)
    h.row(p.actor, Op.APPEND, Phase.FAIL, key=p.key(1), call=77)
    h.row(p.actor, Op.APPEND, Phase.OK, key=p.key(0), call=77, seq=4)
    history = h.build()
    assert {a.identity: a.outcome for a in history.appends} == {p.key(0): Outcome.OK, p.key(1): Outcome.FAIL}
    assert history.problems == ()


def test_clock_order_counts_only_beyond_epsilon() -> None:
    h = HistoryBuilder()
    h.producer(1).append(0).ok(0)
    h.producer(2).append(0).ok(1)
    one, two = h.build().appends
    assert h.build().before(one, two)
    assert not h.build(epsilon_ns=TICK_NS).before(one, two)


def test_an_exit_and_a_later_spawn_order_two_processes() -> None:
    h = HistoryBuilder()
    p, q = h.producer(1), h.producer(1, incarnation=1)
    p.append(0).ok(0)
    h.exit(p)
    h.event(Op.SPAWN, seq=h.process(q.actor))
    q.append(0).ok(1)
    history = h.build(epsilon_ns=10**9)
    assert history.before(*history.appends)


def test_a_seek_cuts_a_chain_and_grants_the_next_its_start() -> None:
    h = HistoryBuilder()
    r = h.reader()
    r.read((0, 1), (1, 2))
    r.seek(0)
    r.read((0, 1))
    assert [(c.start, len(c.deliveries)) for c in h.build().chains] == [(None, 2), (0, 1)]


def test_a_fault_whose_victim_lives_on_is_no_crash() -> None:
    h = HistoryBuilder()
    p = h.producer(1)
    h.kill(p)
    assert len(h.build().crashes) == 1
    p.append(0).ok(0)
    assert h.build().crashes == ()


def test_calls_within_a_recovery_belong_to_no_epoch() -> None:
    h = HistoryBuilder()
    p, r = h.producer(1), h.reader()
    p.append(0).ok(0)
    r.read((0, p.key(0)))
    h.kill(p)
    r.read((0, p.key(0)))
    h.recovered(1)
    r.read((0, p.key(0)))
    history = h.build()
    assert [history.epoch(d) for d in history.deliveries] == [0, None, 1]
    assert [history.born(1, 1, position) for position in (0, 1)] == [0, 1]


@pytest.mark.parametrize("flaw", ["whole", "no end", "one END"])
def test_a_drain_is_complete_only_after_its_sentinel_and_two_ends(flaw: str) -> None:
    h = HistoryBuilder()
    r = h.reader()
    if flaw == "one END":
        h.event(Op.DRAIN_BEGIN, actor=r.actor)
        h.event(Op.SENTINEL, actor=r.actor)
        r.end()
        h.event(Op.DRAIN_END, actor=r.actor)
    else:
        r.drain(complete=flaw == "whole")
    (drain,) = h.build().drains
    assert drain.complete is (flaw == "whole")


def test_a_dangling_completion_is_a_problem() -> None:
    h = HistoryBuilder()
    h.row(h.producer(1).actor, Op.APPEND, Phase.OK, key=1, call=3)
    assert "never invoked" in h.build().problems[0]


def test_time_that_runs_backwards_is_a_problem() -> None:
    h = HistoryBuilder()
    p = h.producer(1)
    p.append(0).ok(0)
    h.now = 1
    p.append(1).ok(1)
    assert "backwards" in h.build().problems[0]


def test_an_unknown_actor_is_a_problem() -> None:
    h = HistoryBuilder()
    h.row(99, Op.READ, Phase.INVOKE, flags=Flag.WAIT)
    assert "actor table" in h.build().problems[0]
