"""The model of a log: what it takes for right, and the one clause that each wrong delivery breaks."""

import pytest

from fireassay.spec.models.log import Log

A, B, C, D = (bytes([letter]) * 40 for letter in b"ABCD")


def log(*payloads: bytes, read: int = 0, committed: int = 0) -> Log:
    """With a reader r that has been given so many and has committed so many."""
    made = Log()
    assert made.appended(payloads, range(10, 10 + len(payloads))) is None
    made.opened("r")
    assert made.delivered("r", payloads[:read], range(10, 10 + read), end=False) is None
    made.committed("r", 10 + committed)
    return made


def wrong(made: Log, *payloads: bytes, first: int = 10, end: bool = False) -> str:
    found = made.delivered("r", payloads, range(first, first + len(payloads)), end=end)
    return found.clause if found is not None else ""


def test_what_was_appended_is_delivered_in_order() -> None:
    made = log(A, B, b"", C)
    assert not wrong(made, A, B)
    assert made.due("r") == [b"", C]
    assert not wrong(made, b"", C, first=12, end=True)


def test_a_reader_comes_back_to_its_commit_and_is_given_the_rest_again() -> None:
    made = log(A, B, C, read=3, committed=1)
    made.opened("r")
    assert made.due("r") == [B, C]
    assert not wrong(made, B, C, first=11, end=True)


def test_a_reader_that_committed_nothing_begins_at_the_start() -> None:
    made = log(A, B, read=2)
    made.opened("r")
    assert not wrong(made, A)


def test_a_commit_between_two_positions_is_of_the_records_before_it() -> None:
    made = Log()
    made.appended([A, B, C], [10, 20, 30])
    made.opened("r")
    made.committed("r", 21)
    made.opened("r")
    assert made.due("r") == [C]


@pytest.mark.parametrize(
    ("read", "given", "clause"),
    [
        (0, (B, A), "LOG-01"),
        (0, (B, C), "LOG-02"),
        (1, (C,), "LOG-02"),
        (1, (A,), "LOG-03"),
        (4, (D,), "LOG-03"),
        (0, (b"Z" * 40,), "LOG-04"),
        (4, (b"Z" * 40,), "LOG-04"),
        (0, (A[:-1] + b"x",), "LOG-05"),
        (0, (A[:-1],), "LOG-05"),
        (0, (A + bytes(24),), "LOG-05"),
    ],
)
def test_a_wrong_delivery_breaks_one_clause(read: int, given: tuple[bytes, ...], clause: str) -> None:
    assert wrong(log(A, B, C, D, read=read), *given, first=10 + read) == clause


def test_another_position_than_it_was_told_breaks_one() -> None:
    assert wrong(log(A, B), A, first=11) == "LOG-07"


def test_a_position_that_does_not_grow_breaks_one() -> None:
    made = log(A)
    found = made.appended([B], [10])
    assert found is not None
    assert found.clause == "LOG-08"


def test_an_end_before_the_end_breaks_one() -> None:
    assert wrong(log(A, B), A, end=True) == "LOG-09"


@pytest.mark.parametrize("given", [A, C])
def test_a_restart_that_resumes_elsewhere_breaks_one(given: bytes) -> None:
    made = log(A, B, C, read=2, committed=1)
    made.opened("r")
    assert wrong(made, given) == "LOG-16"


def test_what_was_refused_is_never_delivered() -> None:
    made = log(A, read=1)
    made.failed([B])
    assert wrong(made, B, first=11) == "LOG-06"
