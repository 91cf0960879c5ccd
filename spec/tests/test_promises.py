"""Promise files: the linter means what the schema means, every contradiction is caught, and what is written is read back."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fireassay.spec import promises as module
from fireassay.spec.clause import Clause, Level, Method
from fireassay.spec.clauses import ALL
from fireassay.spec.promises import (
    CONDITIONS,
    After,
    Bounds,
    Cursors,
    CursorSurvival,
    Promises,
    PromisesError,
    Retention,
    Survival,
    Survives,
    applicable,
)
from fireassay.spec.promises_schema import build, contradictions, json_schema, lint, schema_text, structure

SCHEMA = json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


# What JSON Schema calls an integer includes 1.0; TOML writes that as a float, and a promise file may not.
junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not number.is_integer()),
    st.text(max_size=4),
    st.lists(st.text(max_size=4), max_size=2),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
)


def sound(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values the schema accepts, drawn from its own words."""
    if schema["type"] == "object":
        required = set(schema.get("required", ()))
        parts = {name: sound(part) for name, part in schema["properties"].items()}
        return st.fixed_dictionaries(
            {name: part for name, part in parts.items() if name in required},
            optional={name: part for name, part in parts.items() if name not in required},
        )
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "array":
        return st.lists(st.sampled_from(schema["items"]["enum"]), unique=True, min_size=schema.get("minItems", 0))
    return st.booleans() if schema["type"] == "boolean" else st.integers(schema["minimum"], 1 << 40)


@st.composite
def spoiled(draw: st.DrawFn) -> dict[str, Any]:
    """A sound document with up to three places overwritten, removed or invented."""
    document: dict[str, Any] = draw(sound(SCHEMA))
    for _ in range(draw(st.integers(0, 3))):
        table = document
        while draw(st.booleans()):
            below = [value for value in table.values() if isinstance(value, dict)]
            if not below:
                break
            table = draw(st.sampled_from(below))
        key = draw(st.sampled_from(sorted(table)) | st.text(max_size=6)) if table else draw(st.text(max_size=6))
        if draw(st.booleans()):
            table[key] = draw(junk | st.lists(st.sampled_from(["position", "time", "independent", "restart"]), max_size=3))
        else:
            table.pop(key, None)
    return document


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a loaded machine is no finding
@given(spoiled())
def test_the_linter_accepts_exactly_what_the_schema_accepts(document: dict[str, Any]) -> None:
    assert (structure(document, "f.toml") == ()) == VALIDATOR.is_valid(document)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sound(SCHEMA))
def test_sound_structure_is_accepted_by_both(document: dict[str, Any]) -> None:
    assert structure(document, "f.toml") == ()
    VALIDATOR.validate(document)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sound(SCHEMA).map(build))
def test_what_is_written_is_read_back(promises: Promises) -> None:
    document = tomllib.loads(promises.to_toml())
    assert structure(document, "f.toml") == ()
    assert build(document) == promises
    if not contradictions(promises, "f.toml"):
        assert Promises.from_toml(promises.to_toml(), "f.toml") == promises


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_kept_schema_is_fresh() -> None:
    kept = Path(module.__file__).with_name("promises.schema.json").read_text("utf-8")
    assert kept == schema_text(), "run: python -m fireassay.spec.promises_schema > spec/promises.schema.json"
    assert json.loads(kept) == SCHEMA


def test_a_file_that_promises_nothing_is_sound() -> None:
    assert Promises.from_toml("version = 1\n", "f.toml") == Promises()


