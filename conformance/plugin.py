"""The pytest plugin of the examination: the marker `clause` and the gate `--clause-coverage`.

It is loaded into every pytest session of an environment that has fireassay, so it imports nothing of ours before it meets a case,
and touches no test that is not a file of fireassay.conformance.cases.
"""

from pathlib import Path

import pytest

__all__ = [
    "CASES",
    "CASE_CLAUSES",
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
]

CASES = Path(__file__).resolve().parent / "cases"
CASE_CLAUSES = pytest.StashKey[dict[str, tuple[str, ...]]]()  # case id → clause ids, without canaries
_RAN = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
_GAPS = pytest.StashKey[tuple[str, ...]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fireassay")
    group.addoption(
        "--clause-coverage",
        action="store_true",
        default=False,
        help="fail the session where a clause of an existing system has no case among those collected",
    )


def pytest_configure(config: pytest.Config) -> None:
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
    from fireassay.spec.clauses import ALL

    named = config.stash[CASE_CLAUSES]
    config.stash[_GAPS] = gaps(ALL, named, existing_systems())
    if config.stash[_GAPS]:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    missing = config.stash.get(_GAPS, ())
    if missing:
        terminalreporter.section("clauses without a case", red=True)
        for sentence in missing:
            terminalreporter.line(sentence)
