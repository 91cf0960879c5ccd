"""Promises become what the checks take as promised; nothing is promised that the file does not say."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.spec.checks import Declared
from fireassay.spec.history.model import Cause
from fireassay.spec.promises import Promises

MS = 1_000_000


def declared(text: str, **harness: int) -> Declared:
    return Declared.of(Promises.from_toml("version = 1\n" + text, "f.toml"), **harness)


def test_a_file_that_promises_nothing_declares_nothing() -> None:
    assert declared("") == Declared(
        survives_process_death="never",
        survives_power_loss="never",
        sync_scope="none",
        positions="none",
        independent_too=True,
        report_causes=frozenset(Cause),
    )


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("survives.process_death.after = 'append'", "survives_process_death", "after-append"),
        ("sync.scope = 'handle'\nsurvives.process_death.after = 'sync'", "survives_process_death", "after-sync"),
        ("survives.process_death = {after = 'append', tail_records = 7}", "tail_records", 7),
        ("survives.process_death = {after = 'append', tail_ms = 7}", "tail_ns", 7 * MS),
        ("survives = {process_death.after = 'append', power_loss.after = 'append'}", "survives_power_loss", "after-append"),
        (
            "sync.scope = 'handle'\nsurvives = {process_death.after = 'sync', power_loss.after = 'sync'}",
            "survives_power_loss",
            "after-sync",
        ),
        ("survives = {process_death.after = 'append', power_loss = {after = 'append', tail_records = 7}}", "power_tail_records", 7),
        ("survives = {process_death.after = 'append', power_loss = {after = 'append', tail_ms = 7}}", "power_tail_ns", 7 * MS),
        ("sync.scope = 'handle'", "sync_scope", "handle"),
        ("sync.scope = 'stream'", "sync_scope", "stream"),
        ("sync.scope = 'all'", "sync_scope", "all"),
        ("sync = {scope = 'all', covers_other_processes = true}", "sync_covers_other_processes", True),
        ("sync.scope = 'all'\nvisible = 'sync'", "visible", "sync"),
        ("position.kind = 'dense'\nwriters.order = 'total'", "total_order", True),
        ("position.kind = 'dense'", "positions", "dense"),
        ("position.kind = 'increasing'", "positions", "increasing"),
        ("readers.kinds = ['exclusive-shards']", "readers", "exclusive-shards"),
        ("readers.kinds = ['competing', 'exclusive-shards']", "readers", "competing"),
        ("readers.kinds = ['competing']", "independent_too", False),
        ("readers.kinds = ['competing', 'independent']", "independent_too", True),
        ("readers = {kinds = ['competing'], redelivery = ['restart', 'ack-timeout']}", "redelivery", {"restart", "ack-timeout"}),
        ("retention.protects = 'all'", "report_causes", {Cause.DAMAGE, Cause.RESET}),
        ("retention.protects = 'live'", "report_causes", {Cause.DAMAGE, Cause.RESET}),
        ("retention = {protects = 'live', drop_past_lag = 5}", "report_causes", set(Cause)),
    ],
)
def test_each_promise_is_declared(text: str, field: str, value: Any) -> None:
    assert getattr(declared(text), field) == value
    assert getattr(declared(""), field) != value or value is True or value == set(Cause)


def test_the_power_loss_promise_is_not_mistaken_for_that_of_process_death() -> None:
    survives = "survives = {process_death.after = 'append', power_loss = {after = 'append', tail_records = 9, tail_ms = 9}}"
    both = declared(survives)
    assert both.promise("process") == ("after-append", 0, 0)
    assert both.promise("power") == ("after-append", 9, 9 * MS)


@pytest.mark.parametrize("bound", ["recovery_ms", "release_ms", "staleness_ms"])
def test_the_deadline_is_the_harness_s_but_no_shorter_than_a_bound_of_the_target(bound: str) -> None:
    assert declared(f"bounds.{bound} = 50", deadline_ns=MS).deadline_ns == 50 * MS
    assert declared(f"bounds.{bound} = 50", deadline_ns=70 * MS).deadline_ns == 70 * MS
    assert declared(f"bounds.{bound} = 50").deadline_ns == 0


def test_the_clock_s_error_is_passed_on() -> None:
    assert declared("", epsilon_ns=17).epsilon_ns == 17


KINDS = ["independent", "exclusive-shards", "competing"]


@given(st.lists(st.sampled_from(KINDS), min_size=1, unique=True), st.integers(0, 3))
def test_a_reader_is_alone_or_of_a_group_and_in_order_unless_it_competes(kinds: list[str], group: int) -> None:
    made = declared(f"readers.kinds = {kinds}")
    assert not (made.alone(group) and made.competes(group))
    assert made.ordered(group) is not made.competes(group)
    if "competing" not in kinds:
        assert not made.competes(group)
    if "independent" in kinds:
        assert made.alone(0)


@pytest.mark.parametrize("kinds", [["competing"], ["independent", "competing"]])
def test_what_comes_again_by_timeout_disturbs_only_groups(kinds: list[str]) -> None:
    made = declared(f"readers = {{kinds = {kinds}, redelivery = ['ack-timeout']}}")
    assert not made.ordered(1)
    assert made.ordered(0) is ("independent" in kinds)
