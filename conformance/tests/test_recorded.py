"""Recorded ports: the rows of a sound target make a history without problems that every check passes."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from fireassay.conformance.recorder.recorder import Actor, Recorder, Role
from fireassay.conformance.targets.plainlog import PlainLog
from fireassay.conformance.tests.tiny_trial import NONCE, history_of, judged, run_trial, verdicts
from fireassay.conformance.workload.drain import drain
from fireassay.conformance.workload.payload import make, sentinel
from fireassay.conformance.workload.recorded import RecordedReader, RecordedWriter
from fireassay.conformance.workload.scribe import Scribe
from fireassay.spec.history.model import Cause
from fireassay.spec.history.ops import Flag, Op, Phase
from fireassay.spec.history.row import Identity, Row
from fireassay.spec.outcomes import ErrorClass, Outcome, TargetError, status_of
from fireassay.spec.ports import AppendResult, CallResult, PortError, ReadBatch, Record, Report, ReportCause, SeekResult
from fireassay.spec.promises import SeekBy

FAILED = PortError(ErrorClass.FULL, 28, "full")


class Script:
    """A port that answers as it is told; an exception among the answers is raised."""

    granted = 5

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked: list[object] = []

    def _next(self, asked: object = None) -> object:
        self.asked.append(asked)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def append_batch(self, payloads: Sequence[bytes]) -> object:
        return self._next(tuple(payloads))

    def read_batch(self, limit: int, wait_s: float) -> object:
        return self._next((limit, wait_s))

    def commit(self, position: int) -> object:
        return self._next(position)

    def seek(self, by: SeekBy, request: int | bytes) -> object:
        return self._next((by, request))

    def sync(self) -> object:
        return self._next()

    def close(self) -> object:
        return self._next()


class Stage:
    """A recorder and one actor; the rows it wrote."""

    def __init__(self, directory: Path, role: Role) -> None:
        self.directory = directory
        self.recorder = Recorder.open(directory / "0001-x-1", [Actor(actor=2, role=role)], nonce=NONCE)
        self.scribe = Scribe(recorder=self.recorder, actor=2, stream=3, nonce=NONCE, group=4)

    def rows(self) -> list[Row]:
        self.recorder.close()
        history = history_of(self.directory)
        assert history.problems == ()
        return list(history.rows)


@pytest.fixture
def writing(tmp_path: Path) -> Stage:
    return Stage(tmp_path, Role.PRODUCER)


@pytest.fixture
def reading(tmp_path: Path) -> Stage:
    return Stage(tmp_path, Role.READER)


def test_a_sound_log_passes_every_check_that_has_evidence(tmp_path: Path) -> None:
    target = PlainLog(tmp_path / "place")
    (tmp_path / "place").mkdir()
    drained = run_trial(target, tmp_path / "rec")
    assert drained.complete, drained.reason
    assert [key for key in drained.keys if key][-1] == sentinel(1).key
    assert drained.positions == tuple(range(25))
    history = history_of(tmp_path / "rec")
    assert history.problems == ()
    results = judged(history, target)
    found = verdicts(results)
    assert set(found.values()) <= {"pass", "not-run", "not-applicable"}, results
    shown = {"LOG-01", "LOG-02", "LOG-03", "LOG-04", "LOG-05", "LOG-07", "LOG-08", "LOG-09", "LOG-23"}
    assert {clause for clause, verdict in found.items() if verdict == "pass"} >= shown, results


def test_an_append_batch_is_one_call_with_two_rows_per_record(writing: Stage) -> None:
    port = Script(AppendResult(outcome=Outcome.OK, positions=(5, 6)))
    writer = RecordedWriter(port, writing.scribe, producer=7, incarnation=2)  # type: ignore[arg-type]
    writer.append([64, 20], t_intended_ns=99)
    keys = [Identity(7, 2, number).key for number in (1, 2)]
    assert port.asked == [(make(NONCE, 3, keys[0], 64), make(NONCE, 3, 0, 20))]
    rows = writing.rows()
    assert [(row.op, row.phase, row.seq, row.key, row.value) for row in rows] == [
        (Op.APPEND, Phase.INVOKE, 0, keys[0], 64),
        (Op.APPEND, Phase.INVOKE, 0, keys[1], 20),
        (Op.APPEND, Phase.OK, 5, keys[0], 64),
        (Op.APPEND, Phase.OK, 6, keys[1], 20),
    ]
    assert [row.flags for row in rows] == [Flag(0), Flag.ANON, Flag(0), Flag.ANON]
    assert len({row.call for row in rows}) == 1
    assert {row.t_intended_ns for row in rows} == {99}
    assert rows[0].digest == rows[2].digest != 0
    assert {(row.actor, row.stream) for row in rows} == {(2, 3)}


def test_a_batch_that_ends_in_the_middle_is_told_record_by_record(writing: Stage) -> None:
    port = Script(AppendResult(outcome=Outcome.FAIL, error=FAILED, positions=(9,)))
    RecordedWriter(port, writing.scribe, producer=1).append([64, 64, 64])  # type: ignore[arg-type]
    done = writing.rows()[3:]
    assert [row.phase for row in done] == [Phase.OK, Phase.FAIL, Phase.FAIL]
    assert [row.status for row in done] == [0, *[status_of(ErrorClass.FULL, 28)] * 2]


@pytest.mark.parametrize(
    ("answer", "phases"),
    [
        (RuntimeError("broken"), [Phase.INFO, Phase.INFO]),
        (None, [Phase.INFO, Phase.INFO]),
        (AppendResult(outcome=Outcome.OK, positions=(1, 2, 3)), [Phase.INFO, Phase.INFO]),
        (AppendResult(outcome=Outcome.OK, positions=("a", "b")), [Phase.INFO, Phase.INFO]),  # type: ignore[arg-type]
        (AppendResult(outcome=Outcome.OK, positions=(-1, 2)), [Phase.INFO, Phase.INFO]),
        (AppendResult(outcome=Outcome.OK, positions=(1,)), [Phase.OK, Phase.INFO]),
        (AppendResult(outcome=Outcome.FAIL, error=FAILED, positions=(1, 2)), [Phase.OK, Phase.INFO]),
    ],
)
def test_nonsense_out_of_an_append_is_info(writing: Stage, answer: object, phases: list[Phase]) -> None:
    result = RecordedWriter(Script(answer), writing.scribe, producer=1).append([64, 64])  # type: ignore[arg-type]
    assert result.outcome is Outcome.INFO
    assert [row.phase for row in writing.rows()[2:]] == phases


def test_no_record_is_no_call(writing: Stage) -> None:
    assert RecordedWriter(Script(), writing.scribe, producer=1).append([]).outcome is Outcome.OK  # type: ignore[arg-type]
    assert writing.rows() == []


def test_a_number_is_never_used_twice(writing: Stage) -> None:
    answers = [AppendResult(outcome=Outcome.FAIL, error=FAILED) for _ in range(3)]
    writer = RecordedWriter(Script(*answers), writing.scribe, producer=1)  # type: ignore[arg-type]
    for _ in range(3):
        writer.append([64, 64])
    invoked = [row.key for row in writing.rows() if row.phase is Phase.INVOKE]
    assert invoked == [Identity(1, 0, number).key for number in range(1, 7)]


def test_sync_and_close_record_what_came_of_them(writing: Stage) -> None:
    port = Script(CallResult(outcome=Outcome.OK), CallResult(outcome=Outcome.FAIL, error=FAILED), OSError(5, "io"))
    writer = RecordedWriter(port, writing.scribe, producer=1)  # type: ignore[arg-type]
    writer.sync()
    writer.sync()
    assert writer.close().outcome is Outcome.INFO
    assert [(row.op, row.phase, row.status) for row in writing.rows()[1::2]] == [
        (Op.SYNC, Phase.OK, 0),
        (Op.SYNC, Phase.FAIL, status_of(ErrorClass.FULL, 28)),
        (Op.CLOSE, Phase.INFO, status_of(ErrorClass.IO, 5)),
    ]


def test_a_read_tells_reports_then_records_then_end(reading: Stage) -> None:
    key = Identity(1, 0, 9).key
    whole, short = make(NONCE, 3, key, 64), make(NONCE, 3, 0, 9)
    bad = whole[:-1] + b"\0"
    records = tuple(Record(position=p, payload=payload) for p, payload in ((5, whole), (6, short), (7, bad)))
    report = Report(cause=ReportCause.DAMAGE, begin=2, end=5)
    port = Script(ReadBatch(outcome=Outcome.OK, records=records, end=True, reports=(report,)))
    got = RecordedReader(port, reading.scribe).read(10, 0.5)  # type: ignore[arg-type]
    assert [checked.ok for checked in got.checked] == [True, True, False]
    rows = reading.rows()
    assert [(row.op, row.phase, row.seq, row.key, row.value) for row in rows] == [
        (Op.READ, Phase.INVOKE, 0, 0, 0),
        (Op.REPORT, Phase.EVENT, 2, Cause.DAMAGE, 5),
        (Op.READ, Phase.OK, 5, key, 64),
        (Op.READ, Phase.OK, 6, 0, 9),
        (Op.READ, Phase.OK, 7, key, 64),
        (Op.READ, Phase.OK, 8, 0, 3),
    ]
    assert [row.flags for row in rows] == [Flag.WAIT, Flag(0), Flag(0), Flag.ANON, Flag.BAD_DECODE | Flag.LAST_IN_BATCH, Flag.END]


def test_a_read_of_nothing_is_no_delivery_and_no_end(reading: Stage) -> None:
    RecordedReader(Script(ReadBatch(outcome=Outcome.OK)), reading.scribe).read(10)  # type: ignore[arg-type]
    rows = reading.rows()
    assert [row.phase for row in rows] == [Phase.INVOKE, Phase.FAIL]
    assert history_of(reading.directory).deliveries == ()


def test_an_end_without_records_stands_where_the_reader_stood(reading: Stage) -> None:
    record = Record(position=8, payload=make(NONCE, 3, 1, 64))
    port = Script(
        ReadBatch(outcome=Outcome.OK, end=True),
        ReadBatch(outcome=Outcome.OK, records=(record,)),
        ReadBatch(outcome=Outcome.OK, end=True),
        SeekResult(outcome=Outcome.OK, granted=2),
        ReadBatch(outcome=Outcome.OK, end=True),
    )
    reader = RecordedReader(port, reading.scribe)  # type: ignore[arg-type]
    for _ in range(3):
        reader.read(1)
    reader.seek(SeekBy.POSITION, 2)
    reader.read(1)
    assert [row.seq for row in reading.rows() if Flag.END in row.flags] == [5, 9, 2]


@pytest.mark.parametrize(
    ("answer", "phases"),
    [
        (RuntimeError("broken"), [Phase.INFO]),
        (None, [Phase.INFO]),
        (ReadBatch(outcome=Outcome.FAIL, error=FAILED), [Phase.FAIL]),
        (ReadBatch(outcome=Outcome.INFO, error=FAILED), [Phase.INFO]),
        (ReadBatch(outcome=Outcome.FAIL, error=FAILED, records=(Record(position=1, payload=b"x" * 40),)), [Phase.OK, Phase.INFO]),
        (ReadBatch(outcome=Outcome.OK, records=(Record(position=-1, payload=b"x"),)), [Phase.INFO]),
        (ReadBatch(outcome=Outcome.OK, records=(Record(position=1, payload="text"),)), [Phase.INFO]),  # type: ignore[arg-type]
    ],
)
def test_nonsense_out_of_a_read_is_info(reading: Stage, answer: object, phases: list[Phase]) -> None:
    RecordedReader(Script(answer), reading.scribe).read(10)  # type: ignore[arg-type]
    assert [row.phase for row in reading.rows()[1:]] == phases


def test_a_view_is_compared_again_before_the_next_call(reading: Stage) -> None:
    memory = bytearray(make(NONCE, 3, 77, 64))
    port = Script(
        ReadBatch(outcome=Outcome.OK, records=(Record(position=5, payload=memoryview(memory)),)),
        CallResult(outcome=Outcome.OK),
        CallResult(outcome=Outcome.OK),
    )
    reader = RecordedReader(port, reading.scribe)  # type: ignore[arg-type]
    reader.read(1)
    memory[40] ^= 1
    reader.commit(6)
    reader.close()
    rows = reading.rows()
    assert [row.op for row in rows] == [Op.READ, Op.READ, Op.RELEASE, Op.COMMIT, Op.COMMIT, Op.CLOSE, Op.CLOSE]
    assert rows[2].flags is Flag.BAD_DECODE
    assert rows[2].digest != rows[1].digest
    assert (rows[3].seq, rows[3].key) == (6, 4)


def test_ids_and_timestamps_follow_their_record(reading: Stage) -> None:
    record = Record(position=5, payload=b"x" * 40, id=bytes(range(16)), timestamp_ns=123)
    RecordedReader(Script(ReadBatch(outcome=Outcome.OK, records=(record,))), reading.scribe).read(1)  # type: ignore[arg-type]
    attr = reading.rows()[2]
    assert (attr.op, attr.phase, attr.value) == (Op.ATTR, Phase.EVENT, 123)
    assert (attr.seq << 64 | attr.key).to_bytes(16, "big") == bytes(range(16))


class Refusing:
    """A target whose opens do as they are told."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def open_writer(self, stream: str) -> object:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_recovery_stands_around_its_open(writing: Stage) -> None:
    RecordedWriter.open(Refusing(Script()), "s", writing.scribe, producer=1, after_crash=3)  # type: ignore[arg-type]
    assert [(row.op, row.phase, row.seq, row.key) for row in writing.rows()] == [
        (Op.RECOVERY_BEGIN, Phase.EVENT, 0, 3),
        (Op.OPEN_WRITER, Phase.INVOKE, 0, 0),
        (Op.OPEN_WRITER, Phase.OK, 5, 0),
        (Op.RECOVERY_END, Phase.EVENT, 5, 3),
    ]


