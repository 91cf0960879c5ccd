"""How verdicts fold, and how a status is packed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.spec.outcomes import ErrorClass, Verdict, fold, status_of

verdicts = st.sampled_from(Verdict)
many = st.lists(verdicts)
WORST_FIRST = [Verdict.FAIL, Verdict.UNKNOWN, Verdict.NOT_RUN, Verdict.TOLERATED, Verdict.PASS]


def test_no_evidence_is_never_a_pass() -> None:
    assert fold([]) is Verdict.NOT_RUN


@given(verdicts)
def test_one_verdict_folds_to_itself(verdict: Verdict) -> None:
    assert fold([verdict]) is verdict


@given(many, st.randoms())
def test_order_and_repetition_do_not_matter(given_verdicts: list[Verdict], random: object) -> None:
    shuffled = given_verdicts * 2
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert fold(shuffled) is fold(given_verdicts)


@given(st.lists(st.lists(verdicts, min_size=1), min_size=1))
def test_folding_folds_is_folding_all(parts: list[list[Verdict]]) -> None:
    assert fold(fold(part) for part in parts) is fold(verdict for part in parts for verdict in part)


@given(many, verdicts)
def test_more_evidence_never_hides_what_is_worse(before: list[Verdict], more: Verdict) -> None:
    rank = {verdict: place for place, verdict in enumerate([*WORST_FIRST, Verdict.NOT_APPLICABLE])}
    if before:
        assert rank[fold([*before, more])] == min(rank[fold(before)], rank[more])


@given(many)
def test_not_applicable_stands_apart(some: list[Verdict]) -> None:
    others = [verdict for verdict in some if verdict is not Verdict.NOT_APPLICABLE]
    if others:
        assert fold(some) is fold(others)


@given(many)
def test_a_pass_needs_a_pass_and_nothing_worse(some: list[Verdict]) -> None:
    assert (fold(some) is Verdict.PASS) == (set(some) - {Verdict.NOT_APPLICABLE} == {Verdict.PASS})


@given(st.sampled_from(ErrorClass), st.integers(0, 0xFFFF))
def test_a_status_gives_back_class_and_errno(error: ErrorClass, errno: int) -> None:
    status = status_of(error, errno)
    assert (ErrorClass(status >> 16), status & 0xFFFF) == (error, errno)
    assert 0 <= status < 1 << 31


@given(st.integers().filter(lambda errno: not 0 <= errno <= 0xFFFF))
def test_an_errno_that_does_not_fit_is_refused(errno: int) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        status_of(ErrorClass.IO, errno)
