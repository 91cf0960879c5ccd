"""Targets by name: what --target accepts, and what is said of what it does not."""

import os
import sys
from pathlib import Path

import pytest

from fireassay.conformance.targets import FailpointInfo, control_file, failpoints, known, load, parse, pid_of
from fireassay.conformance.targets.plainlog import PlainLog
from fireassay.spec.outcomes import HarnessError

PLAINLOG = "py:fireassay.conformance.targets.plainlog:make"


@pytest.mark.parametrize(
    ("text", "how", "name", "options", "command"),
    [
        ("comet", "name", "comet", {}, ()),
        ("comet?a=1&b=x%26y", "name", "comet", {"a": "1", "b": "x&y"}, ()),
        ("py:a.b:make?c=", "factory", "a.b:make", {"c": ""}, ()),
        ("driver:./run 'two words' -x", "driver", "./run", {}, ("./run", "two words", "-x")),
        ("driver:/opt/d?e=f", "driver", "/opt/d?e=f", {}, ("/opt/d?e=f",)),
    ],
)
def test_a_spec_is_read_as_written(text: str, how: str, name: str, options: dict[str, str], command: tuple[str, ...]) -> None:
    spec = parse(text)
    assert (spec.text, spec.how, spec.name, dict(spec.options), spec.command) == (text, how, name, options, command)
    assert spec.kind == ("driver" if how == "driver" else "object")


def test_a_label_is_fit_for_a_file_name() -> None:
    assert [parse(text).label for text in ("comet?a=1", "py:a.b:make", "driver:/opt/my driver", "driver:..")] == [
        "comet",
        "a.b-make",
        "my",
        "target",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is no name of a target"),
        ("two words", "is no name of a target"),
        ("../x", "is no name of a target"),
        ("driver:", "comes a command"),
        ("driver:'open", "No closing quotation"),
        ("py:make", "comes module:function"),
        ("comet?", "options are written key=value"),
        ("comet?a", "options are written key=value"),
        ("comet?a=1&a=2", "is given once"),
        ("comet?=2", "has a name"),
    ],
)
def test_a_bad_spec_is_refused_with_a_reason(text: str, says: str) -> None:
    with pytest.raises(HarnessError, match=says):
        parse(text)


def test_an_unknown_name_is_answered_with_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(tmp_path, monkeypatch, "harvest = fireassay.conformance.targets.plainlog:make")
    with pytest.raises(HarnessError, match=r"no target 'harvset'; did you mean harvest\?"):
        load("harvset", tmp_path / "p")
    with pytest.raises(HarnessError, match=r"no target 'zzz'; known are .*harvest.*driver:COMMAND"):
        load("zzz", tmp_path / "p")


def test_a_registered_target_is_loaded_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(tmp_path, monkeypatch, "harvest = fireassay.conformance.targets.plainlog:make")
    assert "harvest" in known()
    target = load("harvest?max_payload=100", tmp_path / "p" / "q")
    assert isinstance(target, PlainLog)
    assert target.promises.bounds.max_payload == 100
    assert (tmp_path / "p" / "q").is_dir()
    assert target.digest.startswith("sha256:")
    assert pid_of(target) == os.getpid()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{PLAINLOG}?max_paylod=3", r"no option 'max_paylod'; did you mean max_payload\?"),
        (f"{PLAINLOG}?colour=3", "it knows max_payload"),
        (f"{PLAINLOG}?max_payload=0", "whole number from 1 to"),
        (f"{PLAINLOG}?max_payload=many", "whole number from 1 to"),
        ("py:no.such.module:make", "no.such.module cannot be imported: ModuleNotFoundError"),
        ("py:fireassay.spec.ports:make", "has no function make"),
        ("py:sys:exit", "could not be made: TypeError"),
        ("py:fireassay.conformance.tests.strange_targets:broken", "could not be made: ZeroDivisionError"),
        ("py:fireassay.conformance.tests.strange_targets:stranger", "is no Target; it has no name, promises, digest"),
    ],
)
def test_what_cannot_be_loaded_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(HarnessError, match=says):
        load(text, tmp_path)


def test_failpoints_come_from_the_factory_module(tmp_path: Path) -> None:
    here = "py:fireassay.conformance.tests.strange_targets:stranger"
    assert failpoints(here) == (FailpointInfo("log.write", "syscall", "the write of a record"),)
    assert control_file(here, tmp_path) == ("control", tmp_path)


def test_who_offers_no_failpoints_has_none(tmp_path: Path) -> None:
    for text in (PLAINLOG, "driver:/bin/true"):
        assert failpoints(text) == ()
    with pytest.raises(HarnessError, match="offers no control file"):
        controlled(PLAINLOG, tmp_path)


def controlled(text: str, path: Path) -> None:
    control_file(text, path)


def register(root: Path, monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    info = root / "strangers-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strangers\nVersion: 1\n")
    (info / "entry_points.txt").write_text("\n".join(["[fireassay.targets]", *lines, ""]))
    monkeypatch.setattr(sys, "path", [str(root), *sys.path])
