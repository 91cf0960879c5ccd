"""Rows become calls, chains, crashes and epochs; what does not fit is said."""

from dataclasses import replace

import pytest

from fireassay.spec.history.builder import TICK_NS, HistoryBuilder
from fireassay.spec.history.history import History
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
    assert [history.keeps(1, position, 0, 1) for position in (0, 1)] == [True, False]


def test_a_drain_needs_both_ends_behind_its_last_delivery() -> None:
    h = HistoryBuilder()
    r = h.reader()
    h.event(Op.DRAIN_BEGIN, actor=r.actor)
    r.read((0, 1))
    r.end()
    r.read((1, 2))
    h.event(Op.SENTINEL, actor=r.actor)
    r.end()
    h.event(Op.DRAIN_END, actor=r.actor)
    (drain,) = h.build().drains
    assert drain.flaw == "it did not see END twice behind its last delivery"


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


def test_a_run_that_failed_says_so_of_the_one_after_its_last() -> None:
    h = HistoryBuilder()
    p = h.producer(1)
    p.call(Op.APPEND_RUN, key=p.key(0), value=2).fail()
    assert [a.outcome for a in h.build().appends] == [Outcome.OK, Outcome.OK, Outcome.FAIL]


def test_an_append_within_a_run_of_reads_is_not_before_what_the_run_read() -> None:
    h = HistoryBuilder()
    r = h.reader()
    run = r.call(Op.READ_RUN, key=5, value=1)
    r.call(Op.APPEND, key=5, value=64).ok(0)
    run.ok(0)
    history = h.build()
    ((delivery,), (append,)) = history.deliveries, history.appends
    assert not history.before(delivery, append)
    assert not history.before(append, delivery)
    assert history.problems == ()


@pytest.mark.parametrize("op", [Op.SEEK, Op.DRAIN_END, Op.REVOKE])
def test_a_run_of_reads_across_a_cut_is_a_problem(op: Op) -> None:
    h = HistoryBuilder()
    r = h.reader()
    run = r.call(Op.READ_RUN, key=5, value=1)
    h.row(r.actor, op, Phase.INVOKE if op is Op.SEEK else Phase.EVENT)
    run.ok(0)
    assert "across another read or a cut" in h.build().problems[0]


def test_a_read_of_unknown_outcome_is_kept_with_its_chain() -> None:
    h = HistoryBuilder()
    r = h.reader()
    r.read((0, 1))
    r.read_unknown()
    r.call(Op.READ)
    r.read((5, 6))
    (chain,) = h.build().chains
    one, two = chain.deliveries
    assert len(chain.unsure) == 2
    assert chain.unsure_between(one.done, two.done)
    assert not chain.unsure_between((-1, 0), one.done)


def test_a_nameless_payload_is_found_by_no_identity_and_may_repeat_it() -> None:
    h = HistoryBuilder()
    p = h.producer(1)
    p.append(0, flags=Flag.ANON).ok(0)
    p.append(0, flags=Flag.ANON).ok(1)
    history = h.build()
    assert history.problems == ()
    assert history.append_of == {}


# -- processes


def test_a_pid_that_is_used_again_belongs_to_another_process() -> None:
    h = HistoryBuilder()
    p, q = h.producer(1), h.producer(1, incarnation=1)
    p.append(0).ok(0)
    h.exit(p, -9)
    q.run(1, 2, 1, ended=False)
    t_between = h.now
    h.wait(TICK_NS)
    actors = [replace(a, process=77) if a.id in {p.actor, q.actor} else a for a in h.build().actors.values()]
    rows = [replace(row, seq=77) if row.op is Op.EXIT else row for row in h.rows()]
    history = History.of([rows], actors)
    assert history.problems == ()
    assert [crash.victims for crash in history.crashes] == [{p.actor}]
    assert history.t_gone(q.actor) > t_between
    assert all(history.after_crash(a, history.crashes[0]) for a in history.appends if a.actor == q.actor)


def test_who_speaks_after_its_process_was_seen_dead_is_a_problem() -> None:
    h = HistoryBuilder()
    p = h.producer(1)
    p.append(0).ok(0)
    h.exit(p, -9)
    p.append(1).ok(1)
    assert "speaks after its process was seen dead" in h.build().problems[0]


def test_a_fault_that_was_outlived_does_not_begin_the_crash() -> None:
    h = HistoryBuilder()
    p = h.producer(1)
    h.fault(p, 1)
    h.fault_end(1)
    p.append(0).ok(0)
    t_kill = h.now
    h.fault(p, 2)
    h.exit(p, -9)
    (crash,) = h.build().crashes
    assert (crash.t_begin, crash.provoked) == (t_kill, True)


