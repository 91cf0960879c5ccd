"""Histories about deaths: what is owed, what may be cut, numbers used again, and what a drain can show."""

from dataclasses import replace

from fireassay.spec.checks import Declared
from fireassay.spec.history.builder import TICK_NS, HistoryBuilder
from fireassay.spec.history.model import Cause
from fireassay.spec.history.ops import Flag, Op, Phase
from fireassay.spec.outcomes import Verdict
from fireassay.spec.tests.stories import COMPETING, DEADLINE, STREAM_SYNC, tell, two

HANDLE_SYNC = replace(STREAM_SYNC, sync_scope="handle")
FOR_ALL = replace(STREAM_SYNC, sync_covers_other_processes=True)
TAIL = 40 * TICK_NS


# -- deaths hide nothing


@tell("LOG-02", "violating", "gap")
@tell("LOG-08", "violating", "skip")
def a_death_in_another_stream_hides_no_gap(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    p.run(0, 3, 0)
    q.run(0, 1, 0, ended=False, stream=2)
    h.kill(q)
    h.recovered(1, stream=2)
    h.reader().read((0, p.key(0)), (2, p.key(2)))


@tell("LOG-02", "violating", "gap")
@tell("LOG-08", "violating", "skip")
def a_death_of_the_writer_hides_no_gap(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    h.kill(p)
    h.reader().read((0, p.key(0)), (2, p.key(2)))


@tell("LOG-02", "violating", "gap", STREAM_SYNC)
def lost_only_after_it_was_passed_over(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    h.reader().read((0, p.key(0)), (2, p.key(2)))
    h.kill(p)
    h.recovered(0)


@tell("LOG-02", "violating", "gap", STREAM_SYNC)
def a_cursor_beyond_the_recovered_end_stayed_there(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.run(0, 3, 0)
    r.read_run(0, p.key(0), 3)
    h.kill(p)
    h.recovered(1)
    q = h.producer(1, incarnation=1)
    q.run(0, 3, 1)
    r.read((3, q.key(2)))


@tell("LOG-02", "clean", declared=STREAM_SYNC)
@tell("LOG-03", "clean", declared=STREAM_SYNC)
@tell("LOG-07", "clean", declared=STREAM_SYNC)
@tell("LOG-08", "clean", declared=STREAM_SYNC)
def a_cursor_beyond_the_recovered_end_went_back(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.run(0, 3, 0)
    r.read_run(0, p.key(0), 3)
    h.kill(p)
    h.recovered(1)
    q = h.producer(1, incarnation=1)
    q.run(0, 3, 1)
    r.report(1, 3, Cause.RESET)
    r.read((1, q.key(0)), (2, q.key(1)), (3, q.key(2)))


@tell("LOG-02", "unknown", declared=COMPETING)
def a_dead_member_may_hold_the_middle(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    r, s = h.reader(group=7), h.reader(group=7)
    s.read((0, p.key(0)), (2, p.key(2)))
    r.end()
    h.kill(r)
    s.end()


# -- once


@tell("LOG-03", "violating", "duplicate-stored", STREAM_SYNC)
def a_recovery_kept_it_and_wrote_it_again(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.reader().read((0, p.key(0)))
    h.kill(p)
    h.recovered(1)
    h.reader().read((1, p.key(0)))


@tell("LOG-03", "violating", "duplicate-stored")
def an_owed_record_stands_twice_after_a_recovery_nobody_recorded(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.kill(p)
    h.reader().read((0, p.key(0)))
    h.reader().read((1, p.key(0)))


@tell("LOG-03", "violating", "duplicate-delivered", STREAM_SYNC)
def a_recovery_moved_it_and_the_reader_got_it_again(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0).ok(0)
    r.read((0, p.key(0)))
    h.kill(p)
    r.read((1, p.key(0)))


@tell("LOG-03", "violating", "duplicate-delivered")
@tell("LOG-08", "violating", "nonmonotonic-read")
@tell("LOG-03", "clean", declared=Declared(redelivery=frozenset({"restart"})))
@tell("LOG-08", "clean", declared=Declared(redelivery=frozenset({"restart"})))
def after_a_restart_of_the_log_it_comes_again(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0).ok(0)
    r.read((0, p.key(0)))
    h.kill(p)
    h.recovered(1)
    r.read((0, p.key(0)))


# -- content and positions


@tell("LOG-05", "violating", "corrupt")
@tell("LOG-04", "clean")
def rubbish_where_a_recovery_kept_a_record(h: HistoryBuilder) -> None:
    two(h)
    p = h.producer(2)
    p.append(0).ok(2)
    h.kill(p)
    h.recovered(3)
    h.reader().read((1, 0), flags=Flag.BAD_DECODE)


@tell("LOG-07", "violating", "inconsistent-position")
def the_position_of_an_owed_record_is_given_to_another(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.kill(p)
    q = h.producer(1, incarnation=1)
    q.append(0).ok(0)
    h.reader().read((0, q.key(0)))


@tell("LOG-07", "unknown", declared=STREAM_SYNC)
def numbers_are_used_again_and_no_recovery_was_recorded(h: HistoryBuilder) -> None:
    the_position_of_an_owed_record_is_given_to_another(h)


@tell("LOG-07", "violating", "inconsistent-position", STREAM_SYNC)
def a_recovery_kept_the_position_and_another_record_is_there(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.kill(p)
    h.recovered(1)
    q = h.producer(1, incarnation=1)
    q.append(0).ok(1)
    h.reader().read((0, q.key(0)))


@tell("LOG-07", "violating", "inconsistent-position", STREAM_SYNC)
def a_recovery_kept_the_record_and_it_is_elsewhere(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.kill(p)
    h.recovered(4)
    h.reader().read((3, p.key(0)))


@tell("LOG-07", "clean", declared=STREAM_SYNC)
def what_was_read_unsynced_may_be_cut(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.reader().read((0, p.key(0)))
    h.kill(p)
    h.recovered(0)
    h.reader().drain()


@tell("LOG-08", "violating", "nonmonotonic-append", STREAM_SYNC)
def the_next_incarnation_writes_below_what_was_kept(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(5)
    h.kill(p)
    h.recovered(6)
    q = h.producer(1, incarnation=1)
    q.append(0).ok(3)


@tell("LOG-08", "violating", "nonmonotonic-append")
def the_next_incarnation_writes_below_what_is_owed(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(5)
    h.kill(p)
    q = h.producer(1, incarnation=1)
    q.append(0).ok(3)


@tell("LOG-08", "violating", "nonmonotonic-read", STREAM_SYNC)
def a_chain_goes_back_over_a_recovery_that_cut_nothing(h: HistoryBuilder) -> None:
    a, b = two(h)
    p, r = h.producer(2), h.reader()
    r.read((0, a), (1, b))
    p.append(0).ok(2)
    h.kill(p)
    h.recovered(3)
    r.read((0, a))


# -- everything arrives


@tell("LOG-09", "violating", "unseen", STREAM_SYNC)
def a_cursor_beyond_the_recovered_end_sees_nothing_new(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.run(0, 3, 0)
    r.read_run(0, p.key(0), 3)
    h.kill(p)
    h.recovered(1)
    q = h.producer(1, incarnation=1)
    q.append(0).ok(1)
    h.wait(2 * DEADLINE)
    r.end()


# -- seen dead by another clock


@tell("LOG-06", "clean", declared=Declared(epsilon_ns=4 * TICK_NS))
@tell("LOG-06", "unknown")
def a_failed_append_was_recorded_just_after_its_process_was_seen_dead(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    append = p.append(1)
    h.exit(p)
    append.fail()
    h.reader().read((0, p.key(0)))


# -- owed


@tell("LOG-10", "unknown")
def a_stream_that_was_not_drained_may_have_lost_it(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0, stream=1).ok(0)
    p.append(1, stream=2).ok(0)
    h.kill(p)
    h.reader().drain((0, p.key(0)))


@tell("LOG-10", "info", verdict=Verdict.NOT_RUN)
@tell("LOG-09", "info")
def a_fault_of_more_than_a_process_may_take_everything(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.fault()
    h.event(Op.FAULT_FIRED, seq=1, value=1)
    h.reader().drain()


@tell("LOG-10", "violating", "lost-write-process", STREAM_SYNC)
def a_failed_sync_of_another_stream_spoils_nothing(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.call(Op.SYNC, stream=2).fail()
    p.sync().ok()
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "violating", "lost-write-process", STREAM_SYNC)
def what_was_written_after_a_failed_sync_is_covered_by_the_next(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.sync().fail()
    p.append(0).ok(0)
    p.sync().ok()
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "unknown", declared=FOR_ALL)
def a_sync_that_began_before_the_append_ended_covers_nothing(h: HistoryBuilder) -> None:
    p = h.producer(1)
    append = p.append(0)
    sync = h.producer(2).sync()
    append.ok(0)
    sync.ok()
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "unknown", declared=STREAM_SYNC)
@tell("LOG-10", "violating", "lost-write-process", FOR_ALL)
def a_sync_of_another_process_covers_it_where_that_is_declared(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    p.append(0).ok(0)
    q.sync().ok()
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "violating", "lost-write-process", STREAM_SYNC)
def a_sync_of_another_thread_of_the_process_covers_it(h: HistoryBuilder) -> None:
    p = h.producer(1)
    q = h.producer(2, beside=p)
    p.append(0).ok(0)
    q.sync().ok()
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "unknown", declared=HANDLE_SYNC)
@tell("LOG-10", "violating", "lost-write-process", STREAM_SYNC)
def a_sync_through_another_handle(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.call(Op.CLOSE).ok()
    p.open()
    p.sync().ok()
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "violating", "lost-write-process", HANDLE_SYNC)
def a_sync_through_the_same_handle(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.open()
    p.append(0).ok(0)
    p.sync().ok()
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "unknown", declared=replace(STREAM_SYNC, tail_records=2))
@tell("LOG-10", "violating", "lost-write-process", replace(STREAM_SYNC, tail_records=1))
def of_two_owed_records_both_are_lost(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.append(1).ok(1)
    p.sync().ok()
    p.append(2).ok(2)
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "violating", "lost-write-process", Declared(tail_ns=TAIL))
def older_than_the_tail_and_the_stall(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.awake(4 * TAIL)
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "unknown", declared=Declared(tail_ns=TAIL))
def older_than_the_tail_but_the_harness_stood_still(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.awake(4 * TAIL, beats=1)
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "unknown", declared=Declared(tail_ns=TAIL))
def of_several_stalls_the_longest_counts(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.awake(4 * TAIL, beats=1)
    h.awake(TAIL // 2)
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "unknown", declared=Declared(tail_ns=TAIL))
def older_than_the_tail_and_nobody_measured_the_stall(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.wait(4 * TAIL)
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "violating", "lost-write-process")
def a_loss_that_is_reported_is_a_loss(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0).ok(0)
    h.kill(p)
    r.report(0, 1, Cause.DAMAGE)
    r.drain()


@tell("LOG-10", "unknown")
def a_reader_that_was_dropped_shows_no_loss(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0).ok(0)
    h.kill(p)
    r.report(0, 1, Cause.DROP)
    r.drain()


@tell("LOG-09", "unknown")
@tell("LOG-10", "unknown")
def a_drain_with_a_read_of_unknown_outcome_says_nothing(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0).ok(0)
    h.kill(p)
    h.event(Op.DRAIN_BEGIN, actor=r.actor)
    r.read_unknown()
    h.event(Op.SENTINEL, actor=r.actor)
    r.end(2)
    h.event(Op.DRAIN_END, actor=r.actor)


@tell("LOG-09", "unknown")
@tell("LOG-10", "unknown")
def a_drain_that_was_given_up_says_nothing(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0).ok(0)
    h.kill(p)
    h.event(Op.DRAIN_BEGIN, actor=r.actor)
    h.event(Op.SENTINEL, actor=r.actor)
    r.end(2)
    h.row(r.actor, Op.DRAIN_END, Phase.INFO)
