"""Canaries: the judge is judged before it judges.

Each handmade history breaks one clause, goes through 64-byte rows and back as a recording does, and must be convicted of
that clause by the right anomaly. Its clean twin must pass. They speak for the harness and never for a target, so their markers
say canary=True: the gate does not count them as the case of a clause.
"""

from collections.abc import Callable

import pytest

from fireassay.spec.checks import Declared, judge
from fireassay.spec.history.builder import HistoryBuilder
from fireassay.spec.history.history import History
from fireassay.spec.history.row import ROW_SIZE, Row, pack, unpack
from fireassay.spec.outcomes import Verdict

Script = Callable[[HistoryBuilder, bool], None]  # writes the history; True: the broken one


def reorder(h: HistoryBuilder, broken: bool) -> None:
    p, r = h.producer(1), h.reader()
    p.append(1).ok(position=0)
    p.append(2).ok(position=1)
    first, second = (p.key(2), p.key(1)) if broken else (p.key(1), p.key(2))
    r.read((0, first), (1, second))


def gap(h: HistoryBuilder, broken: bool) -> None:
    p, r = h.producer(1), h.reader()
    for number in (1, 2, 3):
        p.append(number).ok(position=number - 1)
    r.open(0)
    r.read(*((number - 1, p.key(number)) for number in (1, 2, 3) if not (broken and number == 2)))


def twice(h: HistoryBuilder, broken: bool) -> None:
    p, r = h.producer(1), h.reader()
    p.append(1).ok(position=0)
    r.read((0, p.key(1)))
    if broken:
        r.read((0, p.key(1)))


def phantom(h: HistoryBuilder, broken: bool) -> None:
    p, r = h.producer(1), h.reader()
    p.append(1).ok(position=0)
    r.read((0, p.key(1)))
    if broken:
        r.read((1, p.key(9)))


def corrupt(h: HistoryBuilder, broken: bool) -> None:
    p, r = h.producer(1), h.reader()
    p.append(1, digest=7).ok(position=0)
    r.read((0, p.key(1)), digest=8 if broken else 7)


def aborted(h: HistoryBuilder, broken: bool) -> None:
    p, r = h.producer(1), h.reader()
    p.append(1).ok(position=0)
    p.append(2).fail()
    r.read((0, p.key(1)))
    if broken:
        r.read((1, p.key(2)))


CANARIES = (
    pytest.param(reorder, "LOG-01", "reorder", id="reorder", marks=pytest.mark.clause("LOG-01", canary=True)),
    pytest.param(gap, "LOG-02", "gap", id="gap", marks=pytest.mark.clause("LOG-02", canary=True)),
    pytest.param(twice, "LOG-03", "duplicate-delivered", id="twice", marks=pytest.mark.clause("LOG-03", canary=True)),
    pytest.param(phantom, "LOG-04", "phantom", id="phantom", marks=pytest.mark.clause("LOG-04", canary=True)),
    pytest.param(corrupt, "LOG-05", "corrupt", id="corrupt", marks=pytest.mark.clause("LOG-05", canary=True)),
    pytest.param(aborted, "LOG-06", "aborted-read", id="aborted", marks=pytest.mark.clause("LOG-06", canary=True)),
)


def through_bytes(builder: HistoryBuilder) -> History:
    """As recordings are read: each actor's rows, 64 bytes each, decoded anew."""
    recordings: dict[int, bytes] = {}
    for row in builder.rows():
        recordings[row.actor] = recordings.get(row.actor, b"") + pack(row)
    decoded: list[list[Row]] = []
    for data in recordings.values():
        assert len(data) % 64 == 0
        decoded.append([unpack(data[at : at + ROW_SIZE]) for at in range(0, len(data), ROW_SIZE)])
    return History.of(decoded, builder.build().actors.values())


def judged(script: Script, broken: bool) -> dict[str, tuple[Verdict, set[str]]]:
    builder = HistoryBuilder()
    script(builder, broken)
    results = judge(through_bytes(builder), Declared())
    return {result.clause: (result.verdict, {witness.anomaly for witness in result.witnesses}) for result in results}


@pytest.mark.parametrize(("script", "clause", "anomaly"), CANARIES)
def test_a_broken_history_is_convicted(script: Script, clause: str, anomaly: str) -> None:
    verdict, anomalies = judged(script, True)[clause]
    assert verdict is Verdict.FAIL
    assert anomaly in anomalies


@pytest.mark.parametrize(("script", "clause", "anomaly"), CANARIES)
def test_its_clean_twin_passes(script: Script, clause: str, anomaly: str) -> None:
    results = judged(script, False)
    assert results[clause] == (Verdict.PASS, set())
    assert not [name for name, (verdict, _) in results.items() if verdict is Verdict.FAIL]
