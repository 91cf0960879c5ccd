"""Histories about time: what is late, what may wait, whether the harness was awake, and who died of what."""

from dataclasses import replace

from fireassay.spec.checks import Declared
from fireassay.spec.history.builder import HistoryBuilder, ProducerBuilder, ReaderBuilder
from fireassay.spec.history.ops import Flag, Op, Phase
from fireassay.spec.outcomes import Verdict
from fireassay.spec.tests.stories import DEADLINE, DENSE, NUMBERLESS, SYNCED, tell, two

WAIT = Flag.WAIT
SEGV = -11


# -- END


@tell("LOG-09", "violating", "unseen")
def told_end_too_late_although_it_came_in_the_end(h: HistoryBuilder) -> None:
    a, b = two(h)
    r = h.reader()
    r.read((0, a))
    h.wait(2 * DEADLINE)
    r.end()
    r.read((1, b))


@tell("LOG-09", "violating", "unseen", NUMBERLESS)
def told_end_long_after_it_was_due_without_positions(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r = h.reader()
    r.read((0, a))
    h.wait(2 * DEADLINE)
    r.end()


@tell("LOG-09", "clean")
@tell("LOG-09", "clean", declared=NUMBERLESS)
def told_end_when_it_had_everything(h: HistoryBuilder) -> None:
    a, b = two(h)
    r = h.reader()
    r.read((0, a), (1, b))
    h.wait(2 * DEADLINE)
    r.end()


@tell("LOG-02", "clean")
@tell("LOG-09", "clean")
def what_lies_before_the_granted_start_is_not_due(h: HistoryBuilder) -> None:
    _, b = two(h)
    r = h.reader()
    r.open(1)
    r.read((1, b))
    h.wait(2 * DEADLINE)
    r.end()


@tell("LOG-09", "clean")
def nobody_knows_where_a_reader_stands_that_got_nothing(h: HistoryBuilder) -> None:
    two(h)
    r = h.reader()
    h.wait(2 * DEADLINE)
    r.end()


@tell("LOG-09", "info", verdict=Verdict.NOT_RUN)
def told_end_while_a_fault_was_at_work(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r = h.reader()
    r.read((0, a))
    h.fault()
    h.wait(2 * DEADLINE)
    r.end()
    h.fault_end()


@tell("LOG-09", "violating", "unseen")
def told_end_in_the_calm_between_two_faults(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r = h.reader()
    r.read((0, a))
    h.fault()
    h.fault_end()
    h.wait(2 * DEADLINE)
    r.end()
    h.fault(fault=2)
    h.fault_end(2)


@tell("LOG-09", "clean", declared=SYNCED)
def what_was_never_synced_need_not_be_seen(h: HistoryBuilder) -> None:
    two(h)
    r = h.reader()
    r.open(0)
    h.wait(2 * DEADLINE)
    r.end()


@tell("LOG-09", "unknown")
def told_end_after_a_read_of_unknown_outcome(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r = h.reader()
    r.read((0, a))
    r.read_unknown()
    h.wait(2 * DEADLINE)
    r.end()


# -- operations


def _slow_append(h: HistoryBuilder) -> ProducerBuilder:
    p = h.producer(1)
    append = p.append(0)
    h.awake(2 * DEADLINE)
    append.ok(0)
    return p


@tell("LOG-23", "violating", "stuck-writer")
def an_append_takes_too_long(h: HistoryBuilder) -> None:
    _slow_append(h)


@tell("LOG-23", "clean", declared=replace(DENSE, deadline_ns=3 * DEADLINE))
def an_append_takes_long_but_not_too_long(h: HistoryBuilder) -> None:
    _slow_append(h)


@tell("LOG-23", "clean")
def an_append_takes_long_while_a_fault_is_at_work(h: HistoryBuilder) -> None:
    p = h.producer(1)
    append = p.append(0)
    h.fault()
    h.awake(2 * DEADLINE)
    h.fault_end()
    append.ok(0)


@tell("LOG-23", "unknown")
def a_fault_that_is_never_taken_back_may_hold_everything(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0)
    h.fault()
    h.awake(2 * DEADLINE)


@tell("LOG-23", "violating", "stuck-writer")
def an_append_hangs_in_the_calm_between_two_faults(h: HistoryBuilder) -> None:
    p = h.producer(1)
    append = p.append(0)
    h.fault()
    h.fault_end()
    h.awake(2 * DEADLINE)
    h.fault(fault=2)
    h.fault_end(2)
    append.ok(0)


@tell("LOG-23", "violating", "stuck-writer")
def an_append_hangs_until_its_process_is_killed_for_it(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.append(1)
    h.awake(2 * DEADLINE)
    h.kill(p)
    h.exit(p, -9)


@tell("LOG-23", "info")
def an_actor_went_on_without_a_word_on_its_call(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0)
    h.awake(2 * DEADLINE)
    p.append(1).ok(0)


@tell("LOG-23", "unknown")
def one_beat_at_the_end_says_nothing_of_the_time_before(h: HistoryBuilder) -> None:
    h.producer(1).append(0)
    h.wait(2 * DEADLINE)
    h.event(Op.HEARTBEAT, value=DEADLINE // 10)


@tell("LOG-23", "unknown")
def a_harness_that_stood_still_convicts_nobody(h: HistoryBuilder) -> None:
    h.producer(1).append(0)
    h.awake(2 * DEADLINE, beats=1)


@tell("LOG-23", "unknown")
def an_append_that_may_wait_waits(h: HistoryBuilder) -> None:
    h.producer(1).append(0, flags=WAIT)
    h.awake(2 * DEADLINE)


@tell("LOG-23", "clean")
def what_is_pending_after_the_run_is_not_stuck(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.append(1)
    h.event(Op.RUN_END)
    h.awake(2 * DEADLINE)


# -- reads


@tell("LOG-23", "violating", "stuck-reader")
def a_read_gives_its_record_too_late(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r = h.reader()
    call = h.new_call()
    h.row(r.actor, Op.READ, Phase.INVOKE, call=call)
    h.awake(2 * DEADLINE)
    h.row(r.actor, Op.READ, Phase.OK, key=a, value=64, call=call)


def _waiting(h: HistoryBuilder) -> ReaderBuilder:
    r = h.reader()
    r.open(0)
    r.call(Op.READ, flags=WAIT)
    return r


@tell("LOG-23", "violating", "stuck-reader")
def a_waiting_read_is_not_woken(h: HistoryBuilder) -> None:
    _waiting(h)
    two(h)
    h.awake(2 * DEADLINE)


@tell("LOG-23", "violating", "stuck-reader")
def a_read_waits_for_what_was_there_all_along(h: HistoryBuilder) -> None:
    two(h)
    _waiting(h)
    h.awake(2 * DEADLINE)


@tell("LOG-23", "clean")
def a_waiting_read_is_woken_after_a_long_time(h: HistoryBuilder) -> None:
    r, p = h.reader(), h.producer(1)
    call = h.new_call()
    h.row(r.actor, Op.READ, Phase.INVOKE, call=call, flags=WAIT)
    h.awake(2 * DEADLINE)
    p.append(0).ok(0)
    h.row(r.actor, Op.READ, Phase.OK, key=p.key(0), value=64, call=call)


@tell("LOG-23", "clean", declared=SYNCED)
def a_read_waits_for_what_was_never_synced(h: HistoryBuilder) -> None:
    a_waiting_read_is_not_woken(h)


@tell("LOG-23", "clean", declared=replace(DENSE, readers="exclusive-shards"))
def a_member_waits_for_a_shard_that_may_be_another_s(h: HistoryBuilder) -> None:
    a_waiting_read_is_not_woken(h)


# -- drains


@tell("LOG-23", "violating", "stuck-reader")
def a_drain_hangs(h: HistoryBuilder) -> None:
    a, _ = two(h)
    h.reader().drain((0, a), complete=False)
    h.awake(2 * DEADLINE)


@tell("LOG-23", "violating", "stuck-reader")
def a_drain_is_given_up(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r = h.reader()
    r.drain((0, a), complete=False)
    h.awake(2 * DEADLINE)
    h.row(r.actor, Op.DRAIN_END, Phase.FAIL)


@tell("LOG-23", "clean")
def a_drain_is_long_but_goes_on(h: HistoryBuilder) -> None:
    a, b = two(h)
    r = h.reader()
    r.drain((0, a), complete=False)
    h.awake(2 * DEADLINE)
    r.read((1, b))


@tell("LOG-23", "clean")
def a_drain_that_sought_its_place_has_ended_all_the_same(h: HistoryBuilder) -> None:
    a, b = two(h)
    r = h.reader()
    h.event(Op.DRAIN_BEGIN, actor=r.actor)
    r.read((0, a))
    r.seek(1)
    r.read((1, b))
    h.event(Op.DRAIN_END, actor=r.actor)
    h.awake(2 * DEADLINE)


# -- deaths


@tell("LOG-23", "violating", "unprovoked-death")
def a_fault_that_was_outlived_provokes_nothing(h: HistoryBuilder) -> None:
    p = h.producer(1)
    h.fault(p)
    h.fault_end()
    p.append(0).ok(0)
    h.exit(p, SEGV)


@tell("LOG-23", "info")
def a_fault_that_was_not_outlived_provokes_a_death(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.fault(p)
    h.fault_end()
    h.exit(p, SEGV)


@tell("LOG-23", "unknown")
def a_fault_aimed_at_nobody_may_have_killed_it(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.fault()
    h.exit(p, SEGV)
    h.fault_end()


@tell("LOG-23", "unknown")
def somebody_killed_it_and_nobody_says_who(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.exit(p, -9)


@tell("LOG-23", "clean")
def it_was_ended_after_the_run(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.event(Op.RUN_END)
    h.exit(p, SEGV)


@tell("LOG-23", "clean", declared=Declared(), verdict=Verdict.NOT_RUN)
def without_a_deadline_nothing_is_late(h: HistoryBuilder) -> None:
    _slow_append(h)
