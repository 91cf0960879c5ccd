"""Histories about chains without a crash: order, gaps, reports, reads of unknown outcome, groups, nameless payloads, views."""

from dataclasses import replace

from fireassay.spec.checks import Declared
from fireassay.spec.history.builder import TICK_NS, HistoryBuilder
from fireassay.spec.history.model import Cause
from fireassay.spec.history.ops import Flag, Op, Phase
from fireassay.spec.history.row import Identity
from fireassay.spec.outcomes import Verdict
from fireassay.spec.tests.stories import COMPETING, DEADLINE, DENSE, NUMBERLESS, SYNCED, tell, two

INCREASING = Declared(positions="increasing", deadline_ns=DEADLINE)
BOTH_KINDS = replace(COMPETING, independent_too=True)
ANON = Flag.ANON


# -- order


@tell("LOG-01", "violating", "reader-disagreement", Declared())
def also_without_total_order_all_readers_agree(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    one, two = p.append(0), q.append(0)
    one.ok(0)
    two.ok(1)
    h.reader().read((0, p.key(0)), (1, q.key(0)))
    h.reader().read((0, q.key(0)), (1, p.key(0)))


@tell("LOG-01", "clean", declared=replace(DENSE, epsilon_ns=10 * TICK_NS))
def within_epsilon_nobody_was_first(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    p.append(0).ok(1)
    q.append(0).ok(0)
    h.reader().read((0, q.key(0)), (1, p.key(0)))


@tell("LOG-01", "clean")
@tell("LOG-08", "clean")
def a_batch_has_no_order_of_its_own(h: HistoryBuilder) -> None:
    p = h.producer(1)
    one, two = p.batch(0, 1)
    one.ok(1)
    two.ok(0)
    h.reader().read((0, p.key(1)), (1, p.key(0)))


@tell("LOG-01", "violating", "reorder")
def an_info_append_is_read_before_what_ended_earlier(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(1)
    p.append(1).info()
    h.reader().read((0, p.key(1)), (1, p.key(0)))


@tell("LOG-01", "clean", declared=COMPETING, verdict=Verdict.NOT_APPLICABLE)
@tell("LOG-03", "clean", declared=COMPETING)
@tell("LOG-08", "clean", declared=COMPETING)
def members_of_a_competing_group_get_what_they_get(h: HistoryBuilder) -> None:
    a, b = two(h)
    r, s = h.reader(group=7), h.reader(group=7)
    s.read((1, b))
    r.read((0, a))
    r.end()
    s.end()


@tell("LOG-01", "violating", "reorder", BOTH_KINDS)
@tell("LOG-08", "violating", "nonmonotonic-read", BOTH_KINDS)
def beside_a_competing_group_an_independent_reader_has_order(h: HistoryBuilder) -> None:
    a, b = two(h)
    h.reader().read((1, b), (0, a))


# -- gaps


@tell("LOG-02", "violating", "gap")
@tell("LOG-08", "violating", "skip")
def trimmed_only_after_it_was_passed_over(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 4, 0)
    r = h.reader()
    r.read((0, p.key(0)), (2, p.key(2)))
    p.trim(2)
    r.read((3, p.key(3)))


@tell("LOG-02", "clean")
@tell("LOG-08", "clean")
def nobody_knows_how_far_an_unfinished_trim_went(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    p.call(Op.TRIM)
    h.reader().read((0, p.key(0)), (2, p.key(2)))


@tell("LOG-02", "unknown")
@tell("LOG-08", "unknown")
def a_read_of_unknown_outcome_may_have_taken_it(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    r = h.reader()
    r.read((0, p.key(0)))
    r.read_unknown()
    r.read((2, p.key(2)))


@tell("LOG-02", "unknown", declared=NUMBERLESS)
def a_read_of_unknown_outcome_may_have_taken_it_without_positions(h: HistoryBuilder) -> None:
    a_read_of_unknown_outcome_may_have_taken_it(h)


@tell("LOG-02", "unknown")
def a_run_of_reads_with_an_unknown_end_may_have_taken_it(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    r = h.reader()
    h.row(r.actor, Op.READ_RUN, Phase.INVOKE, key=p.key(0), value=1, call=77)
    h.row(r.actor, Op.READ_RUN, Phase.INFO, key=p.key(0), value=1, call=77)
    r.read((2, p.key(2)))


@tell("LOG-02", "violating", "gap")
@tell("LOG-08", "violating", "skip")
def a_read_of_unknown_outcome_elsewhere_excuses_nothing(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    r = h.reader()
    r.read((0, p.key(0)), (2, p.key(2)))
    r.read_unknown()
    h.reader().read_unknown()


@tell("LOG-02", "violating", "gap")
@tell("LOG-08", "violating", "skip")
def a_failed_read_took_nothing(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    r = h.reader()
    r.read((0, p.key(0)))
    r.call(Op.READ).fail()
    r.read((2, p.key(2)))


@tell("LOG-03", "violating", "duplicate-delivered")
def a_read_of_unknown_outcome_brings_nothing_back(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r = h.reader()
    r.read((0, a))
    r.read_unknown()
    r.read((0, a))


@tell("LOG-02", "violating", "gap")
@tell("LOG-08", "violating", "skip")
def a_report_that_names_what_was_read_excuses_nothing(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    r = h.reader()
    r.read((0, p.key(0)))
    r.report(0, 2)
    r.read((2, p.key(2)))


@tell("LOG-02", "violating", "gap")
@tell("LOG-08", "violating", "skip")
def a_report_of_half_the_hole_excuses_half(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 4, 0)
    r = h.reader()
    r.read((0, p.key(0)))
    r.report(1, 2)
    r.read((3, p.key(3)))


@tell("LOG-02", "violating", "gap")
@tell("LOG-08", "violating", "skip")
def a_report_to_another_reader_excuses_nothing(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    r, s = h.reader(), h.reader()
    r.read((0, p.key(0)), (2, p.key(2)))
    s.read((0, p.key(0)))
    s.report(1, 2)


@tell("LOG-02", "violating", "gap", replace(DENSE, report_causes=frozenset({Cause.DAMAGE})))
@tell("LOG-08", "violating", "skip", replace(DENSE, report_causes=frozenset({Cause.DAMAGE})))
@tell("LOG-02", "clean", declared=replace(DENSE, report_causes=frozenset({Cause.DROP})))
def the_cause_must_be_declared(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    r = h.reader()
    r.read((0, p.key(0)))
    r.report(1, 2, Cause.DROP)
    r.read((2, p.key(2)))


@tell("LOG-09", "clean")
def a_reader_that_was_dropped_was_told(h: HistoryBuilder) -> None:
    _, b = two(h)
    r = h.reader()
    r.report(0, 1, Cause.DROP)
    r.drain((1, b))


@tell("LOG-09", "violating", "unseen", replace(DENSE, report_causes=frozenset()))
def a_reader_that_may_not_be_dropped_was_dropped(h: HistoryBuilder) -> None:
    a_reader_that_was_dropped_was_told(h)


# -- groups


@tell("LOG-02", "violating", "gap", COMPETING)
def no_member_of_a_group_gets_the_middle(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    r, s = h.reader(group=7), h.reader(group=7)
    r.read((0, p.key(0)))
    s.read((2, p.key(2)))
    r.end()
    s.end()


@tell("LOG-02", "unknown", declared=COMPETING)
def a_member_that_did_not_ask_again_may_still_get_it(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    h.reader(group=7).read((0, p.key(0)))
    s = h.reader(group=7)
    s.read((2, p.key(2)))
    s.end()


@tell("LOG-02", "clean", declared=COMPETING)
def a_report_to_any_member_is_a_report_to_the_group(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    r, s = h.reader(group=7), h.reader(group=7)
    r.read((0, p.key(0)))
    s.report(1, 2)
    s.read((2, p.key(2)))
    r.end()
    s.end()


@tell("LOG-02", "violating", "gap", BOTH_KINDS)
def what_a_group_took_is_still_there_for_an_independent_reader(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    h.reader(group=7).read((1, p.key(1)))
    h.reader().read((0, p.key(0)), (2, p.key(2)))


@tell("LOG-09", "violating", "unseen", COMPETING)
def what_one_group_took_is_still_there_for_another(h: HistoryBuilder) -> None:
    a, b = two(h)
    h.reader(group=7).read((1, b))
    h.reader(group=8).drain((0, a))


@tell("LOG-09", "clean", declared=COMPETING)
def what_a_member_took_is_gone_for_the_drain_of_its_group(h: HistoryBuilder) -> None:
    a, b = two(h)
    h.reader(group=7).read((1, b))
    h.reader(group=7).drain((0, a))


@tell("LOG-03", "violating", "duplicate-delivered", replace(COMPETING, redelivery=frozenset({"restart"})))
def a_redelivery_is_declared_and_did_not_happen(h: HistoryBuilder) -> None:
    a, _ = two(h)
    h.reader(group=7).read((0, a))
    h.reader(group=7).read((0, a))


@tell("LOG-03", "clean", declared=replace(COMPETING, redelivery=frozenset({"restart"})))
def a_member_dies_and_another_gets_it_again(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r = h.reader(group=7)
    r.read((0, a))
    h.kill(r)
    h.reader(group=7).read((0, a))


@tell("LOG-03", "clean", declared=replace(COMPETING, redelivery=frozenset({"ack-timeout"})))
def an_acknowledgement_may_be_late_at_any_moment(h: HistoryBuilder) -> None:
    a_redelivery_is_declared_and_did_not_happen(h)


# -- payloads without a name


@tell("LOG-02", "violating", "gap", INCREASING)
def a_nameless_record_is_missed_by_its_position(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.append(1, flags=ANON).ok(64)
    p.append(2).ok(128)
    h.reader().read((0, p.key(0)), (128, p.key(2)))


@tell("LOG-02", "violating", "gap", NUMBERLESS)
def a_nameless_record_is_missed_between_its_neighbours(h: HistoryBuilder) -> None:
    a_nameless_record_is_missed_by_its_position(h)


@tell("LOG-02", "clean", declared=INCREASING)
@tell("LOG-02", "clean", declared=NUMBERLESS)
@tell("LOG-04", "clean", declared=INCREASING)
@tell("LOG-07", "clean", declared=INCREASING)
@tell("LOG-09", "clean", declared=INCREASING)
def a_nameless_record_comes_where_it_should(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0).ok(0)
    p.append(1, flags=ANON).ok(64)
    p.append(2).ok(128)
    h.event(Op.DRAIN_BEGIN, actor=r.actor)
    r.read((0, p.key(0)))
    r.read((64, 0), flags=ANON)
    r.read((128, p.key(2)))
    h.event(Op.SENTINEL, actor=r.actor)
    r.end(2)
    h.event(Op.DRAIN_END, actor=r.actor)


@tell("LOG-09", "violating", "unseen", INCREASING)
def a_drain_lacks_a_nameless_record(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.append(1, flags=ANON).ok(64)
    h.reader().drain((0, p.key(0)))


@tell("LOG-08", "violating", "nonmonotonic-read")
def a_nameless_record_comes_twice(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0, flags=ANON).ok(0)
    r.read((0, 0), flags=ANON)
    r.read((0, 0), flags=ANON)


@tell("LOG-04", "violating", "phantom")
def more_nameless_records_than_were_appended(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0, flags=ANON).ok(0)
    h.reader().read((0, 0), (1, 0), flags=ANON)


@tell("LOG-04", "violating", "phantom")
def the_only_nameless_append_failed(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0, flags=ANON).fail()
    h.reader().read((0, 0), flags=ANON)


@tell("LOG-04", "info")
def a_nameless_append_of_unknown_outcome_may_be_anywhere(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0, flags=ANON).info()
    h.reader().read((3, 0), flags=ANON)


# -- what is read


@tell("LOG-04", "clean")
def an_echo_reads_in_one_run_what_it_appends_meanwhile(h: HistoryBuilder) -> None:
    r, key = h.reader(), Identity(5, 0, 0).key
    run = r.call(Op.READ_RUN, key=key, value=1)
    r.call(Op.APPEND, key=key, value=64).ok(0)
    run.ok(0)


@tell("LOG-04", "violating", "phantom")
def read_in_another_stream_than_appended(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0, stream=2).ok(0)
    h.reader().read((0, p.key(0)))


@tell("LOG-05", "violating", "corrupt")
def shorter_than_appended(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0, length=64).ok(0)
    h.reader().read((0, p.key(0)), length=60)


@tell("LOG-05", "violating", "corrupt")
def an_info_append_appears_with_another_digest(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0, digest=7).info()
    h.reader().read((0, p.key(0)), digest=8)


@tell("LOG-05", "clean")
def a_completion_may_leave_the_length_to_the_invoke(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0, value=0)
    h.reader().read((0, p.key(0)))


@tell("LOG-05", "clean")
def a_view_is_the_same_when_released(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0, digest=7).ok(0)
    r.read((0, p.key(0)), digest=7)
    r.release(0, p.key(0), digest=7)


@tell("LOG-05", "violating", "overwritten-view")
def a_view_of_a_run_does_not_decode_when_released(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.run(0, 2, 0)
    r.read_run(0, p.key(0), 2)
    h.event(Op.RELEASE, actor=r.actor, seq=1, key=p.key(1), flags=Flag.BAD_DECODE)


@tell("LOG-05", "violating", "overwritten-view")
def a_nameless_view_changes_before_its_release(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0, flags=ANON).ok(0)
    r.read((0, 0), flags=ANON, digest=7)
    r.release(0, 0, digest=8)


@tell("LOG-06", "violating", "aborted-read")
def what_ended_a_run_by_failing_is_read(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.call(Op.APPEND_RUN, key=p.key(0), value=1).fail()
    h.reader().read_run(0, p.key(0), 2)


@tell("LOG-06", "clean")
def what_ended_a_run_by_failing_is_not_read(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.call(Op.APPEND_RUN, key=p.key(0), value=1).fail()
    h.reader().read_run(0, p.key(0), 1)


# -- positions


@tell("LOG-07", "violating", "read-then-lost")
def an_info_append_was_read_and_vanished_without_a_crash(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).info()
    h.reader().read((0, p.key(0)))
    h.reader().drain()


@tell("LOG-07", "clean", declared=SYNCED)
def a_durable_record_was_read_and_trimmed(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.sync().ok()
    h.reader().read((0, p.key(0)))
    p.trim(1)
    h.reader().drain()


@tell("LOG-08", "violating", "nonmonotonic-append")
def a_batch_hides_no_lower_position(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(5)
    high, low = p.batch(1, 2)
    high.ok(9)
    low.ok(4)
