"""From run directory to certificate and page: what is left, what is said, and that nothing stale or hostile gets through."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from fireassay.reports import judging
from fireassay.reports.files import RunError, replace_text
from fireassay.reports.judging import Judged, judge_run, load_judged
from fireassay.reports.page import html, markdown
from fireassay.reports.run import OUTPUTS
from fireassay.reports.tests.made_runs import case, clean, digest_again, edit, fault, lossy, make_run
from fireassay.spec.clauses import ALL
from fireassay.spec.clauses import digest as clauses_digest
from fireassay.spec.outcomes import EnvironmentUnfit, HarnessError, Verdict

MARKUP = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>|`*_[x](javascript:alert(3))\n# @everyone {{ 7*7 }} </title></style>"
HOSTILE = f"{MARKUP} \x1b[2J \udc80 \u202e"


class Reader(HTMLParser):
    """What a browser would make of a page: its elements, their attributes, its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in {"meta", "input", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"script", "style"}:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture
def judged(tmp_path: Path) -> Judged:
    cases = [case("CHR-01"), case("CHR-06", outcome="failed", name="test_commit", message="commit word was 0")]
    faults = [fault("0001"), fault("0002", kind="failpoint", where="chr.commit", nth=1)]
    not_run = [{"kind": "power", "reason": "no loop device"}]
    return judge_run(make_run(tmp_path / "run", [clean, lossy], cases=cases, faults=faults, not_run=not_run), engine="python")


def test_a_judged_run_holds_verdicts_certificate_and_page(judged: Judged) -> None:
    verdicts = json.loads((judged.path / "verdicts.json").read_text())
    assert (verdicts["schema"], verdicts["engine"]) == ("fireassay.verdicts/1", "python")
    assert [each["clause"] for each in verdicts["clauses"]] == [clause.id for clause in ALL]
    (lost,) = [each for each in verdicts["clauses"] if each["clause"] == "LOG-10"]
    assert (lost["verdict"], lost["witnesses"][0]["trial"]) == ("fail", "0002")
    assert lost["witnesses"][0]["rows"][-1]["op"] == "append"
    assert lost["witnesses"][0]["repeat"] == "fireassay run --trial 0002"
    assert {"clause", "verdict", "evidence", "reasons", "witnesses", "cases"} <= set(lost)
    assert (judged.path / "report.html").read_text() == html(judged)
    assert json.loads((judged.path / "certificate.json").read_text()) == judged.certificate
    assert not list(judged.path.glob(".*"))


def test_progress_is_told_and_the_whole_is_deterministic(judged: Judged) -> None:
    before = {name: (judged.path / name).read_bytes() for name in OUTPUTS}
    told: list[str] = []
    judge_run(judged.path, engine="python", progress=told.append)
    assert told[0] == "checking the run directory"
    assert "trial 2 of 2" in told
    assert {name: (judged.path / name).read_bytes() for name in OUTPUTS} == before


def test_old_verdicts_do_not_outlive_a_judge_that_fails(judged: Judged) -> None:
    (judged.path / "faults.json").write_text("{}")
    with pytest.raises(RunError):
        judge_run(judged.path, engine="python")
    assert not [name for name in OUTPUTS if (judged.path / name).exists()]


def test_files_of_a_directory_that_is_no_run_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("mine")
    with pytest.raises(RunError, match="it is no run directory"):
        judge_run(tmp_path, engine="python")
    assert (tmp_path / "report.html").read_text() == "mine"