@pytest.mark.parametrize(("error", "phase"), [(TargetError("no"), Phase.FAIL), (RuntimeError("no"), Phase.INFO)])
def test_a_refused_open_is_fail_and_a_broken_one_info(writing: Stage, error: Exception, phase: Phase) -> None:
    with pytest.raises(type(error), match="no"):
        RecordedWriter.open(Refusing(error), "s", writing.scribe, producer=1, after_crash=3)  # type: ignore[arg-type]
    assert [(row.op, row.phase) for row in writing.rows()][1:] == [(Op.OPEN_WRITER, Phase.INVOKE), (Op.OPEN_WRITER, phase)]


def test_a_drain_without_its_sentinel_is_given_up(reading: Stage) -> None:
    class Empty(Script):
        def read_batch(self, limit: int, wait_s: float) -> ReadBatch:
            return ReadBatch(outcome=Outcome.OK, end=True)

    drained = drain(RecordedReader(Empty(), reading.scribe), 1, deadline_s=0.02)  # type: ignore[arg-type]
    assert not drained.complete
    assert "no sentinel" in drained.reason
    reading.recorder.close()
    (found,) = history_of(reading.directory).drains
    assert found.flaw == "it never ended"


def test_a_drain_ends_with_the_first_read_that_is_not_ok(reading: Stage) -> None:
    port = Script(ReadBatch(outcome=Outcome.FAIL, error=FAILED))
    drained = drain(RecordedReader(port, reading.scribe), 1, deadline_s=60)  # type: ignore[arg-type]
    assert drained.reason == "a read was fail: full"
