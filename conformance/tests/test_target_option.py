"""--target and what a case is given, in sessions of their own."""

import json
import os
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

PLAINLOG = "py:fireassay.conformance.targets.plainlog:make"


def session(root: Path, source: str, *arguments: str) -> tuple[int, str, list[dict[str, Any]]]:
    (root / "test_made.py").write_text("import os\nimport pytest\n\n" + textwrap.dedent(source))
    (root / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    command = [sys.executable, "-m", "pytest", "-q", "test_made.py", f"--case-results={root / 'results'}", *arguments]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=120)
    lines = (root / "results").read_text("utf-8").splitlines() if (root / "results").exists() else []
    return done.returncode, done.stdout + done.stderr, [json.loads(line) for line in lines]


def outcomes(events: list[dict[str, Any]]) -> dict[str, str]:
    return {event["case"].rpartition("::")[2]: event["outcome"] for event in events if event.get("when") == "call"}


def test_a_case_gets_the_named_target_on_a_fresh_place(tmp_path: Path) -> None:
    source = """
        @pytest.mark.parametrize("n", [1, 2])
        def test_fresh(target, target_spec, place, n):
            assert target_spec == "{spec}"
            assert target.promises.bounds.max_payload == 99
            with target.open_writer("s") as writer:
                assert writer.granted == 0
                writer.append_batch([b"x"])
            assert os.listdir(place) == ["s"]
    """
    spec = f"{PLAINLOG}?max_payload=99"
    code, said, events = session(tmp_path, source.replace("{spec}", spec), "--target", spec)
    assert code == 0, said
    assert outcomes(events) == {"test_fresh[1]": "passed", "test_fresh[2]": "passed"}
    assert len(events[0]["cases"]) == 2


def test_a_driver_is_named_the_same_way_and_is_gone_after_its_case(tmp_path: Path) -> None:
    source = """
        def test_one(target):
            open("pid", "w").write(str(target.pid))

        def test_two(target):
            assert not os.path.exists("/proc/" + open("pid").read())
    """
    code, said, _ = session(
        tmp_path, source, "--target", f"driver:{shlex.quote(sys.executable)} -m fireassay.conformance.driver.serve {PLAINLOG}"
    )
    assert code == 0, said


def test_a_case_of_another_system_or_promise_is_not_applicable(tmp_path: Path) -> None:
    source = """
        @pytest.mark.clause("CHR-01")
        def test_of_chronicle(target):
            assert False

        @pytest.mark.clause("LOG-15")
        def test_of_visibility_at_sync(target):
            assert False

        @pytest.mark.clause("LOG-15", "LOG-02")
        def test_of_both(target):
            pass
    """
    code, said, events = session(tmp_path, source, "--target", PLAINLOG)
    assert code == 0, said
    skipped = {event["case"].rpartition("::")[2]: event["message"] for event in events if event.get("outcome") == "skipped"}
    assert set(skipped) == {"test_of_chronicle", "test_of_visibility_at_sync"}
    assert all(message.startswith("not applicable: ") for message in skipped.values())
    assert outcomes(events) == {"test_of_both": "passed"}


def test_an_expected_failure_is_told_as_skipped(tmp_path: Path) -> None:
    source = """
        @pytest.mark.xfail(reason="")
        def test_known():
            assert False

        @pytest.mark.xfail(strict=False)
        def test_better_than_known():
            pass

        def test_bad():
            assert 1 == 2, "one is not two"
    """
    code, said, events = session(tmp_path, source)
    assert code == 1, said
    assert outcomes(events) == {"test_known": "skipped", "test_better_than_known": "skipped", "test_bad": "failed"}
    (bad,) = [event["message"] for event in events if event.get("outcome") == "failed"]
    assert "one is not two" in bad


@pytest.mark.parametrize(
    ("spec", "says"),
    [("no-such", "there is no target 'no-such'"), ("driver:/no/such", "cannot be started"), ("a b", "is no name of a target")],
)
def test_a_target_that_cannot_be_had_is_an_error_of_the_case_and_no_pass(tmp_path: Path, spec: str, says: str) -> None:
    code, said, events = session(tmp_path, "def test_it(target):\n    pass\n", "--target", spec)
    assert code == 1, said
    assert outcomes(events) == {}
    assert says in next(event["message"] for event in events if event.get("when") == "setup")


def test_a_case_without_a_target_asks_for_none(tmp_path: Path) -> None:
    code, said, _ = session(tmp_path, "def test_bare():\n    pass\n", "--target", "no-such")
    assert code == 0, said