@pytest.mark.parametrize(
    ("text", "path", "wrong", "remedy"),
    [
        ("", "version", "is missing", "write version = 1"),
        ("version = 2", "version", "is 2", "write 1"),
        ("version = true", "version", "is true", "write 1"),
        ("version = 1\nsurvive = 1", "survive", "no such promise", "did you mean survives?"),
        ("version = 1\nsurvives.power_los.after = 'sync'", "survives.power_los", "no such promise", "did you mean power_loss?"),
        ("version = 1\nxyzzy = 1", "xyzzy", "no such promise", "it can be version, survives"),
        ("version = 1\nsurvives.power_loss.after = 'synch'", "survives.power_loss.after", "is 'synch'", "did you mean sync?"),
        ("version = 1\nsurvives.power_loss.after = 3", "survives.power_loss.after", "is 3", "append, sync or never"),
        ("version = 1\nsync = 'all'", "sync", "not a table", "[sync]"),
        ("version = 1\nsync.covers_other_processes = 'yes'", "sync.covers_other_processes", "is 'yes'", "true or false"),
        ("version = 1\nreaders.kinds = []", "readers.kinds", "empty", "at least one of independent"),
        ("version = 1\nreaders.kinds = 'competing'", "readers.kinds", "is 'competing'", "a list of"),
        ("version = 1\nseek.by = ['id', 'tme']", "seek.by[1]", "is 'tme'", "did you mean time?"),
        ("version = 1\nseek.by = ['id', 'id']", "seek.by[1]", "twice", "once"),
        ("version = 1\nbounds.max_payload = 0", "bounds.max_payload", "is 0", "at least 1"),
        ("version = 1\nbounds.max_payload = -5", "bounds.max_payload", "is -5", "at least 1"),
        ("version = 1\nbounds.recovery_ms = 1.5", "bounds.recovery_ms", "is 1.5", "whole number"),
        ("version = 1\nbounds.staleness_ms = true", "bounds.staleness_ms", "is true", "whole number"),
    ],
)
def test_wrong_structure_is_named_with_its_remedy(text: str, path: str, wrong: str, remedy: str) -> None:
    (problem,) = lint(tomllib.loads(text), "f.toml")
    assert problem.path == path
    assert wrong in problem.wrong
    assert remedy in problem.remedy


@pytest.mark.parametrize(
    ("text", "path", "wrong", "remedy"),
    [
        ("visible = 'sync'", "visible", "no sync", "declare sync.scope"),
        ("survives.process_death.after = 'sync'", "survives.process_death.after", "no sync", "declare sync.scope"),
        ("cursors.process_death.after = 'sync'", "cursors.process_death.after", "no sync", "declare sync.scope"),
        ("sync.covers_other_processes = true", "sync.covers_other_processes", "scope is none", "widen sync.scope"),
        ("sync = {scope = 'handle', covers_other_processes = true}", "sync.covers_other_processes", "scope is handle", "widen"),
        ("survives.power_loss.after = 'append'", "survives.power_loss.after", "stronger than never", "weaken it to never"),
        (
            "sync.scope = 'all'\nsurvives = {process_death.after = 'sync', power_loss.after = 'append'}",
            "survives.power_loss.after",
            "stronger than sync",
            "strengthen survives.process_death.after",
        ),
        ("cursors.power_loss.after = 'commit'", "cursors.power_loss.after", "stronger than never", "strengthen cursors.process_death"),
        (
            "survives = {process_death = {after = 'append', tail_records = 9}, power_loss.after = 'append'}",
            "survives.power_loss.after",
            "no tail",
            "allow the tail here too",
        ),
        (
            "survives = {process_death = {after = 'append', tail_ms = 9}, power_loss = {after = 'append', tail_ms = 8}}",
            "survives.power_loss.tail_ms",
            "is 8, less than the 9",
            "raise it to 9",
        ),
        ("survives.process_death.tail_records = 5", "survives.process_death.tail_records", "never", "raise survives.process_death.after"),
        ("cursors.power_loss = {after = 'never', tail_ms = 5}", "cursors.power_loss.tail_ms", "never", "remove it"),
        ("writers = {count = 'many', order = 'total'}", "writers.order", "position.kind is none", "declare position.kind"),
        ("seek.by = ['position']", "seek.by", "position.kind is none", "declare position.kind"),
        ("retention.drop_past_lag = 5", "retention.drop_past_lag", "protects is none", "retention.protects = live"),
        ("retention = {protects = 'all', drop_past_lag = 5}", "retention.drop_past_lag", "protects is all", "leave drop_past_lag out"),
        ("readers.redelivery = ['ack-timeout']", "readers.redelivery", "no group competes", "add competing"),
        ("readers.redelivery = ['rebalance']", "readers.redelivery", "no group", "add a group"),
    ],
)
def test_a_contradiction_is_named_with_its_remedy(text: str, path: str, wrong: str, remedy: str) -> None:
    document = tomllib.loads("version = 1\n" + text)
    assert VALIDATOR.is_valid(document)
    (problem,) = lint(document, "f.toml")
    assert problem.path == path
    assert wrong in problem.wrong
    assert remedy in problem.remedy
    with pytest.raises(PromisesError, match=r"f\.toml: " + path.replace(".", r"\.")):
        Promises.from_toml("version = 1\n" + text, "f.toml")


