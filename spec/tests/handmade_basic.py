"""For every check a clean history, one per convicting anomaly, and what info may and may not do."""

from fireassay.spec.checks import Declared
from fireassay.spec.history.builder import HistoryBuilder
from fireassay.spec.history.model import Cause
from fireassay.spec.history.ops import Flag, Op
from fireassay.spec.history.row import NO_FLAGS, Identity
from fireassay.spec.outcomes import Verdict
from fireassay.spec.tests.stories import COMPETING, DEADLINE, NUMBERLESS, STREAM_SYNC, SYNCED, tell, two


@tell("LOG-01", "clean")
@tell("LOG-02", "clean")
@tell("LOG-03", "clean")
@tell("LOG-04", "clean")
@tell("LOG-05", "clean")
@tell("LOG-07", "clean")
@tell("LOG-08", "clean")
@tell("LOG-23", "clean")
def two_records_read_in_order(h: HistoryBuilder) -> None:
    a, b = two(h)
    h.reader().read((0, a), (1, b))


@tell("LOG-02", "clean")
@tell("LOG-03", "clean")
@tell("LOG-08", "clean")
def a_seek_back_reads_again(h: HistoryBuilder) -> None:
    a, b = two(h)
    r = h.reader()
    r.read((0, a), (1, b))
    r.seek(0)
    r.read((0, a), (1, b))


@tell("LOG-01", "info")
@tell("LOG-02", "info")
@tell("LOG-03", "info")
@tell("LOG-04", "info")
@tell("LOG-05", "info")
@tell("LOG-07", "info")
@tell("LOG-08", "info")
@tell("LOG-06", "info", verdict=Verdict.NOT_RUN)
def an_info_append_appears(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).info()
    p.append(1).ok(1)
    h.reader().read((0, p.key(0)), (1, p.key(1)))


