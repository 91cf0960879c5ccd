"""The pytest plugin of the examination: `--target`, the fixtures of a case, the marker `clause` and the gate `--clause-coverage`.

It is loaded into every pytest session of an environment that has fireassay, so it imports nothing of ours before it meets a case,
and touches no test that is not a file of fireassay.conformance.cases.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from fireassay.conformance.driver.client import DriverTarget
    from fireassay.spec.ports import Target
    from fireassay.spec.promises import Promises

__all__ = [
    "CASES",
    "CASE_CLAUSES",
    "DEFAULT_TARGET",
    "apart",
    "applicable",
    "place",
    "promised",
    "pytest_addoption",
    "pytest_collection_finish",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_runtest_logstart",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "target",
    "target_spec",
]

CASES = Path(__file__).resolve().parent / "cases"
CASE_CLAUSES = pytest.StashKey[dict[str, tuple[str, ...]]]()  # case id → clause ids, without canaries
DEFAULT_TARGET = "chronicle"
_RAN = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
_GAPS = pytest.StashKey[tuple[str, ...]]()
_results: Path | None = None  # of the session in this process: reports come without their config


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fireassay")
    group.addoption(
        "--clause-coverage",
        action="store_true",
        default=False,
        help="fail the session where a clause of an existing system has no case among those collected",
    )
    group.addoption(
        "--target",
        default=DEFAULT_TARGET,
        metavar="SPEC",
        help="what is examined: NAME, NAME?key=value, py:module:function or driver:COMMAND (default: %(default)s)",
    )
    group.addoption(
        "--clauses",
        default="",
        metavar="IDS",
        help="run only the cases that can convict one of these clauses or systems, such as LOG-05,CHR",
    )
    group.addoption("--without-cases", default="", metavar="FILE", help="leave out the cases that this file names, one in a line")
    group.addoption("--case-results", default="", metavar="FILE", help="write a JSON line per case to this file, while they run")


def pytest_configure(config: pytest.Config) -> None:
    global _results
    named = config.getoption("case_results")
    _results = Path(named) if named else None
    config.addinivalue_line(
        "markers", "clause(*ids, canary=False): the clauses that this case can convict; a canary convicts a handmade history"
    )
    config.stash[CASE_CLAUSES] = {}


@pytest.hookimpl(tryfirst=True)  # before -k and -m take cases away: the gate is about what was written, not what is run today
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    cases = [item for item in items if CASES in item.path.resolve().parents]
    if not cases:
        return
    from fireassay.conformance.coverage import gaps
    from fireassay.spec.clauses import ALL

    named = {item.nodeid: _clauses_of(item, canaries=True) for item in cases}
    counted = {item.nodeid: _clauses_of(item, canaries=False) for item in cases}
    config.stash[CASE_CLAUSES].update({case: ids for case, ids in counted.items() if ids})
    wrong = gaps(ALL, named, frozenset())
    if wrong:
        raise pytest.UsageError(*wrong)
    wanted = {part.strip() for part in config.getoption("clauses").split(",") if part.strip()}
    file = config.getoption("without_cases")
    unwanted = set(Path(file).read_text(encoding="utf-8").splitlines()) if file else set()
    left_out = [item for item in cases if item.nodeid in unwanted or (wanted and not _concerns(_clauses_of(item, canaries=False), wanted))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _concerns(clauses: tuple[str, ...], wanted: set[str]) -> bool:
    return any(clause in wanted or clause.partition("-")[0] in wanted for clause in clauses)


def _clauses_of(item: pytest.Item, *, canaries: bool) -> tuple[str, ...]:
    """In the order they were written, function before class before module. A canary speaks for the harness, not for a target."""
    markers = [marker for marker in item.iter_markers("clause") if canaries or not marker.kwargs.get("canary", False)]
    return tuple(dict.fromkeys(str(id_) for marker in markers for id_ in marker.args))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    config = session.config
    if not config.getoption("clause_coverage") or exitstatus not in _RAN:
        return
    from fireassay.conformance.coverage import existing_systems, gaps
    from fireassay.conformance.pending import PENDING
    from fireassay.spec.checks import CHECKS
    from fireassay.spec.clauses import ALL

    named = config.stash[CASE_CLAUSES]
    config.stash[_GAPS] = gaps(ALL, named, existing_systems(), PENDING, CHECKS.keys())
    if config.stash[_GAPS]:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    missing = config.stash.get(_GAPS, ())
    if missing:
        terminalreporter.section("clauses without a case", red=True)
        for sentence in missing:
            terminalreporter.line(sentence)


# -- what a case is given


@pytest.fixture(scope="session")
def target_spec(pytestconfig: pytest.Config) -> str:
    """The target as it was named on the command line."""
    return str(pytestconfig.getoption("target"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An empty directory for the target alone."""
    made = tmp_path / "place"
    made.mkdir()
    return made


