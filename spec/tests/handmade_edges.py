"""Edges of order, gaps, once, content and positions: the one condition that makes the difference, told from both sides."""

from dataclasses import replace

from fireassay.spec.history.builder import TICK_NS, HistoryBuilder
from fireassay.spec.history.model import Cause
from fireassay.spec.history.ops import Flag, Op, Phase
from fireassay.spec.history.row import Identity
from fireassay.spec.outcomes import Verdict
from fireassay.spec.tests.stories import COMPETING, DENSE, NUMBERLESS, STREAM_SYNC, SYNCED, tell, two

BOTH_KINDS = replace(COMPETING, independent_too=True)
RESTARTS = replace(COMPETING, redelivery=frozenset({"restart"}))
REBALANCES = replace(COMPETING, redelivery=frozenset({"rebalance"}))
NOBODY = Identity(9, 0, 9).key
INCREASING = replace(DENSE, positions="increasing")
SHARDS = replace(DENSE, readers="exclusive-shards")
BAD, ANON = Flag.BAD_DECODE, Flag.ANON


# -- order


@tell("LOG-01", "clean", declared=BOTH_KINDS)
@tell("LOG-08", "clean", declared=BOTH_KINDS)
def beside_an_independent_reader_a_group_has_no_order(h: HistoryBuilder) -> None:
    a, b = two(h)
    h.reader().read((0, a), (1, b))
    h.reader(group=7).read((1, b), (0, a))


@tell("LOG-01", "clean")
@tell("LOG-04", "violating", "phantom")
@tell("LOG-05", "violating", "corrupt")
@tell("LOG-06", "clean", verdict=Verdict.NOT_RUN)
@tell("LOG-02", "violating", "gap")
@tell("LOG-07", "violating", "inconsistent-position")
@tell("LOG-08", "clean")
def what_is_damaged_or_nobody_s_has_no_order(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 4, 0)
    r = h.reader()
    r.read((0, p.key(3)), flags=BAD)
    r.read((1, p.key(1)), (2, NOBODY), (3, p.key(3)))