def test_the_death_of_a_reader_begins_no_epoch_but_that_of_a_silent_process_may() -> None:
    h = HistoryBuilder()
    p, r = h.producer(1), h.reader()
    p.append(0).ok(0)
    h.kill(r)
    assert h.build().boundaries[1] == ()
    silent = h.producer(2)
    h.kill(silent, fault=2)
    assert [b.recorded for b in h.build().boundaries[1]] == [False]


def test_a_death_inside_a_recovery_is_left_for_the_next() -> None:
    h = HistoryBuilder()
    p, q = h.producer(1), h.producer(2)
    p.append(0).ok(0)
    q.append(0).ok(1)
    h.kill(p, fault=1)
    h.event(Op.RECOVERY_BEGIN)
    h.kill(q, fault=2)
    h.recovered(2)
    assert [b.recorded for b in h.build().boundaries[1]] == [True, False]


def test_a_position_is_kept_by_recoveries_that_end_beyond_it() -> None:
    h = HistoryBuilder()
    p = h.producer(1)
    p.append(0).ok(0)
    h.kill(p)
    h.recovered(2)
    h.recovered(5)
    history = h.build()
    assert [history.keeps(1, position, 0, 2) for position in (1, 2, 4)] == [True, False, False]
    assert [history.keeps(1, position, 1, 2) for position in (1, 4, 5)] == [True, True, False]
    assert not history.keeps(1, 0, 2, 1)


def test_the_recovery_of_another_stream_begins_no_epoch_here() -> None:
    h = HistoryBuilder()
    p = h.producer(1)
    p.append(0).ok(0)
    p.append(1, stream=2).ok(0)
    h.recovered(1, stream=2)
    boundaries = h.build().boundaries
    assert (boundaries[1], len(boundaries[2])) == ((), 1)


def test_a_crash_of_unknown_victims_may_begin_an_epoch() -> None:
    h = HistoryBuilder()
    h.producer(1).append(0).ok(0)
    h.fault()
    h.event(Op.FAULT_FIRED, seq=1)
    assert len(h.build().boundaries[1]) == 1
    assert not h.build().crashes[0].known


def test_the_doubt_after_an_unrecorded_crash_lasts_until_the_next_open_of_the_stream() -> None:
    h = HistoryBuilder()
    p, q, r = h.producer(1), h.producer(2), h.reader()
    p.append(0).ok(0)
    h.kill(p)
    q.call(Op.OPEN_WRITER, stream=2).ok()
    q.call(Op.OPEN_WRITER).fail()
    r.read((0, p.key(0)))
    q.open()
    r.read((0, p.key(0)))
    history = h.build()
    assert [history.epoch(d) for d in history.deliveries] == [None, 1]


def test_an_open_before_the_crash_does_not_end_its_doubt() -> None:
    h = HistoryBuilder()
    p, r = h.producer(1), h.reader()
    p.open()
    p.append(0).ok(0)
    h.kill(p)
    r.read((0, p.key(0)))
    history = h.build()
    assert [history.epoch(d) for d in history.deliveries] == [None]


def test_a_recovery_begins_with_its_first_crash_and_counts_it_once() -> None:
    h = HistoryBuilder()
    p, q, r = h.producer(1), h.producer(2), h.reader()
    p.append(0).ok(0)
    q.append(0).ok(1)
    h.kill(p, fault=1)
    r.read((0, p.key(0)))
    h.kill(q, fault=2)
    h.event(Op.RECOVERY_BEGIN, stream=2)
    h.event(Op.RECOVERY_BEGIN)
    h.recovered(2)
    r.read((0, p.key(0)))
    history = h.build()
    assert [history.epoch(d) for d in history.deliveries] == [None, 1]


def test_a_kill_takes_every_actor_of_the_process() -> None:
    h = HistoryBuilder()
    p = h.producer(1)
    q, other = h.producer(2, beside=p), h.producer(3)
    q.append(0).ok(0)
    h.kill(p)
    assert [crash.victims for crash in h.build().crashes] == [{p.actor, q.actor}]
    assert h.build().t_gone(q.actor) < h.build().t_gone(other.actor)


def test_exit_and_spawn_seen_by_different_eyes_order_nothing() -> None:
    h = HistoryBuilder()
    p, q, watcher = h.producer(1), h.producer(2), h.reader()
    p.append(0).ok(0)
    h.exit(p)
    h.event(Op.SPAWN, actor=watcher.actor, seq=h.process(q.actor))
    q.append(0).ok(1)
    history = h.build(epsilon_ns=10**9)
    assert not history.before(*history.appends)


def test_the_guess_about_a_broken_run_gives_way_to_a_row_that_knows() -> None:
    h = HistoryBuilder()
    p, q = h.producer(1), h.producer(1)
    p.run(0, 1, 0, ended=False)
    q.append(1).ok(1)
    history = h.build()
    assert [a.outcome for a in history.appends] == [Outcome.OK, Outcome.OK]
    assert history.problems == ()


# -- drains