@pytest.mark.parametrize(
    "text",
    [
        "readers.kinds = ['competing']",
        "readers = {kinds = ['independent', 'competing'], redelivery = ['restart', 'ack-timeout', 'rebalance']}",
        "survives = {process_death.after = 'append', power_loss = {after = 'append', tail_records = 100, tail_ms = 5}}",
        "sync.scope = 'stream'\nvisible = 'sync'\nsurvives = {process_death.after = 'append', power_loss.after = 'sync'}",
        "retention = {protects = 'live', drop_past_lag = 5}",
        "writers = {count = 'many', order = 'total'}\nposition.kind = 'increasing'\nseek.by = ['position', 'time', 'id']",
    ],
)
def test_what_goes_together_is_left_alone(text: str) -> None:
    assert lint(tomllib.loads("version = 1\n" + text), "f.toml") == ()


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(PromisesError) as caught:
        Promises.from_toml("visibel = 1\nbounds.max_payload = 0\n", "f.toml")
    assert len(str(caught.value).splitlines()) == 3


def test_a_file_that_is_not_toml_is_named() -> None:
    with pytest.raises(PromisesError, match=r"^f\.toml: not TOML: .*line 1"):
        Promises.from_toml("version = x", "f.toml")


STRONG = """
version = 1
visible = "sync"
pressure = "blocks"
survives = {process_death.after = "append", power_loss.after = "sync"}
cursors.process_death.after = "commit"
sync = {scope = "all", covers_other_processes = true}
writers = {count = "many", order = "total"}
readers.kinds = ["independent", "competing"]
position = {kind = "dense", ordered_ids = true}
retention.protects = "live"
damage.detection = "checksum"
seek.by = ["position"]
bounds = {max_payload = 1024, recovery_ms = 1000, staleness_ms = 0, release_ms = 100}
"""


def test_no_condition_but_one_writer_holds_of_nothing() -> None:
    assert [name for name, condition in CONDITIONS.items() if condition.holds(Promises())] == ["one-writer"]


def test_every_condition_but_one_writer_holds_of_a_strong_log() -> None:
    strong = Promises.from_toml(STRONG, "f.toml")
    assert [name for name, condition in CONDITIONS.items() if not condition.holds(strong)] == ["one-writer"]


@pytest.mark.parametrize(
    ("promises", "name"),
    [
        (Promises(survives=Survives(process_death=Survival(after=After.APPEND))), "survives-process-death"),
        (Promises(cursors=Cursors(power_loss=CursorSurvival(after=module.CursorAfter.SYNC))), "durable-cursors"),
        (Promises(bounds=Bounds(staleness_ms=0)), "bounded-staleness"),
        (Promises(retention=Retention(protects=module.Protects.ALL)), "retention"),
        (Promises(position=module.Position(ordered_timestamps=True)), "ordered-ids-or-timestamps"),
    ],
)
def test_a_single_promise_meets_its_own_condition_only(promises: Promises, name: str) -> None:
    assert {key for key, condition in CONDITIONS.items() if condition.holds(promises)} == {name, "one-writer"}


def test_every_need_of_every_clause_is_a_condition() -> None:
    assert {need for clause in ALL for need in clause.needs} <= set(CONDITIONS)


def test_a_clause_applies_where_all_its_needs_hold() -> None:
    def clause(*needs: str) -> Clause:
        return Clause(id="LOG-99", level=Level.MUST, title="t", statement="s", why="w", seed="s", verified=(Method.CASE,), needs=needs)

    payload = Promises(bounds=Bounds(max_payload=1))
    assert applicable(clause(), Promises())
    assert applicable(clause("max-payload"), payload)
    assert not applicable(clause("max-payload", "seekable"), payload)
    with pytest.raises(KeyError):
        applicable(clause("seekable", "no-such-condition"), payload)