@tell("LOG-01", "clean")
def streams_have_orders_of_their_own(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    for stream in (1, 2):
        one, other = p.append(0, stream=stream), q.append(0, stream=stream)
        one.ok(2 - stream)
        other.ok(stream - 1)
    h.reader().read((0, q.key(0)), (1, p.key(0)), stream=1)
    h.reader().read((0, p.key(0)), (1, q.key(0)), stream=2)


@tell("LOG-01", "violating", "reorder")
def the_earliest_of_those_read_later_is_asked(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(1)
    one, other = p.batch(1, 2)
    one.ok(0)
    other.ok(2)
    h.reader().read((0, p.key(1)), (1, p.key(0)), (2, p.key(2)))


@tell("LOG-01", "clean")
def readers_of_different_parts_agree(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    h.reader().read((1, p.key(1)), (2, p.key(2)))
    h.reader().read((0, p.key(0)), (1, p.key(1)), (2, p.key(2)))


@tell("LOG-01", "clean", verdict=Verdict.NOT_RUN)
@tell("LOG-08", "clean", verdict=Verdict.NOT_RUN)
def one_record_has_no_order(h: HistoryBuilder) -> None:
    a, _ = two(h)
    h.reader().read((0, a))
    h.reader().read((0, a))


@tell("LOG-01", "clean")
@tell("LOG-04", "clean")
def two_clocks_say_nothing_of_each_other(h: HistoryBuilder) -> None:
    p, q = h.producer(1, domain="a"), h.producer(2, domain="b")
    p.append(0).ok(1)
    r = h.reader(domain="c")
    r.read((0, q.key(0)), (1, p.key(0)))
    q.append(0).ok(0)


@tell("LOG-01", "violating", "reorder", replace(DENSE, epsilon_ns=100 * TICK_NS))
def an_exit_and_a_spawn_say_more_than_the_clock(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    p.append(0).ok(0)
    h.exit(p)
    h.event(Op.SPAWN, seq=h.process(q.actor))
    q.append(0).ok(1)
    h.reader().read((0, q.key(0)), (1, p.key(0)))


@tell("LOG-01", "clean", declared=replace(DENSE, epsilon_ns=100 * TICK_NS))
def a_spawn_before_the_exit_says_nothing(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    h.event(Op.SPAWN, seq=h.process(q.actor))
    p.append(0).ok(1)
    h.exit(p)
    q.append(0).ok(0)
    h.reader().read((0, q.key(0)), (1, p.key(0)))


# -- gaps


@tell("LOG-02", "clean", declared=COMPETING)
def a_reader_of_no_named_group_may_be_of_any(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    r, s = h.reader(group=7), h.reader()
    r.read((1, p.key(1)))
    s.read((0, p.key(0)), (2, p.key(2)))
    r.end()
    s.end()


@tell("LOG-02", "unknown", declared=COMPETING)
def a_read_of_unknown_outcome_in_a_group_may_have_taken_it(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    r, s = h.reader(group=7), h.reader(group=7)
    r.read_unknown()
    s.read((0, p.key(0)), (2, p.key(2)))
    r.end()
    s.end()


@tell("LOG-02", "unknown", declared=COMPETING)
def a_member_got_something_after_its_end_and_may_get_more(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    r = h.reader(group=7)
    r.read((0, p.key(0)))
    r.end()
    r.read((2, p.key(2)))


@tell("LOG-02", "violating", "silent-late-start", COMPETING)
def a_group_was_granted_the_start_and_nobody_got_it(h: HistoryBuilder) -> None:
    _, b = two(h)
    r, s = h.reader(group=7), h.reader(group=7)
    s.open(1)
    r.open(0)
    s.read((1, b))
    r.end()
    s.end()


@tell("LOG-02", "clean", declared=COMPETING)
def a_group_has_no_order_in_which_it_passes_anything(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 4, 0)
    r = h.reader(group=7)
    r.read((0, p.key(0)), (2, p.key(2)))
    p.trim(2)
    r.read((3, p.key(3)))
    r.end()


@tell("LOG-02", "violating", "gap", NUMBERLESS)
def without_positions_a_drain_begins_at_the_beginning(h: HistoryBuilder) -> None:
    _, b = two(h)
    h.reader().drain((0, b))


@tell("LOG-02", "clean", declared=NUMBERLESS)
def without_positions_a_reader_may_begin_anywhere(h: HistoryBuilder) -> None:
    _, b = two(h)
    r = h.reader()
    r.open(0)
    r.read((0, b))


@tell("LOG-02", "clean", declared=NUMBERLESS)
def without_positions_a_trim_may_have_taken_anything(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    p.trim(1)
    h.reader().read((0, p.key(0)), (0, p.key(2)))


@tell("LOG-02", "clean", declared=NUMBERLESS)
def without_positions_other_streams_and_doubtful_appends_are_not_missed(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    p.append(0).ok(0)
    q.append(0).ok(0)
    p.append(1, stream=2).ok(0)
    p.append(2).info()
    p.append(3).fail()
    p.append(4).ok(0)
    h.reader().read((0, p.key(0)), (0, p.key(4)))


@tell("LOG-02", "clean", declared=NUMBERLESS)
def without_positions_what_comes_last_is_not_passed(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    h.reader().read((0, p.key(0)), (0, p.key(1)))


@tell("LOG-02", "clean")
def a_failed_trim_took_nothing_and_nothing_is_missing(h: HistoryBuilder) -> None:
    a, b = two(h)
    h.producer(2).call(Op.TRIM).fail()
    h.reader().read((0, a), (1, b))


@tell("LOG-02", "violating", "gap")
@tell("LOG-08", "violating", "skip")
def a_failed_trim_excuses_nothing(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    p.call(Op.TRIM).fail()
    h.reader().read((0, p.key(0)), (2, p.key(2)))


@tell("LOG-02", "violating", "gap")
@tell("LOG-08", "violating", "skip")
def a_trim_of_another_stream_or_of_less_excuses_nothing(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    p.trim(2, stream=2)
    p.trim(1)
    h.reader().read((0, p.key(0)), (2, p.key(2)))


@tell("LOG-02", "clean")
@tell("LOG-08", "clean")
def of_several_trims_the_furthest_counts(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    p.trim(2)
    p.trim(0)
    h.reader().read((0, p.key(0)), (2, p.key(2)))


@tell("LOG-02", "violating", "gap")
@tell("LOG-08", "violating", "skip")
def a_report_about_another_stream_excuses_nothing(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    r = h.reader()
    h.event(Op.REPORT, actor=r.actor, stream=2, seq=1, key=Cause.GAP, value=2)
    r.read((0, p.key(0)), (2, p.key(2)))


@tell("LOG-02", "violating", "gap", COMPETING)
def a_report_to_another_group_excuses_nothing(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    r, s = h.reader(group=7), h.reader(group=8)
    r.read((0, p.key(0)), (2, p.key(2)))
    r.end()
    s.report(1, 2)
    s.end()


@tell("LOG-02", "clean")
@tell("LOG-08", "clean")
def a_recovery_reports_to_everybody(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    h.event(Op.REPORT, seq=1, key=Cause.DAMAGE, value=2)
    h.reader().read((0, p.key(0)), (2, p.key(2)))


@tell("LOG-02", "violating", "gap")
@tell("LOG-08", "violating", "skip")
def a_report_without_a_cause_excuses_nothing(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    r = h.reader()
    h.event(Op.REPORT, actor=r.actor, seq=1, value=2)
    r.read((0, p.key(0)), (2, p.key(2)))


@tell("LOG-02", "violating", "gap", STREAM_SYNC)
def a_report_in_doubtful_times_is_a_blanket_over_what_comes_after_it(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 4, 0)
    p.sync().ok()
    h.kill(p)
    r = h.reader()
    r.read((0, p.key(0)))
    r.report(1, 4)
    r.read((3, p.key(3)))


@tell("LOG-02", "clean", declared=STREAM_SYNC)
@tell("LOG-08", "clean", declared=STREAM_SYNC)
def numbers_of_another_epoch_make_no_blanket(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.run(0, 2, 0)
    r.read((0, p.key(0)), (1, p.key(1)))
    h.kill(p)
    h.recovered(0)
    q = h.producer(1, incarnation=1)
    q.run(0, 3, 0)
    r.report(0, 2)
    r.read((2, q.key(2)))


@tell("LOG-02", "clean", declared=STREAM_SYNC)
def a_record_of_a_later_epoch_was_not_passed_by_an_earlier_read(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    h.reader().read((0, p.key(0)), (1, p.key(1)), (2, p.key(2)))
    h.kill(p)
    h.recovered(1)
    h.producer(1, incarnation=1).append(0).ok(1)


@tell("LOG-02", "violating", "gap")
@tell("LOG-08", "violating", "skip")
def passed_over_while_it_was_being_appended(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    p.append(0).ok(0)
    slow = p.append(1)
    q.append(0).ok(2)
    h.reader().read((0, p.key(0)), (2, q.key(0)))
    slow.ok(1)


@tell("LOG-02", "violating", "gap")
@tell("LOG-08", "violating", "skip")
def a_trim_that_took_nothing_excuses_nothing(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    p.trim(0)
    h.reader().read((0, p.key(0)), (2, p.key(2)))


@tell("LOG-02", "violating", "gap")
@tell("LOG-08", "violating", "skip")
def an_unfinished_trim_that_says_where_to_went_no_further(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    p.call(Op.TRIM, seq=1)
    h.reader().read((0, p.key(0)), (2, p.key(2)))


@tell("LOG-02", "violating", "silent-late-start", INCREASING)
@tell("LOG-02", "violating", "gap", NUMBERLESS)
def a_nameless_record_is_not_the_one_whose_name_is_zero(h: HistoryBuilder) -> None:
    p, r = h.producer(0), h.reader()
    p.append(0).ok(0)
    p.append(1, flags=ANON).ok(64)
    p.append(2).ok(128)
    h.event(Op.DRAIN_BEGIN, actor=r.actor)
    r.read((64, 0), flags=ANON)
    r.read((128, p.key(2)))
    h.event(Op.DRAIN_END, actor=r.actor)


@tell("LOG-02", "clean", declared=NUMBERLESS)
@tell("LOG-02", "clean")
@tell("LOG-05", "violating", "corrupt", NUMBERLESS)
@tell("LOG-05", "violating", "corrupt")
def what_came_damaged_came(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.run(0, 3, 0)
    r.read((0, p.key(0)))
    r.read((1, p.key(1)), flags=BAD)
    r.read((2, p.key(2)))


@tell("LOG-02", "clean")
@tell("LOG-03", "clean")
@tell("LOG-08", "clean")
def a_seek_of_unknown_outcome_may_have_gone_anywhere(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.run(0, 4, 0)
    r.read((0, p.key(0)), (1, p.key(1)))
    r.call(Op.SEEK).info()
    r.read((3, p.key(3)))
    r.call(Op.SEEK)
    r.read((1, p.key(1)))


@tell("LOG-02", "violating", "gap")
@tell("LOG-08", "violating", "skip")
def a_seek_that_failed_went_nowhere(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.run(0, 3, 0)
    r.read((0, p.key(0)))
    r.call(Op.SEEK).fail()
    r.read((2, p.key(2)))


@tell("LOG-02", "clean", declared=SHARDS)
@tell("LOG-03", "clean", declared=SHARDS)
@tell("LOG-08", "clean", declared=SHARDS)
def a_shard_is_given_back_and_taken_again(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader(group=7)
    p.run(0, 3, 0, stream=2)
    h.event(Op.ASSIGN, actor=r.actor, seq=2)
    r.read((0, p.key(0)), (1, p.key(1)), stream=2)
    h.event(Op.REVOKE, actor=r.actor, seq=2)
    h.event(Op.ASSIGN, actor=r.actor, stream=2, seq=2)
    r.read((0, p.key(0)), (1, p.key(1)), (2, p.key(2)), stream=2)


@tell("LOG-02", "violating", "gap", SHARDS)
@tell("LOG-03", "violating", "duplicate-delivered", SHARDS)
@tell("LOG-08", "violating", "nonmonotonic-read skip", SHARDS)
def within_one_assignment_a_shard_is_a_chain(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader(group=7)
    p.run(0, 4, 0, stream=2)
    h.event(Op.ASSIGN, actor=r.actor, stream=2, seq=2)
    h.event(Op.ASSIGN, actor=r.actor, stream=3, seq=3)
    r.read((0, p.key(0)), (0, p.key(0)), stream=2)
    h.event(Op.REVOKE, actor=r.actor, stream=3, seq=3)
    r.read((3, p.key(3)), stream=2)


# -- once


@tell("LOG-03", "clean", declared=STREAM_SYNC)
def what_was_cut_came_back_elsewhere_but_once(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.reader().read((0, p.key(0)))
    h.kill(p)
    h.recovered(0)
    h.reader().read((1, p.key(0)))


@tell("LOG-03", "violating", "duplicate-delivered", NUMBERLESS)
def without_positions_twice_is_twice(h: HistoryBuilder) -> None:
    a, _ = two(h)
    h.reader().read((0, a), (5, a))


@tell("LOG-03", "clean")
@tell("LOG-05", "violating", "corrupt")
def damaged_records_are_not_the_same_record(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r = h.reader()
    r.read((0, a))
    r.read((1, a), (2, a), flags=BAD)


@tell("LOG-03", "clean", declared=COMPETING)
def nameless_records_are_not_the_same_record(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader(group=7)
    p.append(0).ok(0)
    p.append(1, flags=ANON).ok(1)
    p.append(2, flags=ANON).ok(2)
    r.read((0, p.key(0)))
    r.read((1, 0), (2, 0), flags=ANON)


@tell("LOG-03", "clean", declared=COMPETING)
def each_group_gets_it_once(h: HistoryBuilder) -> None:
    a, _ = two(h)
    h.reader(group=7).read((0, a))
    h.reader(group=8).read((0, a))


@tell("LOG-03", "violating", "duplicate-delivered", RESTARTS)
def a_restart_before_the_first_delivery_redelivers_nothing(h: HistoryBuilder) -> None:
    a, _ = two(h)
    dead, r, s = h.reader(group=7), h.reader(group=7), h.reader(group=7)
    h.kill(dead)
    r.read((0, a))
    s.read((0, a))


@tell("LOG-03", "violating", "duplicate-delivered", RESTARTS)
def a_restart_after_the_second_delivery_redelivered_nothing(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r, s = h.reader(group=7), h.reader(group=7)
    r.read((0, a))
    s.read((0, a))
    h.kill(r)


@tell("LOG-03", "clean", declared=REBALANCES)
@tell("LOG-03", "violating", "duplicate-delivered", RESTARTS)
def a_rebalance_redelivers_where_that_is_declared(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r, s = h.reader(group=7), h.reader(group=7)
    r.read((0, a))
    h.event(Op.REVOKE, actor=r.actor, seq=1)
    s.read((0, a))


# -- phantom and content


@tell("LOG-04", "violating", "phantom")
def a_nameless_record_is_read_before_any_was_appended(h: HistoryBuilder) -> None:
    h.reader().read((0, 0), flags=ANON)
    h.producer(1).append(0, flags=ANON).ok(0)


@tell("LOG-04", "violating", "phantom")
def a_nameless_record_is_read_where_a_named_one_was_appended(h: HistoryBuilder) -> None:
    two(h)
    h.reader().read((0, 0), flags=ANON)


@tell("LOG-04", "clean", declared=NUMBERLESS)
def without_positions_any_nameless_append_may_be_it(h: HistoryBuilder) -> None:
    h.producer(1).append(0, flags=ANON).ok(0)
    h.reader().read((7, 0), flags=ANON)


@tell("LOG-04", "clean", declared=STREAM_SYNC)
def a_nameless_record_may_have_moved_in_a_recovery(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0, flags=ANON).ok(3)
    h.kill(p)
    h.recovered(0)
    h.reader().read((0, 0), flags=ANON)


@tell("LOG-04", "clean", declared=STREAM_SYNC)
def a_nameless_record_may_have_moved_in_doubtful_times(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0, flags=ANON).ok(3)
    h.kill(p)
    h.reader().read((0, 0), flags=ANON)


@tell("LOG-04", "violating", "phantom", STREAM_SYNC)
@tell("LOG-05", "clean", declared=STREAM_SYNC)
def rubbish_where_a_recovery_cut_the_record(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.kill(p)
    h.recovered(0)
    h.reader().read((0, NOBODY), flags=BAD)


@tell("LOG-04", "violating", "phantom", NUMBERLESS)
@tell("LOG-05", "clean", declared=NUMBERLESS)
def without_positions_rubbish_is_nobody_s(h: HistoryBuilder) -> None:
    two(h)
    h.reader().read((0, NOBODY), flags=BAD)


@tell("LOG-05", "violating", "corrupt", NUMBERLESS)
@tell("LOG-04", "clean", declared=NUMBERLESS)
def a_body_that_differs_is_of_whom_it_says(h: HistoryBuilder) -> None:
    a, _ = two(h)
    h.reader().read((0, a), flags=BAD)


@tell("LOG-05", "clean")
def runs_say_neither_length_nor_digest(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 2, 0)
    p.append(2, digest=5).ok(2)
    r = h.reader()
    r.read((0, p.key(0)), (1, p.key(1)), digest=7)
    r.read_run(2, p.key(2), 1)


@tell("LOG-05", "info")
def an_info_append_that_does_not_say_how_long_it_was(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0, length=0).info()
    h.reader().read((0, p.key(0)))


@tell("LOG-05", "violating", "corrupt")
def an_info_append_appears_shorter(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0, length=64).info()
    h.reader().read((0, p.key(0)), length=60)


@tell("LOG-05", "violating", "corrupt")
def an_empty_payload_came_back_with_something_in_it(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0, length=0).ok(0)
    h.reader().read((0, p.key(0)))


@tell("LOG-05", "clean")
def who_takes_no_digest_compares_none(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0, digest=7).ok(0)
    p.append(1).ok(1)
    r = h.reader()
    r.read((0, p.key(0)))
    r.read((1, p.key(1)), digest=7)
    r.release(0, p.key(0), digest=9)
    r.release(1, p.key(1), digest=0)


@tell("LOG-05", "violating", "corrupt")
def a_damaged_view_is_damaged_before_it_is_released(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r = h.reader()
    r.read((0, a), flags=BAD, digest=7)
    r.release(0, a, digest=8)


@tell("LOG-05", "clean")
def a_release_of_what_was_never_held_says_nothing(h: HistoryBuilder) -> None:
    a, b = two(h)
    r = h.reader()
    r.read((0, a), digest=7)
    h.event(Op.RELEASE, actor=r.actor, seq=1, key=b, flags=BAD)
    r.end()


# -- positions


@tell("LOG-07", "clean")
@tell("LOG-09", "clean")
def what_was_read_is_in_the_drain(h: HistoryBuilder) -> None:
    a, b = two(h)
    h.reader().read((0, a), (1, b))
    h.reader().drain((0, a), (1, b))


@tell("LOG-07", "clean")
def the_drain_of_one_stream_says_nothing_of_another(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0, stream=2).ok(0)
    h.reader().read((0, p.key(0)), stream=2)
    h.reader().drain(stream=1)


@tell("LOG-07", "clean")
def the_drain_came_first(h: HistoryBuilder) -> None:
    h.reader().drain()
    a, _ = two(h)
    h.reader().read((0, a))


@tell("LOG-07", "clean")
def the_drain_began_behind_it(h: HistoryBuilder) -> None:
    a, b = two(h)
    h.reader().read((0, a))
    h.reader().drain((1, b), start=1)


@tell("LOG-07", "clean")
def the_drain_never_ended(h: HistoryBuilder) -> None:
    a, _ = two(h)
    h.reader().read((0, a))
    h.reader().drain(complete=False)


@tell("LOG-07", "clean")
def the_drain_was_given_up(h: HistoryBuilder) -> None:
    a, _ = two(h)
    h.reader().read((0, a))
    r = h.reader()
    r.drain(complete=False)
    h.row(r.actor, Op.DRAIN_END, Phase.INFO)


@tell("LOG-07", "clean")
def the_drain_was_told_that_it_is_dropped(h: HistoryBuilder) -> None:
    a, b = two(h)
    h.reader().read((0, a))
    r = h.reader()
    r.report(0, 1, Cause.DROP)
    r.drain((1, b))


@tell("LOG-07", "clean", declared=COMPETING)
def the_drain_is_of_the_group_that_has_it(h: HistoryBuilder) -> None:
    a, b = two(h)
    h.reader(group=7).read((0, a))
    h.reader(group=7).drain((1, b))


@tell("LOG-07", "violating", "read-then-lost", STREAM_SYNC)
def no_crash_lies_between_the_read_and_the_drain(h: HistoryBuilder) -> None:
    p, q, r = h.producer(1), h.producer(2), h.producer(3)
    q.append(0, stream=2).ok(0)
    h.kill(q)
    p.append(0).info()
    h.reader().read((0, p.key(0)))
    h.reader().drain()
    r.append(0, stream=2).ok(1)
    h.kill(r, fault=2)


@tell("LOG-07", "clean", declared=replace(SYNCED, tail_records=1))
@tell("LOG-07", "clean", declared=replace(SYNCED, tail_ns=1))
@tell("LOG-07", "clean", declared=replace(SYNCED, survives_process_death="never"))
@tell("LOG-07", "violating", "read-then-lost", SYNCED)
def a_visible_record_vanishes_in_a_crash(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0).ok(0)
    p.sync().ok()
    r.read((0, p.key(0)))
    h.kill(p)
    h.recovered(0)
    r.drain()


@tell("LOG-07", "clean", declared=SYNCED)
def a_visible_record_vanishes_with_the_power(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0).ok(0)
    r.read((0, p.key(0)))
    h.fault()
    h.event(Op.FAULT_FIRED, seq=1, value=1)
    h.recovered(0)
    r.drain()


@tell("LOG-07", "clean", declared=STREAM_SYNC)
def what_a_recovery_cut_may_be_elsewhere(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(3)
    h.kill(p)
    h.recovered(2)
    h.reader().read((5, p.key(0)))


@tell("LOG-07", "violating", "inconsistent-position")
def an_owed_record_is_elsewhere_after_a_recovery_nobody_recorded(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.kill(p)
    h.reader().read((3, p.key(0)))


@tell("LOG-07", "violating", "inconsistent-position", STREAM_SYNC)
def the_second_reader_still_finds_the_old_record(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.kill(p)
    h.recovered(0)
    q = h.producer(1, incarnation=1)
    q.append(0).ok(0)
    h.reader().read((0, q.key(0)))
    h.reader().read((0, p.key(0)))


@tell("LOG-08", "clean")
@tell("LOG-02", "clean")
def a_hole_that_was_trimmed_to_its_end(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.run(0, 3, 0)
    r.read((0, p.key(0)))
    p.trim(2)
    r.read((2, p.key(2)))


@tell("LOG-08", "violating", "nonmonotonic-append")
@tell("LOG-07", "violating", "inconsistent-position")
def two_appends_are_told_the_same_position(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(4)
    p.append(1).ok(4)
    h.reader().read((4, p.key(0)))


@tell("LOG-08", "clean", declared=replace(DENSE, epsilon_ns=10 * TICK_NS))
def within_epsilon_two_actors_of_a_producer_are_at_once(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(1, incarnation=1)
    p.append(0).ok(1)
    q.append(0).ok(0)
    h.reader().read((0, q.key(0)), (1, p.key(0)))


@tell("LOG-08", "violating", "nonmonotonic-append")
def another_actor_of_the_producer_is_told_less(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(1, incarnation=1)
    p.append(0).ok(1)
    q.append(0).ok(0)


@tell("LOG-08", "violating", "nonmonotonic-append", replace(DENSE, epsilon_ns=100 * TICK_NS))
def the_successor_of_a_process_that_exited_is_told_less(h: HistoryBuilder) -> None:
    p, q = h.producer(1, domain="a"), h.producer(1, incarnation=1, domain="b")
    p.append(0).ok(1)
    h.exit(p)
    h.event(Op.SPAWN, seq=h.process(q.actor))
    q.append(0).ok(0)


@tell("LOG-08", "violating", "nonmonotonic-append", STREAM_SYNC)
def what_was_appended_after_the_death_is_not_cut_for_it(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(1, incarnation=1)
    p.append(0).ok(0)
    h.kill(p)
    q.append(0).ok(5)
    q.append(1).ok(3)


@tell("LOG-08", "clean")
def two_clocks_do_not_order_two_actors_of_a_producer(h: HistoryBuilder) -> None:
    p, q = h.producer(1, domain="a"), h.producer(1, incarnation=1, domain="b")
    p.append(0).ok(1)
    q.append(0).ok(0)
    h.reader(domain="a").read((0, q.key(0)), (1, p.key(0)))


@tell("LOG-08", "clean", declared=BOTH_KINDS, verdict=Verdict.NOT_RUN)
def only_a_group_read_and_that_has_no_order(h: HistoryBuilder) -> None:
    a, b = two(h)
    h.reader(group=7).read((1, b), (0, a))


@tell("LOG-08", "violating", "nonmonotonic-read")
def a_chain_goes_back_over_what_is_owed(h: HistoryBuilder) -> None:
    a, b = two(h)
    p, r = h.producer(2), h.reader()
    r.read((0, a), (1, b))
    p.append(0, stream=2).ok(0)
    h.kill(p)
    r.read((0, a))


@tell("LOG-08", "clean")
@tell("LOG-07", "unknown")
def a_chain_goes_back_over_what_may_be_cut(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0).ok(0)
    p.append(1)
    r.read((0, p.key(0)), (1, p.key(1)))
    h.kill(p)
    q = h.producer(1, incarnation=1)
    q.append(0).ok(1)
    r.read((1, q.key(0)))