def test_a_judge_that_dies_leaves_no_old_verdict(judged: Judged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "judge_python", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        judge_run(judged.path, engine="python")
    assert not [name for name in OUTPUTS if (judged.path / name).exists()]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "file"
    replace_text(place, "old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace_text(place, "new")
    assert place.read_text() == "old"
    assert list(tmp_path.iterdir()) == [place]


def test_an_engine_nobody_knows_is_refused(judged: Judged) -> None:
    with pytest.raises(HarnessError, match="no engine 'abacus'; known are spark, python"):
        judge_run(judged.path, engine="abacus")


def test_without_a_spark_engine_it_says_what_to_do(judged: Judged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "_SPARK_ENGINE", "fireassay.reports.no_such_engine")
    with pytest.raises(EnvironmentUnfit, match="no Spark engine; judge with --engine python"):
        judge_run(judged.path, engine="spark")


def test_a_run_of_cases_alone_needs_no_spark(tmp_path: Path) -> None:
    found = judge_run(make_run(tmp_path / "run", [], cases=[case("CHR-01")]), engine="spark")
    assert found.headline is Verdict.PASS
    assert found.systems == {"LOG", "CHR"}


# -- what was judged before


def test_what_was_judged_is_loaded_again(judged: Judged) -> None:
    again = load_judged(judged.path)
    assert html(again) == html(judged)
    assert markdown(again) == markdown(judged)


def test_a_run_that_was_not_judged_has_nothing_to_load(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"was not judged.*fireassay judge"):
        load_judged(make_run(tmp_path / "run"))


@pytest.mark.parametrize("name", ["verdicts.json", "certificate.json"])
def test_verdicts_of_another_run_are_refused(judged: Judged, name: str) -> None:
    edit(judged.path / "manifest.json", lambda document: document.update(seed=8))
    (judged.path / name).rename(judged.path.parent / name)
    for other in OUTPUTS:
        (judged.path / other).unlink(missing_ok=True)
    digest_again(judged.path)
    judge_run(judged.path, engine="python")
    (judged.path.parent / name).rename(judged.path / name)
    with pytest.raises(RunError, match="speaks of another run"):
        load_judged(judged.path)


# -- the certificate


def test_the_certificate_says_what_was_examined_and_that_nobody_signed_it(judged: Judged) -> None:
    found = judged.certificate
    assert found["schema"] == "fireassay.certificate/1"
    assert found["signature"] is None
    assert "not signed" in found["signature_note"]
    assert found["target"] == {"spec": "made", "name": "made", "kind": "object", "digest": "sha256:" + "0" * 64, "variant": "release"}
    assert "process_death" in found["promises"]
    assert found["run"]["seeds"] == {"0001": 7, "0002": 7}
    assert found["spec"]["clauses"] == found["spec"]["judged_under"] == clauses_digest()
    assert (found["engine"], found["verdict"]) == ("python", "fail")


def test_the_certificate_keeps_the_grades_of_crash_apart(judged: Judged) -> None:
    process, power, torn = judged.certificate["crash_grades"]
    assert (process["grade"], process["planned"], process["fired"], process["every_fault_fired"]) == ("process death", 2, 2, True)
    assert [(place["kind"], place["where"], place["fired"]) for place in process["places"]] == [
        ("failpoint", "chr.commit", 1),
        ("kill", "random", 1),
    ]
    assert (power["verdict"], power["every_fault_fired"], power["not_run"]) == ("not-applicable", False, ["power: no loop device"])
    assert (torn["clause"], torn["planned"]) == ("LOG-12", 0)


def test_the_certificate_lists_what_was_not_verified(judged: Judged) -> None:
    found = judged.certificate["not_verified"]
    general = " ".join(found["general"])
    assert "Memory model" in general
    assert "failpoints" in general
    assert "Quick mode" in general
    assert "python engine" in general
    assert {"LOG-13", "LOG-06"} <= {each["clause"] for each in found["clauses"]}
    assert all(each["reasons"] for each in found["clauses"])
    assert {"clause": "LOG-07", "reason": "not shown under power loss: power: no loop device"} in found["partly"]
    assert found["systems"] == ["BRG", "COM", "OMB", "SMB"]
    assert judged.certificate["repeat"]["run"] == "fireassay run made --mode quick --seed 7"


def test_another_build_and_other_clauses_are_told(tmp_path: Path) -> None:
    made = make_run(tmp_path / "run", target={"variant": "failpoints"}, spec={"version": "0", "clauses": "0" * 64})
    general = " ".join(judge_run(made, engine="python").certificate["not_verified"]["general"])
    assert "build variant 'failpoints'" in general
    assert "another edition of the clauses" in general


# -- the page


def test_the_page_is_one_well_formed_file_that_asks_nobody(judged: Judged) -> None:
    text = html(judged)
    page = Reader(text)
    assert text.startswith("<!doctype html>")
    assert page.open == []
    assert not {tag for tag, _ in page.elements} & {"link", "iframe", "img", "object", "embed", "base"}
    outside = [value for _, found in page.elements for name, value in found.items() if name in {"src", "href", "action"} and value]
    assert outside
    assert all(value.startswith("#") for value in outside)
    assert not re.search(r"url\(|@import|https?://", text)
    assert [found["content"] for tag, found in page.elements if tag == "meta" and found.get("name") == "viewport"]


def test_every_link_of_the_page_leads_somewhere_and_no_id_comes_twice(judged: Judged) -> None:
    page = Reader(html(judged))
    ids = [found["id"] for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))
    links = {str(found["href"])[1:] for tag, found in page.elements if tag == "a"}
    assert links <= set(ids), links - set(ids)


def test_the_page_shows_verdict_witness_faults_and_cases(judged: Judged) -> None:
    page = Reader(html(judged))
    for words in (
        "Fails",
        "lost-write-process",
        "chr.commit",
        "commit word was 0",
        "no loop device",
        "Linux 6.18",
        "Memory model",
        "not signed",
    ):
        assert words in page.text
    pictures = [found for tag, found in page.elements if tag == "svg"]
    assert pictures
    assert all(found["role"] == "img" and found["aria-label"] for found in pictures)
    assert [found for tag, found in page.elements if tag == "g" and found.get("class") == "fault"]


def hostile(path: Path) -> Judged:
    def claim(value: Any) -> Any:
        return {**value, "name": HOSTILE, "spec": HOSTILE, "variant": HOSTILE, "digest": HOSTILE}

    made = make_run(
        path,
        [lossy],
        cases=[case("CHR-01", name=HOSTILE, outcome="failed", message=HOSTILE, through=HOSTILE)],
        faults=[fault("0001", where=HOSTILE), fault("0001", id=2, kind=HOSTILE[:60], where=HOSTILE, fired=False, reason=HOSTILE)],
        not_run=[{"kind": "power", "reason": HOSTILE}],
        run=HOSTILE[:200],
        environment={HOSTILE: {HOSTILE: [HOSTILE]}},
        versions={HOSTILE: HOSTILE},
        target=claim({}),
        trials=[{"trial": "0001", "scenario": HOSTILE, "seed": 1, "repeat": HOSTILE}],
    )
    (made / f"{HOSTILE[:3]}<b>.txt").write_text("extra")
    return judge_run(made, engine="python")


def test_nothing_from_a_run_becomes_markup_of_the_page(tmp_path: Path) -> None:
    found = hostile(tmp_path / "run")
    page = Reader(html(found))
    assert page.open == []
    assert sum(tag == "script" for tag, _ in page.elements) == 1
    assert not [tag for tag, _ in page.elements if tag == "img"]
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert "{{ 7*7 }}" in page.text
    assert "49" not in page.text.partition("{{ 7*7 }}")[0][-40:]
    policy = next(str(a["content"]) for tag, a in page.elements if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy


def test_what_a_terminal_or_browser_would_obey_is_taken_out(tmp_path: Path) -> None:
    found = hostile(tmp_path / "run")
    for text in (html(found), markdown(found)):
        assert not set(text) & {"\x1b", "\udc80", "\u202e"}
        assert "\ufffd[2J" in text.replace("\\", "")
    assert load_judged(found.path).verdicts == found.verdicts


def test_nothing_from_a_run_becomes_markup_of_the_markdown(tmp_path: Path) -> None:
    text = markdown(hostile(tmp_path / "run"))
    outside_code = re.sub(r"`[^`\n]*`", "", text)
    assert "<script" not in outside_code
    assert "<img" not in outside_code
    assert "](javascript" not in outside_code.replace(r"\]", "")
    assert "@everyone" not in outside_code
    assert [line for line in text.splitlines() if line.startswith("# ")] == []
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in tables} == {4}


def test_the_markdown_tells_what_failed(judged: Judged) -> None:
    text = markdown(judged)
    assert text.startswith("## ❌ fireassay: made: fail")
    assert "| LOG-10 | Process death loses nothing owed | lost-write-process in trial 0002" in text
    assert "| process death | ✕ fail | 2 / 2 |" in text
    assert "no loop device" in text


def test_what_the_target_did_unasked_is_told_everywhere(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    edit(
        run / "manifest.json",
        lambda document: document["trials"][0].update(incidents=["actor 3 <b>hung</b> within 9.5 s | and was killed"]),
    )
    digest_again(run)
    found = judge_run(run, engine="python")
    assert found.verdicts["incidents"] == [{"trial": "0001", "text": "actor 3 <b>hung</b> within 9.5 s | and was killed"}]
    assert "actor 3 &lt;b&gt;hung&lt;/b&gt; within 9.5 s" in html(found)
    assert "actor 3 &lt;b&gt;hung&lt;/b&gt; within 9.5 s \\| and was killed" in markdown(found)
