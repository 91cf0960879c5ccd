"""From a run directory to its verdicts, certificate and page. It only assembles.

What an earlier judge left is removed first: a judge that dies half way leaves a run without verdicts, never one with old ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fireassay.reports.certificate import CERTIFICATE_SCHEMA, certificate_json
from fireassay.reports.engine_python import Progress, judge_python
from fireassay.reports.files import MIB, RunError, read_json, replace_text
from fireassay.reports.output import VERDICTS_SCHEMA, as_text, verdicts_json
from fireassay.reports.run import OUTPUTS, Run, open_run
from fireassay.reports.shape import Shape
from fireassay.reports.verdicts import verdicts_of
from fireassay.spec.checks import CheckResult
from fireassay.spec.outcomes import EnvironmentUnfit, HarnessError, Verdict

__all__ = ["ENGINES", "Judged", "judge_run", "load_judged"]

ENGINES = ("spark", "python")
_SPARK_ENGINE = "fireassay.reports.judge.engine"
_LARGEST = 512 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A run and what was found; the documents are those that lie beside it as JSON."""

    path: Path
    run: Run
    verdicts: Mapping[str, Any]
    certificate: Mapping[str, Any]

    @property
    def systems(self) -> frozenset[str]:
        """Whose clauses were examined."""
        return frozenset(each["clause"].partition("-")[0] for each in self.verdicts["clauses"] if each["examined"])

    @property
    def headline(self) -> Verdict:
        return Verdict(self.verdicts["headline"])


def judge_run(path: Path, *, engine: str = "spark", master: str = "local[*]", progress: Progress | None = None) -> Judged:
    """Judge, and leave verdicts.json, certificate.json and report.html in the run directory."""
    say = progress or (lambda text: None)
    if engine not in ENGINES:
        raise HarnessError(f"no engine {engine!r}; known are {', '.join(ENGINES)}")
    _remove_old(path)
    say("checking the run directory")
    run = open_run(path)
    results = judge_python(run, say) if engine == "python" else _judge_spark(run, master, say)
    say("folding verdicts")
    found = verdicts_of(run, engine, results)
    judged = Judged(path=path, run=run, verdicts=verdicts_json(run, found), certificate=certificate_json(run, found))
    page = import_module("fireassay.reports.page")  # late: jinja2 is needed for the page alone
    say("writing certificate and report")
    replace_text(path / "verdicts.json", as_text(judged.verdicts))
    replace_text(path / "report.html", page.html(judged))
    replace_text(path / "certificate.json", as_text(judged.certificate))
    return judged


def _remove_old(path: Path) -> None:
    """Only beside what looks like a run: a report.html elsewhere is somebody's own."""
    if any((path / name).exists() for name in ("manifest.json", "digests.json")):
        for name in OUTPUTS:
            (path / name).unlink(missing_ok=True)


def _judge_spark(run: Run, master: str, say: Progress) -> Mapping[str, tuple[CheckResult, ...]]:
    if run.sealed is None:
        return {}
    if find_spec("fireassay.reports.judge") is None or find_spec(_SPARK_ENGINE) is None:
        raise EnvironmentUnfit("this version has no Spark engine; judge with --engine python")
    engine, spark = import_module(_SPARK_ENGINE), import_module("fireassay.reports.spark")
    say("starting Spark")
    with spark.spark_session("fireassay judge", master) as session:
        say(f"Spark judges {len(run.manifest.trials)} trials")
        found: Mapping[str, tuple[CheckResult, ...]] = engine.judge(session, str(run.sealed.directory), run.actors, run.declared)
        return found


def load_judged(path: Path) -> Judged:
    """What judge_run left, and the run it speaks of; RunError where the two do not belong together."""
    run = open_run(path)
    verdicts = _document(run, path / "verdicts.json", VERDICTS_SCHEMA)
    certificate = _document(run, path / "certificate.json", CERTIFICATE_SCHEMA)
    return Judged(path=path, run=run, verdicts=verdicts, certificate=certificate)


def _document(run: Run, path: Path, schema: str) -> Mapping[str, Any]:
    remedy = f"Judge it: fireassay judge {run.path}"
    if not path.exists():
        raise RunError(path, "is missing: the run was not judged, or its judge did not come to an end", remedy)
    shape = Shape(path, read_json(path, _LARGEST))
    shape.schema(schema)
    said = shape.object("run").text("digests") if schema == CERTIFICATE_SCHEMA else shape.text("digests")
    if said != f"sha256:{run.digest}":
        raise RunError(path, "speaks of another run than the one it lies in", remedy)
    return shape.value
