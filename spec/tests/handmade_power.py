"""Histories about power: it takes what was not yet owed, and every process; deaths within it are part of it."""

from dataclasses import replace

from fireassay.spec.checks import Declared
from fireassay.spec.history.builder import TICK_NS, HistoryBuilder
from fireassay.spec.history.model import Cause
from fireassay.spec.history.ops import FaultKind, Op
from fireassay.spec.outcomes import Verdict
from fireassay.spec.tests.stories import DEADLINE, tell

# To a death everything is owed that was appended; to a power loss only what was synced.
BOTH = Declared(sync_scope="stream", deadline_ns=DEADLINE)
APPENDED = replace(BOTH, survives_power_loss="after-append")
NOTHING = replace(BOTH, survives_power_loss="never")
VISIBLE = replace(BOTH, visible="sync", survives_process_death="after-sync")
TAIL = 40 * TICK_NS


@tell("LOG-11", "violating", "lost-write-power", BOTH)
@tell("LOG-10", "clean", declared=BOTH, verdict=Verdict.NOT_RUN)
@tell("LOG-09", "violating", "unseen", BOTH)
@tell("LOG-11", "info", declared=NOTHING, verdict=Verdict.NOT_APPLICABLE)
@tell("LOG-09", "clean", declared=NOTHING)
def synced_and_gone_with_the_power(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.sync().ok()
    h.power_loss(p)
    h.reader().drain()


@tell("LOG-11", "clean", declared=BOTH)
@tell("LOG-09", "clean", declared=BOTH)
@tell("LOG-02", "clean", declared=BOTH)
@tell("LOG-10", "info", declared=BOTH, verdict=Verdict.NOT_RUN)
@tell("LOG-11", "violating", "lost-write-power", APPENDED)
def the_synced_came_back_and_the_rest_was_taken(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.sync().ok()
    p.append(1).ok(1)
    h.power_loss(p)
    h.recovered(1)
    h.reader().drain((0, p.key(0)))


@tell("LOG-11", "info", declared=BOTH)
@tell("LOG-10", "info", declared=BOTH, verdict=Verdict.NOT_RUN)
def an_append_under_way_came_back_or_not(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.sync().ok()
    p.append(1)
    h.power_loss(p)
    h.reader().drain((0, p.key(0)), (1, p.key(1)))


@tell("LOG-11", "unknown", declared=BOTH)
@tell("LOG-11", "unknown", declared=APPENDED)
@tell("LOG-09", "clean", declared=APPENDED)
def told_ok_while_the_power_was_failing(h: HistoryBuilder) -> None:
    p = h.producer(1)
    h.event(Op.FAULT_BEGIN, seq=1, digest=FaultKind.POWER)
    p.append(0).ok(0)
    p.sync().ok()
    h.event(Op.FAULT_FIRED, seq=1, digest=FaultKind.POWER)
    h.exit(p, -9)
    h.reader().drain()


@tell("LOG-11", "violating", "lost-write-power", BOTH)
@tell("LOG-10", "clean", declared=BOTH, verdict=Verdict.NOT_RUN)
@tell("LOG-09", "violating", "unseen", BOTH)
def its_processes_were_seen_dead_before_it_fired(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    p.append(0).ok(0)
    p.sync().ok()
    q.append(0).ok(1)
    h.event(Op.FAULT_BEGIN, seq=1, digest=FaultKind.POWER)
    h.exit(p, -9)
    h.exit(q, -9)
    h.event(Op.FAULT_FIRED, seq=1, digest=FaultKind.POWER)
    h.reader().drain()


@tell("LOG-11", "unknown", declared=BOTH)
@tell("LOG-10", "violating", "lost-write-process", BOTH)
@tell("LOG-09", "violating", "unseen", BOTH)
def a_death_before_the_power_failed_is_a_death(h: HistoryBuilder) -> None:
    p, q, r = h.producer(1), h.producer(2), h.reader()
    p.append(0).ok(0)
    h.kill(p)
    r.drain()
    q.append(0).ok(1)
    h.power_loss(q, fault=2)
    h.reader().drain()


@tell("LOG-11", "violating", "lost-write-power", BOTH)
@tell("LOG-10", "clean", declared=BOTH)
@tell("LOG-09", "violating", "unseen", BOTH)
def it_outlived_a_death_and_went_with_the_power(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    p.append(0).ok(0)
    p.sync().ok()
    h.kill(p)
    h.reader().drain((0, p.key(0)))
    h.power_loss(q, fault=2)
    h.reader().drain()


@tell("LOG-10", "violating", "lost-write-process", BOTH)
@tell("LOG-11", "clean", declared=BOTH)
@tell("LOG-09", "violating", "unseen", BOTH)
def it_outlived_the_power_and_went_with_a_death(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    p.append(0).ok(0)
    p.sync().ok()
    h.power_loss(p)
    h.reader().drain((0, p.key(0)))
    q.open()
    h.kill(q, fault=2)
    h.reader().drain()


@tell("LOG-10", "unknown", declared=BOTH)
@tell("LOG-11", "unknown", declared=BOTH)
@tell("LOG-09", "violating", "unseen", BOTH)
def lost_by_a_death_or_by_the_power(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    p.append(0).ok(0)
    p.sync().ok()
    h.kill(p)
    q.open()
    h.power_loss(q, fault=2)
    h.reader().drain()


@tell("LOG-11", "unknown", declared=BOTH)
@tell("LOG-10", "clean", declared=BOTH, verdict=Verdict.NOT_RUN)
def what_was_not_drained_after_the_power_may_be_lost(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.sync().ok()
    h.power_loss(p)
    h.reader().drain(complete=False)


@tell("LOG-11", "unknown", declared=replace(APPENDED, power_tail_records=2))
@tell("LOG-11", "violating", "lost-write-power", replace(APPENDED, power_tail_records=1))
@tell("LOG-11", "violating", "lost-write-power", replace(APPENDED, tail_records=2))
def of_two_records_both_went_with_the_power(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.append(1).ok(1)
    h.power_loss(p)
    h.reader().drain()


@tell("LOG-11", "violating", "lost-write-power", replace(APPENDED, power_tail_ns=TAIL))
@tell("LOG-11", "unknown", declared=replace(APPENDED, power_tail_ns=8 * TAIL))
def older_than_the_tail_of_the_power(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.awake(4 * TAIL)
    h.power_loss(p)
    h.reader().drain()


@tell("LOG-11", "unknown", declared=BOTH)
def a_failed_sync_before_the_power_went(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.sync().fail()
    p.sync().ok()
    h.power_loss(p)
    h.reader().drain()


@tell("LOG-11", "violating", "lost-write-power", BOTH)
def a_loss_by_power_that_is_reported_is_a_loss(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0).ok(0)
    p.sync().ok()
    h.power_loss(p)
    r.report(0, 1, Cause.DAMAGE)
    r.drain()


@tell("LOG-10", "clean", declared=BOTH, verdict=Verdict.NOT_RUN)
@tell("LOG-09", "violating", "unseen", BOTH)
def a_full_disk_is_no_crash(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.event(Op.FAULT_BEGIN, seq=1, key=p.actor, digest=FaultKind.OTHER)
    h.event(Op.FAULT_FIRED, seq=1, key=p.actor, digest=FaultKind.OTHER)
    h.reader().drain()


@tell("LOG-10", "info", declared=BOTH, verdict=Verdict.NOT_RUN)
@tell("LOG-09", "info", declared=BOTH)
def a_power_loss_that_nobody_saw_fire_may_have_been_one(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.event(Op.FAULT_BEGIN, seq=1, digest=FaultKind.POWER)
    h.exit(p, -9)
    h.reader().drain()


@tell("LOG-23", "clean", declared=BOTH)
def deaths_in_a_power_loss_are_provoked(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    p.append(0).ok(0)
    h.power_loss(p)
    h.exit(q, -7)
    h.fault_end()


@tell("LOG-23", "violating", "unprovoked-death", BOTH)
def a_death_long_after_the_power_came_back(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    h.power_loss(p)
    q.append(0).ok(0)
    h.exit(q, -7)


@tell("LOG-23", "clean", declared=BOTH)
@tell("LOG-09", "violating", "unseen", BOTH)
def after_a_power_loss_there_is_calm_again(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    r.open(0)
    p.append(0)
    h.power_loss(p)
    q, s = h.producer(1, incarnation=1), h.reader()
    h.recovered(0)
    q.append(0).ok(0)
    s.open(0)
    h.awake(2 * DEADLINE)
    s.end()


@tell("LOG-07", "violating", "read-then-lost", VISIBLE)
@tell("LOG-07", "clean", declared=replace(VISIBLE, survives_power_loss="never"))
@tell("LOG-07", "clean", declared=replace(VISIBLE, power_tail_records=1))
def read_as_durable_and_gone_with_the_power(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.reader().read((0, p.key(0)))
    h.power_loss(p)
    h.reader().drain()