def test_a_drain_that_was_cut_has_ended_but_says_nothing() -> None:
    h = HistoryBuilder()
    r = h.reader()
    h.event(Op.DRAIN_BEGIN, actor=r.actor)
    r.read((0, 1))
    r.seek(1)
    r.end(2)
    h.event(Op.DRAIN_END, actor=r.actor)
    (drain,) = h.build().drains
    assert drain.end is not None
    assert drain.flaw == "it was cut before it ended"


def test_a_drain_that_was_begun_again_has_no_end_of_its_own() -> None:
    h = HistoryBuilder()
    r = h.reader()
    h.event(Op.DRAIN_BEGIN, actor=r.actor)
    r.drain()
    first, second = h.build().drains
    assert (first.end, second.complete) == (None, True)


def test_a_drain_that_first_seeks_its_start_is_that_drain() -> None:
    h = HistoryBuilder()
    r = h.reader()
    h.event(Op.DRAIN_BEGIN, actor=r.actor)
    r.seek(4)
    r.read((4, 1))
    h.event(Op.SENTINEL, actor=r.actor)
    r.end(2)
    h.event(Op.DRAIN_END, actor=r.actor)
    (drain,) = h.build().drains
    assert (drain.complete, drain.chain.start) == (True, 4)


# -- what does not fit


def test_a_dangling_completion_is_a_problem() -> None:
    h = HistoryBuilder()
    h.row(h.producer(1).actor, Op.APPEND, Phase.OK, key=1, call=3)
    assert "never invoked" in h.build().problems[0]


def test_a_completion_without_identity_ends_the_whole_batch() -> None:
    h = HistoryBuilder()
    p = h.producer(1)
    p.batch(1, 2)
    h.row(p.actor, Op.APPEND, Phase.INFO, call=1)
    history = h.build()
    assert [(a.identity, a.outcome, a.t_done) for a in history.appends] == [(p.key(n), Outcome.INFO, h.now - TICK_NS) for n in (1, 2)]
    assert history.problems == ()


def test_a_call_number_may_come_round_again_once_it_was_answered() -> None:
    h = HistoryBuilder()
    r = h.reader()
    for key in (5, 6):
        h.row(r.actor, Op.READ, Phase.INVOKE, call=9)
        h.row(r.actor, Op.READ, Phase.OK, key=key, call=9)
    history = h.build()
    assert [d.invoked[0] for d in history.deliveries] == [0, 2]
    assert history.problems == ()


@pytest.mark.parametrize("again", [Op.APPEND, Op.SYNC])
def test_a_call_begun_again_before_it_ended_is_a_problem(again: Op) -> None:
    h = HistoryBuilder()
    p = h.producer(1)
    h.row(p.actor, Op.APPEND, Phase.INVOKE, key=p.key(0), call=9)
    h.row(p.actor, again, Phase.INVOKE, key=p.key(0), call=9)
    assert "begun again before it ended" in h.build().problems[0]


def test_a_run_that_ends_elsewhere_than_it_began_is_a_problem() -> None:
    h = HistoryBuilder()
    p = h.producer(1)
    p.call(Op.APPEND_RUN, key=p.key(0), value=1).ok(7)
    assert "never invoked" in h.build().problems[0]


def test_an_answer_of_another_kind_is_a_problem() -> None:
    h = HistoryBuilder()
    p = h.producer(1)
    h.row(p.actor, Op.SYNC, Phase.INVOKE, call=9)
    h.row(p.actor, Op.TRIM, Phase.OK, call=9)
    assert "TRIM completed at its row 1 was never invoked" in h.build().problems[0]


def test_a_read_or_append_is_no_event_but_a_sync_may_be() -> None:
    h = HistoryBuilder()
    p = h.producer(1)
    h.event(Op.SYNC, actor=p.actor)
    assert h.build().problems == ()
    assert [sync.outcome for sync in h.build().syncs] == [Outcome.OK]
    h.event(Op.READ, actor=p.actor)
    assert "READ as an event" in h.build().problems[0]


def test_a_run_of_appends_may_have_reads_between() -> None:
    h = HistoryBuilder()
    p = h.producer(1)
    run = p.call(Op.APPEND_RUN, key=p.key(0), value=1)
    p.call(Op.SEEK).ok()
    run.ok(0)
    assert h.build().problems == ()


def test_a_run_of_reads_may_have_reads_of_another_stream_between() -> None:
    h = HistoryBuilder()
    r = h.reader()
    run = r.call(Op.READ_RUN, key=5, value=1)
    r.read((0, 1), stream=2)
    run.ok(0)
    assert h.build().problems == ()


def test_a_row_that_was_never_finished_is_none() -> None:
    h = HistoryBuilder()
    row = h.row(h.producer(1).actor, Op.APPEND, Phase.UNWRITTEN)
    assert History.of([[row]], []).rows == ()


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
