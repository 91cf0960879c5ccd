"""Edges of arrival, death and progress: the one condition that makes the difference, told from both sides."""

from dataclasses import replace

from fireassay.spec.checks import Declared
from fireassay.spec.history.builder import TICK_NS, HistoryBuilder
from fireassay.spec.history.ops import Flag, Op
from fireassay.spec.history.row import Identity
from fireassay.spec.outcomes import Verdict
from fireassay.spec.tests.stories import COMPETING, DEADLINE, DENSE, NUMBERLESS, STREAM_SYNC, SYNCED, tell, two

INCREASING = Declared(positions="increasing", deadline_ns=DEADLINE)
ALL_SYNC = replace(STREAM_SYNC, sync_scope="all")
WAIT, ANON = Flag.WAIT, Flag.ANON
SEGV = -11


# -- drains


@tell("LOG-09", "clean")
def a_drain_from_further_on_lacks_nothing(h: HistoryBuilder) -> None:
    _, b = two(h)
    h.reader().drain((1, b), start=1)


@tell("LOG-09", "violating", "unseen")
def a_drain_from_further_on_lacks_what_lies_there(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    h.reader().drain((1, p.key(1)), start=1)


@tell("LOG-09", "violating", "unseen", NUMBERLESS)
def without_positions_a_drain_lacks_the_last(h: HistoryBuilder) -> None:
    a, _ = two(h)
    h.reader().drain((0, a))


@tell("LOG-09", "clean", declared=NUMBERLESS)
def without_positions_a_drain_from_further_on_says_nothing(h: HistoryBuilder) -> None:
    a, _ = two(h)
    h.reader().drain((0, a), start=1)


@tell("LOG-09", "clean")
def what_was_appended_during_the_drain_may_miss_it(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0).ok(0)
    h.event(Op.DRAIN_BEGIN, actor=r.actor)
    p.append(1).ok(1)
    r.read((0, p.key(0)))
    h.event(Op.SENTINEL, actor=r.actor)
    r.end(2)
    h.event(Op.DRAIN_END, actor=r.actor)


@tell("LOG-09", "clean", declared=SYNCED)
@tell("LOG-09", "violating", "unseen", DENSE)
def a_drain_need_not_hold_what_was_never_synced(h: HistoryBuilder) -> None:
    a, _ = two(h)
    h.reader().drain((0, a))


@tell("LOG-09", "violating", "unseen", SYNCED)
def a_drain_lacks_what_was_synced(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.sync().ok()
    p.append(1).ok(1)
    p.sync().ok()
    h.reader().drain((1, p.key(1)))


@tell("LOG-09", "clean", declared=COMPETING)
def what_the_group_took_in_another_stream_is_not_this_one(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0, stream=1).ok(0)
    p.append(0, stream=2).ok(0)
    h.reader(group=7).drain((0, p.key(0)), stream=1)


@tell("LOG-09", "violating", "unseen", COMPETING)
def the_same_name_in_another_stream_is_another_record(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0, stream=1).ok(0)
    p.append(0, stream=2).ok(0)
    h.reader(group=7).read((0, p.key(0)), stream=2)
    h.reader(group=7).drain(stream=1)


@tell("LOG-09", "clean", declared=COMPETING)
def a_drain_of_no_named_group_may_be_of_any(h: HistoryBuilder) -> None:
    a, b = two(h)
    h.reader(group=7).read((0, a))
    h.reader().drain((1, b))


@tell("LOG-09", "unknown")
def one_end_is_no_drain_and_no_reader_s_end_either(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r = h.reader()
    h.event(Op.DRAIN_BEGIN, actor=r.actor)
    r.read((0, a))
    h.wait(2 * DEADLINE)
    r.end()
    h.event(Op.SENTINEL, actor=r.actor)
    h.event(Op.DRAIN_END, actor=r.actor)


# -- END


@tell("LOG-09", "clean", declared=Declared(), verdict=Verdict.NOT_RUN)
@tell("LOG-09", "clean", declared=COMPETING, verdict=Verdict.NOT_RUN)
def told_end_where_nothing_is_late_or_all_compete(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r = h.reader()
    r.read((0, a))
    h.wait(2 * DEADLINE)
    r.end()


@tell("LOG-09", "clean", verdict=Verdict.NOT_RUN)
def told_end_by_another_clock(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r = h.reader(domain="b")
    r.read((0, a))
    h.wait(2 * DEADLINE)
    r.end()


@tell("LOG-09", "info", verdict=Verdict.NOT_RUN)
def told_end_after_a_long_calm_while_a_fault_was_at_work(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r = h.reader()
    r.read((0, a))
    h.wait(2 * DEADLINE)
    h.fault()
    r.end()
    h.fault_end()


@tell("LOG-09", "clean")
def told_end_just_after_the_append(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0).ok(0)
    r.read((0, p.key(0)))
    h.wait(2 * DEADLINE)
    p.append(1).ok(1)
    r.end()


@tell("LOG-09", "clean", declared=replace(DENSE, epsilon_ns=DEADLINE // 2))
def told_end_late_but_within_epsilon(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0).ok(0)
    r.read((0, p.key(0)))
    h.wait(2 * DEADLINE)
    p.append(1).ok(1)
    h.wait(DEADLINE + DEADLINE // 4)
    r.end()


@tell("LOG-09", "clean")
def told_end_after_it_was_trimmed(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r = h.reader()
    r.read((0, a))
    h.producer(2).trim(2)
    h.wait(2 * DEADLINE)
    r.end()


@tell("LOG-09", "violating", "unseen")
def told_end_although_it_was_granted_the_start(h: HistoryBuilder) -> None:
    two(h)
    r = h.reader()
    r.open(0)
    h.wait(2 * DEADLINE)
    r.end()


@tell("LOG-09", "clean")
def what_it_went_past_is_a_gap_and_not_unseen(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.run(0, 3, 0)
    p.trim(2)
    r.open(0)
    r.read((2, p.key(2)))
    h.wait(2 * DEADLINE)
    r.end()


@tell("LOG-09", "clean", declared=INCREASING)
def a_nameless_record_came_before_the_end(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0, flags=ANON).ok(0)
    r.open(0)
    r.read((0, 0), flags=ANON)
    h.wait(2 * DEADLINE)
    r.end()


@tell("LOG-09", "violating", "unseen", INCREASING)
def a_nameless_record_came_after_the_end(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0, flags=ANON).ok(0)
    r.open(0)
    h.wait(2 * DEADLINE)
    r.end()
    r.read((0, 0), flags=ANON)


@tell("LOG-09", "clean", declared=NUMBERLESS)
def without_positions_another_producer_s_record_says_nothing(h: HistoryBuilder) -> None:
    p, q, r = h.producer(1), h.producer(2), h.reader()
    p.append(0).ok(0)
    q.append(0).ok(0)
    r.read((0, p.key(0)))
    h.wait(2 * DEADLINE)
    r.end()


@tell("LOG-09", "clean", declared=NUMBERLESS)
@tell("LOG-02", "violating", "gap", NUMBERLESS)
def without_positions_what_it_went_past_is_a_gap(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.run(0, 3, 0)
    r.read((0, p.key(0)), (0, p.key(2)))
    h.wait(2 * DEADLINE)
    r.end()


@tell("LOG-09", "violating", "unseen", NUMBERLESS)
def without_positions_it_came_after_the_end(h: HistoryBuilder) -> None:
    a, b = two(h)
    r = h.reader()
    r.read((0, a))
    h.wait(2 * DEADLINE)
    r.end()
    r.read((0, b))


@tell("LOG-09", "violating", "unseen", NUMBERLESS)
def without_positions_it_came_after_the_end_and_so_did_the_next(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.run(0, 3, 0)
    r.read((0, p.key(0)))
    h.wait(2 * DEADLINE)
    r.end()
    r.read((0, p.key(1)), (0, p.key(2)))


@tell("LOG-09", "violating", "unseen", SYNCED)
def a_second_sync_makes_nothing_visible_again(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    r.open(0)
    p.append(0).ok(0)
    p.sync().ok()
    h.wait(2 * DEADLINE)
    r.end()
    p.sync().ok()


@tell("LOG-09", "clean")
def told_end_rightly_and_later_under_a_fault(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0).ok(0)
    r.read((0, p.key(0)))
    h.wait(2 * DEADLINE)
    r.end()
    p.append(1).ok(1)
    h.wait(2 * DEADLINE)
    h.fault()
    r.end()
    h.fault_end()


@tell("LOG-09", "clean")
def a_killed_reader_s_end_does_not_outlast_it(h: HistoryBuilder) -> None:
    a, b = two(h)
    r = h.reader()
    r.read((0, a), (1, b))
    h.wait(2 * DEADLINE)
    r.end()
    h.kill(r)
    h.reader().drain((0, a), (1, b))


# -- owed


@tell("LOG-10", "clean")
@tell("LOG-09", "violating", "unseen")
def what_was_appended_after_the_death_was_not_lost_by_it(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    p.append(0).ok(0)
    h.kill(p)
    q.append(0).ok(1)
    h.reader().drain((0, p.key(0)))


@tell("LOG-10", "clean")
@tell("LOG-09", "violating", "unseen")
def what_a_drain_before_the_death_lacked_was_not_lost_by_it(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.reader().drain()
    h.kill(p)
    h.reader().drain((0, p.key(0)))


@tell("LOG-10", "unknown")
def a_drain_before_the_death_says_nothing_of_it(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.reader().drain((0, p.key(0)))
    h.kill(p)


@tell("LOG-10", "violating", "lost-write-process")
def the_death_of_another_process_loses_it(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    p.append(0).ok(0)
    q.append(0).ok(1)
    h.kill(q)
    h.reader().drain((1, q.key(0)))


@tell("LOG-10", "clean", verdict=Verdict.NOT_RUN)
@tell("LOG-09", "clean")
def who_leaves_by_choice_does_not_crash(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.exit(p)
    h.reader().drain((0, p.key(0)))


@tell("LOG-10", "violating", "lost-write-process")
def an_exit_that_was_none_by_choice_is_a_crash(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.exit(p, 3)
    h.reader().drain()


@tell("LOG-10", "clean", declared=replace(STREAM_SYNC, survives_process_death="never"), verdict=Verdict.NOT_APPLICABLE)
@tell("LOG-09", "clean", declared=replace(STREAM_SYNC, survives_process_death="never"))
def nothing_is_promised(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.sync().ok()
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "unknown", declared=STREAM_SYNC)
@tell("LOG-10", "violating", "lost-write-process", ALL_SYNC)
def a_sync_of_another_stream_covers_it_where_it_covers_all(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.call(Op.SYNC, stream=2).ok()
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "unknown", declared=ALL_SYNC)
def where_a_sync_covers_all_a_failed_one_spoils_all(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.call(Op.SYNC, stream=2).fail()
    p.call(Op.SYNC, stream=2).ok()
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "unknown", declared=replace(STREAM_SYNC, sync_scope="none"))
def where_there_is_no_sync_none_covers(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.sync().ok()
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "violating", "lost-write-process", STREAM_SYNC)
def a_sync_before_the_failed_one_has_covered_it(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.sync().ok()
    p.sync().fail()
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "unknown", declared=STREAM_SYNC)
def a_sync_of_unknown_outcome_covers_nothing(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.sync().info()
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "unknown", declared=STREAM_SYNC)
def a_sync_after_the_death_came_too_late(h: HistoryBuilder) -> None:
    p = h.producer(1)
    q = h.producer(2)
    p.append(0).ok(0)
    h.kill(p)
    q.sync().ok()
    h.reader().drain()


@tell("LOG-10", "unknown", declared=replace(STREAM_SYNC, sync_scope="handle", sync_covers_other_processes=True))
def another_actor_s_handle_is_another_handle(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.producer(2).sync().ok()
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "unknown", declared=Declared(tail_records=1))
def the_last_before_the_death_is_the_tail_whatever_came_later(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    p.append(0).ok(0)
    h.kill(p)
    q.append(0).ok(1)
    h.reader().drain((1, q.key(0)))


# -- progress


@tell("LOG-23", "violating", "stuck-reader")
def a_reader_s_close_hangs(h: HistoryBuilder) -> None:
    h.reader().call(Op.CLOSE)
    h.awake(2 * DEADLINE)


@tell("LOG-23", "violating", "stuck-writer")
def a_writer_s_close_hangs(h: HistoryBuilder) -> None:
    h.producer(1).call(Op.CLOSE)
    h.awake(2 * DEADLINE)


@tell("LOG-23", "violating", "stuck-writer")
def a_sync_hangs(h: HistoryBuilder) -> None:
    h.producer(1).sync()
    h.awake(2 * DEADLINE)


@tell("LOG-23", "clean")
def an_open_run_is_no_pending_call(h: HistoryBuilder) -> None:
    h.producer(1).run(0, 2, 0, ended=False)
    h.awake(2 * DEADLINE)


@tell("LOG-23", "clean")
def a_seek_that_may_wait_waits(h: HistoryBuilder) -> None:
    two(h)
    h.reader().call(Op.SEEK, flags=WAIT)
    h.awake(2 * DEADLINE)


@tell("LOG-23", "clean")
def a_read_waits_for_what_was_trimmed(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.run(0, 2, 0)
    p.trim(2)
    r.open(0)
    r.call(Op.READ, flags=WAIT)
    h.awake(2 * DEADLINE)


@tell("LOG-23", "clean")
def a_read_waits_for_what_it_may_have_taken_before(h: HistoryBuilder) -> None:
    two(h)
    r = h.reader()
    r.open(0)
    r.read_unknown()
    r.call(Op.READ, flags=WAIT)
    h.awake(2 * DEADLINE)


@tell("LOG-23", "clean")
def a_read_waits_after_a_seek_to_the_end(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r = h.reader()
    r.read((0, a))
    r.seek(2)
    r.call(Op.READ, flags=WAIT)
    h.awake(2 * DEADLINE)


@tell("LOG-23", "clean")
def a_read_waits_for_what_comes_in_another_stream(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0).ok(0)
    r.read((0, p.key(0)))
    r.call(Op.READ, flags=WAIT)
    p.append(1, stream=2).ok(0)
    h.awake(2 * DEADLINE)


@tell("LOG-23", "violating", "stuck-reader")
def a_read_that_nobody_knows_the_place_of_is_not_woken_either(h: HistoryBuilder) -> None:
    h.reader().call(Op.READ, flags=WAIT)
    two(h)
    h.awake(2 * DEADLINE)


@tell("LOG-23", "unknown")
def several_beats_for_the_same_time_are_one(h: HistoryBuilder) -> None:
    h.producer(1).append(0)
    h.wait(2 * DEADLINE)
    for _ in range(4):
        h.event(Op.HEARTBEAT, value=DEADLINE // 2)


@tell("LOG-23", "unknown")
def beats_after_the_wait_say_nothing_of_it(h: HistoryBuilder) -> None:
    append = h.producer(1).append(0)
    h.wait(2 * DEADLINE)
    append.ok(0)
    h.awake(2 * DEADLINE)


@tell("LOG-23", "unknown")
def an_append_takes_too_long_and_there_are_two_clocks(h: HistoryBuilder) -> None:
    append = h.producer(1, domain="b").append(0)
    h.awake(2 * DEADLINE)
    append.ok(0)


@tell("LOG-23", "clean", declared=replace(DENSE, epsilon_ns=2 * DEADLINE))
def an_append_takes_long_but_within_epsilon(h: HistoryBuilder) -> None:
    append = h.producer(1).append(0)
    h.awake(2 * DEADLINE)
    append.ok(0)


@tell("LOG-23", "unknown")
def the_log_itself_may_be_down(h: HistoryBuilder) -> None:
    server, p = h.producer(9), h.producer(1)
    h.kill(server)
    p.append(0)
    h.awake(2 * DEADLINE)


@tell("LOG-23", "violating", "stuck-writer")
def the_log_is_up_again_and_the_append_still_hangs(h: HistoryBuilder) -> None:
    server, p = h.producer(9), h.producer(1)
    p.append(0)
    h.kill(server)
    h.recovered(0)
    h.awake(2 * DEADLINE)


@tell("LOG-23", "violating", "stuck-writer")
def a_recovery_long_ago_is_no_excuse(h: HistoryBuilder) -> None:
    p = h.producer(1)
    h.event(Op.RECOVERY_BEGIN)
    h.recovered(0)
    p.append(0)
    h.awake(2 * DEADLINE)
    h.event(Op.RECOVERY_BEGIN)
    h.recovered(0)


@tell("LOG-23", "clean")
def an_append_waits_for_a_recovery(h: HistoryBuilder) -> None:
    append = h.producer(1).append(0)
    h.event(Op.RECOVERY_BEGIN)
    h.awake(2 * DEADLINE)
    h.recovered(0)
    append.ok(0)


@tell("LOG-23", "clean")
def one_of_two_overlapping_faults_is_still_at_work(h: HistoryBuilder) -> None:
    append = h.producer(1).append(0)
    h.fault(fault=1)
    h.fault(fault=2)
    h.fault_end(2)
    h.awake(2 * DEADLINE)
    h.fault_end(1)
    append.ok(0)


@tell("LOG-23", "violating", "stuck-writer")
def everything_was_healed_and_the_append_still_hangs(h: HistoryBuilder) -> None:
    p = h.producer(1)
    h.fault()
    h.event(Op.HEAL)
    p.append(0)
    h.awake(2 * DEADLINE)


@tell("LOG-23", "violating", "stuck-reader")
def what_a_drain_reads_elsewhere_is_not_its_progress(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0, stream=2).ok(0)
    r.drain(complete=False, stream=1)
    h.awake(2 * DEADLINE)
    r.read((0, p.key(0)), stream=2)


@tell("LOG-23", "clean")
def a_drain_that_was_begun_again_does_not_hang(h: HistoryBuilder) -> None:
    a, b = two(h)
    r = h.reader()
    r.drain((0, a), complete=False)
    h.awake(2 * DEADLINE)
    r.drain((0, a), (1, b))


@tell("LOG-23", "clean", verdict=Verdict.PASS)
def an_empty_drain_that_was_begun_again_does_not_hang(h: HistoryBuilder) -> None:
    r = h.reader()
    r.drain(complete=False)
    h.awake(2 * DEADLINE)
    r.drain()


@tell("LOG-23", "clean")
def a_drain_whose_sentinel_was_late_has_ended(h: HistoryBuilder) -> None:
    a, b = two(h)
    r = h.reader()
    r.drain((0, a), (1, b), complete=False)
    h.awake(2 * DEADLINE)
    h.event(Op.SENTINEL, actor=r.actor)
    r.end(2)
    h.event(Op.DRAIN_END, actor=r.actor)


@tell("LOG-23", "violating", "stuck-writer")
def the_harness_was_awake_in_one_calm_stretch_of_two(h: HistoryBuilder) -> None:
    append = h.producer(1).append(0)
    h.wait(2 * DEADLINE)
    h.fault()
    h.fault_end()
    h.awake(2 * DEADLINE)
    append.ok(0)


@tell("LOG-23", "violating", "stuck-writer")
def a_dead_caller_leaves_a_log_that_goes_on(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    p.append(0).ok(0)
    h.kill(p)
    q.append(0)
    h.awake(2 * DEADLINE)


@tell("LOG-23", "violating", "stuck-writer")
def the_first_recovery_after_the_death_ends_it(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    p.append(0).ok(0)
    h.kill(p)
    h.recovered(1)
    q.append(0)
    h.awake(2 * DEADLINE)
    h.recovered(1)


@tell("LOG-23", "violating", "stuck-reader")
def of_two_drains_the_last_hangs(h: HistoryBuilder) -> None:
    a, b = two(h)
    r = h.reader()
    r.drain((0, a), (1, b))
    r.drain(complete=False)
    h.awake(2 * DEADLINE)


@tell("LOG-23", "clean")
def a_drain_was_killed(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r = h.reader()
    r.drain((0, a), complete=False)
    h.kill(r)
    h.awake(2 * DEADLINE)


# -- deaths


@tell("LOG-23", "unknown")
def a_process_gave_up_with_a_code(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.exit(p, 3)


@tell("LOG-23", "violating", "unprovoked-death")
def a_general_fault_was_over_before_it_died(h: HistoryBuilder) -> None:
    p = h.producer(1)
    h.fault()
    h.fault_end()
    p.append(0).ok(0)
    h.exit(p, SEGV)


@tell("LOG-23", "violating", "unprovoked-death")
def a_general_fault_came_after_it_died(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.exit(p, SEGV)
    h.fault()
    h.fault_end()


@tell("LOG-23", "violating", "unprovoked-death")
def the_fault_was_aimed_at_another(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    p.append(0).ok(0)
    q.append(0).ok(1)
    h.fault(q)
    h.exit(p, SEGV)
    h.fault_end()


@tell("LOG-23", "violating", "unprovoked-death")
def of_two_faults_the_one_aimed_at_it_was_outlived(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    q.append(0).ok(0)
    h.fault(p, 1)
    h.fault(q, 2)
    h.fault_end(1)
    p.append(0).ok(1)
    h.exit(p, SEGV)
    h.fault_end(2)


@tell("LOG-23", "info", verdict=Verdict.PASS)
def a_fault_whose_end_comes_before_its_begin_is_another(h: HistoryBuilder) -> None:
    p = h.producer(1)
    h.fault_end(1)
    p.append(0).ok(0)
    h.fault(p, 1)
    p.append(1).ok(1)
    h.exit(p, SEGV)


@tell("LOG-10", "violating", "lost-write-process", replace(STREAM_SYNC, epsilon_ns=5 * TICK_NS))
def what_a_victim_saw_end_it_saw_before_it_died(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.sync().ok()
    h.kill(p)
    h.wait(10 * TICK_NS)
    h.reader().drain()


@tell("LOG-04", "violating", "phantom")
def a_sentinel_of_another_stream_is_none(h: HistoryBuilder) -> None:
    r, key = h.reader(), Identity(0xFFFF, 0, 0).key
    h.event(Op.SENTINEL, actor=r.actor, key=key, stream=2)
    r.read((0, key))


@tell("LOG-03", "clean")
@tell("LOG-04", "clean")
@tell("LOG-09", "clean")
def every_drain_has_a_sentinel_and_they_may_look_alike(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    r, key = h.reader(), Identity(0xFFFF, 0, 0).key
    r.drain((0, p.key(0)), (1, key))
    r.drain((0, p.key(0)), (1, key), (2, key))


@tell("LOG-09", "unknown")
def to_read_an_older_sentinel_is_not_to_meet_one_s_own(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    r, key = h.reader(), Identity(0xFFFF, 0, 0).key
    r.drain((0, p.key(0)), (1, key))
    h.event(Op.DRAIN_BEGIN, actor=r.actor)
    r.read((0, p.key(0)), (1, key))
    r.end(2)
    h.event(Op.DRAIN_END, actor=r.actor)


@tell("LOG-04", "clean")
def the_sentinel_is_nobody_s_record_and_no_phantom(h: HistoryBuilder) -> None:
    a, b = two(h)
    r, key = h.reader(), Identity(0xFFFF, 0, 0).key
    h.event(Op.DRAIN_BEGIN, actor=r.actor)
    r.read((0, a), (1, b), (2, key))
    h.event(Op.SENTINEL, actor=r.actor, key=key)
    r.end(2)
    h.event(Op.DRAIN_END, actor=r.actor)