@tell("LOG-02", "info")
@tell("LOG-09", "info")
def an_info_append_never_appears(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.append(1)
    q = h.producer(2)
    q.append(0).ok(1)
    h.reader().drain((0, p.key(0)), (1, q.key(0)))


@tell("LOG-03", "info", "duplicate-stored", verdict=Verdict.FAIL)
def an_info_append_appears_twice(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).info()
    h.reader().read((0, p.key(0)), (1, p.key(0)))


@tell("LOG-01", "violating", "reorder")
def the_second_is_read_before_the_first(h: HistoryBuilder) -> None:
    a, b = two(h)
    h.reader().read((0, b), (1, a))


@tell("LOG-01", "violating", "reorder")
def total_order_is_broken_across_producers(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    p.append(0).ok(0)
    q.append(0).ok(1)
    h.reader().read((0, q.key(0)), (1, p.key(0)))


@tell("LOG-01", "clean", declared=Declared())
def without_total_order_producers_may_interleave(h: HistoryBuilder) -> None:
    total_order_is_broken_across_producers(h)


@tell("LOG-01", "violating", "reader-disagreement")
def two_readers_see_concurrent_appends_in_different_order(h: HistoryBuilder) -> None:
    p, q = h.producer(1), h.producer(2)
    one, two = p.append(0), q.append(0)
    one.ok(0)
    two.ok(1)
    r, s = h.reader(), h.reader()
    r.read((0, p.key(0)), (1, q.key(0)))
    s.read((0, q.key(0)), (1, p.key(0)))


@tell("LOG-02", "violating", "gap")
@tell("LOG-08", "violating", "skip")
def the_middle_is_missing(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    h.reader().read((0, p.key(0)), (2, p.key(2)))


@tell("LOG-02", "violating", "gap", NUMBERLESS)
def the_middle_is_missing_without_positions(h: HistoryBuilder) -> None:
    the_middle_is_missing(h)


@tell("LOG-02", "clean")
@tell("LOG-08", "clean")
def the_middle_is_reported_lost(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    r = h.reader()
    r.read((0, p.key(0)))
    r.report(1, 2, Cause.DROP)
    r.read((2, p.key(2)))


@tell("LOG-02", "violating", "gap")
def a_blanket_report_excuses_nothing(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    r = h.reader()
    r.read((0, p.key(0)))
    r.report(0, 1000)
    r.read((2, p.key(2)))


@tell("LOG-02", "violating", "silent-late-start")
def granted_the_start_and_began_later(h: HistoryBuilder) -> None:
    _, b = two(h)
    r = h.reader()
    r.open(0)
    r.read((1, b))


@tell("LOG-02", "clean")
def what_was_trimmed_is_not_expected(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 2, 0)
    p.trim(1)
    r = h.reader()
    r.open(0)
    r.read((1, p.key(1)))


@tell("LOG-02", "clean", declared=STREAM_SYNC)
@tell("LOG-07", "clean", declared=STREAM_SYNC)
@tell("LOG-08", "clean", declared=STREAM_SYNC)
@tell("LOG-03", "clean", declared=STREAM_SYNC)
def an_unsynced_tail_is_cut_and_its_numbers_used_again(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 3, 0)
    h.kill(p)
    h.recovered(1)
    q = h.producer(1, incarnation=1)
    q.run(0, 2, 1)
    h.reader().read((0, p.key(0)), (1, q.key(0)), (2, q.key(1)))


@tell("LOG-03", "violating", "duplicate-stored")
def one_append_at_two_positions(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.reader().read((0, p.key(0)), (1, p.key(0)))


@tell("LOG-03", "violating", "duplicate-delivered")
@tell("LOG-08", "violating", "nonmonotonic-read")
def one_position_delivered_twice(h: HistoryBuilder) -> None:
    a, _ = two(h)
    h.reader().read((0, a), (0, a))


@tell("LOG-03", "violating", "duplicate-delivered", COMPETING)
def two_members_get_the_same_record(h: HistoryBuilder) -> None:
    a, _ = two(h)
    h.reader(group=7).read((0, a))
    h.reader(group=7).read((0, a))


@tell("LOG-04", "violating", "phantom")
def nobody_appended_what_is_read(h: HistoryBuilder) -> None:
    two(h)
    h.reader().read((2, Identity(9, 0, 9).key))


@tell("LOG-04", "violating", "phantom")
def read_before_it_was_appended(h: HistoryBuilder) -> None:
    p = h.producer(1)
    h.reader().read((0, p.key(0)))
    p.append(0).ok(0)


@tell("LOG-04", "violating", "phantom")
def rubbish_where_nothing_was_appended(h: HistoryBuilder) -> None:
    two(h)
    h.reader().read((5, 0), flags=Flag.BAD_DECODE)


@tell("LOG-04", "info")
def what_a_broken_run_had_begun_is_no_phantom(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 2, 0, ended=False)
    h.reader().read_run(0, p.key(0), 3)


@tell("LOG-05", "violating", "corrupt")
def another_digest_than_appended(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0, digest=7).ok(0)
    h.reader().read((0, p.key(0)), digest=8)


@tell("LOG-05", "violating", "corrupt")
def rubbish_where_a_record_should_be(h: HistoryBuilder) -> None:
    two(h)
    h.reader().read((1, 0), flags=Flag.BAD_DECODE)


@tell("LOG-05", "violating", "overwritten-view")
def a_view_changes_before_its_release(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0, digest=7).ok(0)
    r.read((0, p.key(0)), digest=7)
    r.release(0, p.key(0), digest=8)


@tell("LOG-06", "clean")
def a_failed_append_is_not_read(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).fail()
    p.append(1).ok(0)
    h.reader().read((0, p.key(1)))


@tell("LOG-06", "violating", "aborted-read")
def a_failed_append_is_read(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).fail()
    h.reader().read((0, p.key(0)))


@tell("LOG-06", "info")
def beside_a_failed_append_an_info_one_appears(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).fail()
    p.append(1).info()
    h.reader().read((0, p.key(1)))


@tell("LOG-07", "violating", "inconsistent-position")
def two_readers_find_two_records_at_one_position(h: HistoryBuilder) -> None:
    a, b = two(h)
    h.reader().read((0, a))
    h.reader().read((0, b))


@tell("LOG-07", "violating", "inconsistent-position")
def acknowledged_here_and_read_there(h: HistoryBuilder) -> None:
    a, _ = two(h)
    h.reader().read((5, a))


@tell("LOG-07", "violating", "read-then-lost", SYNCED)
def a_durable_record_was_read_and_vanished(h: HistoryBuilder) -> None:
    p, r = h.producer(1), h.reader()
    p.append(0).ok(0)
    r.read((0, p.key(0)))
    h.kill(p)
    h.recovered(0)
    r.drain()


@tell("LOG-08", "violating", "nonmonotonic-append")
def a_later_append_gets_a_lower_position(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(5)
    p.append(1).ok(4)


@tell("LOG-08", "violating", "nonmonotonic-read")
def a_chain_goes_back(h: HistoryBuilder) -> None:
    a, b = two(h)
    h.reader().read((1, b), (0, a))


@tell("LOG-08", "clean", declared=Declared(positions="increasing"))
def increasing_positions_may_leave_numbers_out(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.append(1).ok(64)
    h.reader().read((0, p.key(0)), (64, p.key(1)))


@tell("LOG-09", "clean")
def a_drain_holds_everything(h: HistoryBuilder) -> None:
    a, b = two(h)
    h.reader().drain((0, a), (1, b))


@tell("LOG-09", "violating", "unseen")
def a_drain_lacks_the_last(h: HistoryBuilder) -> None:
    a, _ = two(h)
    h.reader().drain((0, a))


@tell("LOG-09", "violating", "unseen")
def told_end_long_after_it_was_due(h: HistoryBuilder) -> None:
    a, _ = two(h)
    r = h.reader()
    r.read((0, a))
    h.wait(2 * DEADLINE)
    r.end()


@tell("LOG-09", "unknown")
@tell("LOG-10", "unknown")
def a_drain_that_never_ended_says_nothing(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.kill(p)
    h.reader().drain(complete=False)


@tell("LOG-09", "info", declared=STREAM_SYNC)
@tell("LOG-10", "info", declared=STREAM_SYNC)
def an_unsynced_and_an_info_append_are_lost(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.sync().ok()
    p.run(1, 2, 1, ended=False)
    h.kill(p)
    h.reader().drain((0, p.key(0)))


@tell("LOG-10", "info")
def a_kill_in_the_middle_leaves_an_append_in_doubt(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.append(1)
    h.kill(p)
    h.reader().drain((0, p.key(0)))


@tell("LOG-10", "clean")
def a_killed_writer_loses_nothing(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 2, 0, ended=False)
    h.kill(p)
    h.reader().drain((0, p.key(0)), (1, p.key(1)))


@tell("LOG-10", "violating", "lost-write-process")
def a_killed_writer_loses_an_acknowledged_record(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 2, 0, ended=False)
    h.kill(p)
    h.reader().drain((0, p.key(0)))


@tell("LOG-10", "violating", "lost-write-process", STREAM_SYNC)
def a_synced_record_is_lost(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.sync().ok()
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "unknown", declared=STREAM_SYNC)
def after_a_failed_sync_a_good_one_covers_nothing_older(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.sync().fail()
    p.sync().ok()
    h.kill(p)
    h.reader().drain()


@tell("LOG-10", "unknown", declared=Declared(tail_records=2))
def a_declared_tail_may_be_lost(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.run(0, 2, 0, ended=False)
    h.kill(p)
    h.reader().drain()


def _pending(h: HistoryBuilder, op: Op, flags: Flag = NO_FLAGS, beat: bool = True) -> None:
    two(h)
    actor = h.producer(2) if op in {Op.APPEND, Op.SYNC} else h.reader()
    actor.call(op, key=Identity(2, 0, 0).key if op is Op.APPEND else 0, flags=flags)
    if beat:
        h.awake(2 * DEADLINE)
    else:
        h.wait(2 * DEADLINE)
    h.event(Op.RUN_END)


@tell("LOG-23", "violating", "stuck-writer")
def an_append_hangs(h: HistoryBuilder) -> None:
    _pending(h, Op.APPEND)


@tell("LOG-23", "violating", "stuck-reader")
def a_read_hangs(h: HistoryBuilder) -> None:
    _pending(h, Op.READ)


@tell("LOG-23", "clean")
def a_read_may_wait_for_data(h: HistoryBuilder) -> None:
    _pending(h, Op.READ, Flag.WAIT)


@tell("LOG-23", "unknown")
def a_harness_without_a_heartbeat_convicts_nobody(h: HistoryBuilder) -> None:
    _pending(h, Op.APPEND, beat=False)


@tell("LOG-23", "violating", "unprovoked-death")
def a_writer_dies_of_its_own(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    h.exit(p, -11)


@tell("LOG-23", "info")
def a_killed_writer_leaves_its_call_open(h: HistoryBuilder) -> None:
    p = h.producer(1)
    p.append(0).ok(0)
    p.append(1)
    h.kill(p)
    h.exit(p, -9)
    h.awake(2 * DEADLINE)