@pytest.fixture(scope="session")
def promised(target_spec: str, tmp_path_factory: pytest.TempPathFactory) -> "tuple[str, Promises]":
    """The target's name and what it promises, asked once: a case that does not concern it costs nothing."""
    from fireassay.conformance.targets import loaded

    with loaded(target_spec, tmp_path_factory.mktemp("looked-at")) as made:
        return made.name, made.promises


@pytest.fixture
def applicable(request: pytest.FixtureRequest, promised: "tuple[str, Promises]") -> None:
    """A case that concerns none of the target's promises, or another system's format, is skipped as not applicable."""
    reason = _not_applicable(_clauses_of(request.node, canaries=False), *promised)
    if reason:
        pytest.skip(reason)


@pytest.fixture
def target(applicable: None, target_spec: str, place: Path) -> "Iterator[Target]":
    """The target on a fresh place."""
    from fireassay.conformance.targets import loaded

    with loaded(target_spec, place) as made:
        yield made


@pytest.fixture
def apart(target: "Target", target_spec: str, place: Path) -> "Iterator[DriverTarget]":
    """The same target on the same place, each of its ports in a process of its own, which may be killed and cannot hang the case."""
    from fireassay.conformance.driver.apart import apart_from

    with apart_from(target, target_spec, place) as made:
        yield made


def _not_applicable(clauses: tuple[str, ...], name: str, promises: "Promises") -> str:
    from fireassay.conformance.coverage import systems_of
    from fireassay.spec.clauses import ALL
    from fireassay.spec.promises import applicable

    concerned = [clause for clause in ALL if clause.id in clauses]
    own = systems_of([name])
    systems = [clause for clause in concerned if clause.system in own]
    if concerned and not systems:
        return f"not applicable: {', '.join(clauses)} speak of another system than {name}"
    if concerned and not any(applicable(clause, promises) for clause in systems):
        return f"not applicable: {name} does not promise what {', '.join(clauses)} need"
    return ""


# -- results, one line per event, for whoever runs the cases


def _tell(**event: object) -> None:
    if _results is not None:
        with _results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")


def pytest_collection_finish(session: pytest.Session) -> None:
    _tell(event="collected", cases=[[item.nodeid, _clauses_of(item, canaries=False)] for item in session.items])


def pytest_runtest_logstart(nodeid: str) -> None:
    _tell(event="start", case=nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if _results is None:
        return
    expected = bool(getattr(report, "wasxfail", "")) or getattr(report, "wasxfail", None) == ""
    outcome = "skipped" if expected and report.outcome != "failed" else report.outcome  # an expected failure shows nothing
    _tell(event="report", case=report.nodeid, when=report.when, outcome=outcome, seconds=report.duration, message=_message(report))


def _message(report: pytest.TestReport) -> str:
    found = report.longrepr
    if isinstance(found, tuple):
        return str(found[2]).removeprefix("Skipped: ")
    crash = getattr(found, "reprcrash", None)
    said = str(getattr(crash, "message", "")) if crash is not None else ""
    where = f" ({Path(str(crash.path)).name}:{crash.lineno})" if crash is not None else ""
    return (said + where if said else report.longreprtext) if report.outcome != "passed" else ""
