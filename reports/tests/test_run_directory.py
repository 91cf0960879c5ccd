"""A run directory that is not whole is an error that says what, where and what to do; never a verdict."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fireassay.reports import sealed
from fireassay.reports.files import RunError, read_json
from fireassay.reports.run import open_run
from fireassay.reports.tests.made_runs import clean, digest_again, edit, make_run, refused


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run", [clean, clean])


@pytest.mark.parametrize(
    "name", ["manifest.json", "faults.json", "cases.json", "junit.xml", "history/_actors.json", "history/part-00000.parquet"]
)
class TestEachFile:
    def test_missing_is_named(self, run: Path, name: str) -> None:
        (run / name).unlink()
        refused(run, "lacks", name)

    def test_truncated_differs_from_its_digest(self, run: Path, name: str) -> None:
        data = (run / name).read_bytes()
        (run / name).write_bytes(data[:-1])
        refused(run, name, "SHA-256 differs")

    def test_empty_differs_from_its_digest(self, run: Path, name: str) -> None:
        (run / name).write_bytes(b"")
        refused(run, name, "SHA-256 differs")

    def test_one_flipped_bit_differs_from_its_digest(self, run: Path, name: str) -> None:
        data = bytearray((run / name).read_bytes())
        data[len(data) // 2] ^= 1
        (run / name).write_bytes(data)
        refused(run, name, "SHA-256 differs")

    def test_a_link_is_no_file_of_a_run(self, run: Path, tmp_path: Path, name: str) -> None:
        (run / name).rename(tmp_path / "elsewhere")
        (run / name).symlink_to(tmp_path / "elsewhere")
        refused(run, name, "cannot be opened")

    def test_a_pipe_is_no_file_of_a_run_and_nobody_waits_for_it(self, run: Path, name: str) -> None:
        (run / name).unlink()
        os.mkfifo(run / name)
        refused(run, name, "is not a plain file")

    def test_not_named_in_digests(self, run: Path, name: str) -> None:
        edit(run / "digests.json", lambda document: document["files"].pop(name))
        refused(run, name)

    def test_empty_and_digested_as_such_is_still_refused(self, run: Path, name: str) -> None:
        (run / name).write_bytes(b"")
        digest_again(run)
        if name == "junit.xml":  # nothing is read from it
            open_run(run)
        else:
            refused(run, name)


@pytest.mark.parametrize("name", ["manifest.json", "faults.json", "cases.json", "history/_actors.json", "digests.json"])
class TestEachDocument:
    def test_another_schema(self, run: Path, name: str) -> None:
        edit(run / name, lambda document: document.update(schema="fireassay.other/9"))
        digest_again_unless(run, name)
        refused(run, name, "schema", "can read")

    def test_not_json(self, run: Path, name: str) -> None:
        (run / name).write_text('{"schema": ')
        digest_again_unless(run, name)
        refused(run, name, "is not JSON", "line 1")

    def test_not_an_object(self, run: Path, name: str) -> None:
        (run / name).write_text("[1, 2]")
        digest_again_unless(run, name)
        refused(run, name, "list where an object is due")

    def test_not_utf8(self, run: Path, name: str) -> None:
        (run / name).write_bytes(b'{"schema": "\xff"}')
        digest_again_unless(run, name)
        refused(run, name, "is not UTF-8")

    @pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 65 + "]" * 65])
    def test_nested_without_end(self, run: Path, name: str, text: str) -> None:
        (run / name).write_text(text)
        digest_again_unless(run, name)
        refused(run, name, "deep, more than 64")

    def test_a_key_twice(self, run: Path, name: str) -> None:
        (run / name).write_text('{"schema": "a", "schema": "b"}')
        digest_again_unless(run, name)
        refused(run, name, "'schema' occurs twice")

    def test_numbers_that_are_none(self, run: Path, name: str) -> None:
        (run / name).write_text('{"schema": NaN}')
        digest_again_unless(run, name)
        refused(run, name, "NaN is no number")

    def test_a_number_of_a_million_digits(self, run: Path, name: str) -> None:
        (run / name).write_text('{"schema": ' + "9" * 1_000_000 + "}")
        digest_again_unless(run, name)
        refused(run, name)

    def test_larger_than_any_such_file_is_not_read(self, run: Path, name: str) -> None:
        """Its length alone refuses it: a sparse file of a terabyte would fill the memory of whoever reads first."""
        with (run / name).open("wb") as file:
            file.truncate(1 << 40)
        with pytest.raises(RunError, match=r"has 1099511627776 bytes, more than"):
            read_json(run / name, 256 << 20)

    def test_every_field_is_asked_for(self, run: Path, name: str) -> None:
        document = json.loads((run / name).read_text())
        for field in set(document) - {"schema", "ended"}:
            (run / name).write_text(json.dumps({key: value for key, value in document.items() if key != field}))
            digest_again_unless(run, name)
            refused(run, name, field, "is missing")
            (run / name).write_text(json.dumps({**document, field: "x" if isinstance(document[field], (list, dict, int)) else 7}))
            digest_again_unless(run, name)
            refused(run, name, field)


def digest_again_unless(run: Path, name: str) -> None:
    if name != "digests.json":
        digest_again(run)


def test_nothing_there(tmp_path: Path) -> None:
    refused(tmp_path / "none", "is no run directory")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "neither manifest.json nor digests.json")
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "file", "is no run directory")


def test_a_run_without_digests_did_not_end(run: Path) -> None:
    (run / "digests.json").unlink()
    refused(run, "digests.json", "did not come to its end")


def test_an_incomplete_run_is_not_judged(run: Path) -> None:
    edit(run / "manifest.json", lambda document: document.update(complete=False, ended=None))
    digest_again(run)
    refused(run, "did not come to its end")


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "history/../manifest.json", "./manifest.json", ""])
def test_digests_lead_nowhere_else(run: Path, name: str) -> None:
    edit(run / "digests.json", lambda document: document["files"].update({name: "0" * 64}))
    refused(run, "leads out of the run directory")


def test_a_digest_that_is_none(run: Path) -> None:
    edit(run / "digests.json", lambda document: document["files"].update({"junit.xml": "abc"}))
    refused(run, "junit.xml is no SHA-256")


def test_a_file_behind_a_linked_directory_is_no_file_of_a_run(run: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.log").write_text("x")
    (run / "logs").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    digest = hashlib.sha256(b"x").hexdigest()
    edit(run / "digests.json", lambda document: document["files"].update({"logs/a.log": digest}))
    refused(run, "logs/a.log", "lies behind a link")


def test_times_are_as_unsure_as_the_unsurest_recording(run: Path) -> None:
    assert open_run(run).declared.epsilon_ns == 0
    recordings(run, lambda each: each["name"] == "0002-reader-3" and each.update(epsilon_ns=500))
    assert open_run(run).declared.epsilon_ns == 500


def test_extra_files_are_reported_and_do_no_harm(run: Path) -> None:
    (run / "notes.txt").write_text("mine")
    assert open_run(run).notes == ("notes.txt lies in the run directory and is no part of the run",)


@pytest.mark.parametrize("name", ["part-00001.parquet", "x.parquet", "_hidden", "more/part-00000.parquet"])
def test_extra_files_in_the_history_are_refused(run: Path, name: str) -> None:
    """Spark would read them."""
    place = run / "history" / name
    place.parent.mkdir(exist_ok=True)
    place.write_bytes((run / "history" / "part-00000.parquet").read_bytes())
    refused(run, name, "not named by digests.json")
    digest_again(run)
    refused(run, "history")


# -- what is wrong with the documents


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("manifest.json", lambda d: d["trials"].append(dict(d["trials"][0])), "'0001' twice"),
        ("manifest.json", lambda d: d["trials"][0].update(trial="a-b"), "no recording can be named after"),
        ("manifest.json", lambda d: d["target"].update(promises="version = 9"), "promises do not hold together"),
        ("manifest.json", lambda d: d["target"].update(promises="= ="), "not TOML"),
        ("manifest.json", lambda d: d["target"].update(kind="ghost"), "not one of driver, object"),
        ("manifest.json", lambda d: d.update(mode="slow"), "not one of long, quick"),
        ("manifest.json", lambda d: d.update(deadline_ns=-1), "not a whole number"),
        ("manifest.json", lambda d: d.update(deadline_ns=True), "not a whole number"),
        ("manifest.json", lambda d: d.update(complete="yes"), "not true or false"),
        ("faults.json", lambda d: d["faults"][0].update(trial="0009"), "which the manifest does not name"),
        ("faults.json", lambda d: d["faults"].append(dict(d["faults"][0])), "second fault 1 of trial 0001"),
        ("faults.json", lambda d: d["faults"].append("x"), "not an object"),
        ("cases.json", lambda d: d["cases"].append({"clauses": ["LOG-99"]}), "'LOG-99', which is no clause"),
        ("cases.json", lambda d: d["cases"].append({"case": "a", "clauses": [], "outcome": "fine"}), "not one of error, failed"),
        ("cases.json", lambda d: d["cases"].append({"case": "a", "clauses": [7]}), "something else than texts"),
    ],
)
def test_documents_that_contradict(run: Path, name: str, change: Callable[[Any], Any], says: str) -> None:
    edit(run / name, change)
    digest_again(run)
    refused(run, name, says)


# -- what is wrong with one trial


def recordings(run: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    edit(run / "history" / "_actors.json", lambda document: [change(each) for each in document["recordings"]])
    digest_again(run)


def test_lost_rows_leave_their_trial_in_doubt(run: Path) -> None:
    recordings(run, lambda each: each["name"] == "0002-reader-3" and each.update(lost=4))
    assert open_run(run).doubts == {"0002": ("0002-reader-3 lost 4 rows",)}


def test_a_killed_process_does_not_close_and_that_is_fine(run: Path) -> None:
    closed = {recording.name: recording.closed for recording in _sealed(run).recordings}
    assert closed["0001-producer-2"] is False
    assert open_run(run).doubts == {}


def test_a_recording_nobody_closed_or_saw_end_is_in_doubt(run: Path) -> None:
    recordings(run, lambda each: each["name"] == "0001-reader-3" and each.update(closed=False))
    assert open_run(run).doubts == {"0001": ("0001-reader-3 was not closed, and nobody saw its process die",)}


def test_two_tables_that_disagree_on_an_actor_are_in_doubt(run: Path) -> None:
    recordings(run, lambda each: each["name"] == "0001-reader-3" and each["actors"][0].update(actor=2))
    (doubt,) = open_run(run).doubts["0001"]
    assert "disagree on who actor 2 is" in doubt


def test_a_fault_that_no_row_confirms_is_in_doubt(run: Path) -> None:
    edit(run / "faults.json", lambda document: document["faults"][0].update(id=5))
    digest_again(run)
    (doubt,) = open_run(run).doubts["0001"]
    assert "fault 5 (random) is said to have fired" in doubt


def test_a_trial_without_a_recording_is_in_doubt(run: Path) -> None:
    extra = {"trial": "0003", "scenario": "kill", "seed": 1, "repeat": ""}
    edit(run / "manifest.json", lambda document: document["trials"].append(extra))
    digest_again(run)
    assert open_run(run).doubts == {"0003": ("it has no recording",)}


def _sealed(run: Path) -> sealed.Sealed:
    found = open_run(run).sealed
    assert found is not None
    return found
