"""The pytest plugin, in sessions of its own: a copy of the plugin with fabricated cases beside it, registered as an installed one is."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from fireassay.conformance import plugin
from fireassay.spec.checks import CHECKS
from fireassay.spec.clauses import ALL

HERE = Path(plugin.__file__).resolve().parent
CASES = "fireassay/conformance"
SOUND = 'import pytest\n\n@pytest.mark.clause("LOG-04")\ndef test_sound():\n    pass\n'


class Session:
    """A tree in which `fireassay` has the real spec, the real plugin and only the cases written here.

    A distribution called fireassay stands before any installed one, so the outcome is the same whether or not there is one.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cases = root / "fireassay" / "conformance" / "cases"
        self.cases.mkdir(parents=True)
        (root / "fireassay" / "spec").symlink_to(HERE.parent / "spec")
        for name in ("__init__.py", "coverage.py", "plugin.py"):
            shutil.copy(HERE / name, self.cases.parent / name)
        (self.cases / "__init__.py").touch()
        self.pending()
        (root / "pytest.ini").write_text("[pytest]\nconsider_namespace_packages = true\naddopts = --strict-markers -p no:cacheprovider\n")
        self.register()

    def register(self, *targets: str) -> None:
        info = self.root / "fireassay-0.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fireassay\nVersion: 0\n")
        lines = [
            "[pytest11]",
            "fireassay = fireassay.conformance.plugin",
            "[fireassay.targets]",
            *(f"{name} = no.such:Target" for name in targets),
        ]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")

    def pending(self, *clauses: str) -> None:
        (self.cases.parent / "pending.py").write_text(f"PENDING = frozenset({clauses!r})\n")

    def case(self, source: str, name: str = "test_made.py") -> None:
        (self.cases / name).write_text(textwrap.dedent(source))

    def run(self, *arguments: str) -> tuple[int, str]:
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "COV_"))}
        environment |= {"PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *(arguments or (CASES,))],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def test_a_case_with_a_clause_runs(session: Session) -> None:
    session.case(SOUND)
    code, said = session.run()
    assert code == pytest.ExitCode.OK, said
    assert "1 passed" in said


def test_cases_are_found_by_package_name(session: Session) -> None:
    session.case(SOUND)
    code, said = session.run("--pyargs", "fireassay.conformance")
    assert code == pytest.ExitCode.OK, said
    assert "1 passed" in said


def test_a_case_without_a_clause_stops_the_session(session: Session) -> None:
    session.case("def test_bare():\n    pass\n")
    code, said = session.run()
    assert code == pytest.ExitCode.USAGE_ERROR, said
    assert "test_made.py::test_bare names no clause: mark it with @pytest.mark.clause(...)" in said


def test_a_case_with_an_unknown_clause_stops_the_session(session: Session) -> None:
    session.case('import pytest\n\n@pytest.mark.clause("LOG-99")\ndef test_lost():\n    pass\n')
    code, said = session.run()
    assert code == pytest.ExitCode.USAGE_ERROR, said
    assert "test_made.py::test_lost names LOG-99, which is no clause" in said


def test_deselecting_a_bad_case_does_not_hide_it(session: Session) -> None:
    session.case(SOUND + "\ndef test_bare():\n    pass\n")
    code, said = session.run(CASES, "-k", "sound")
    assert code == pytest.ExitCode.USAGE_ERROR, said
    assert "test_bare names no clause" in said


def test_a_marker_on_the_module_counts(session: Session) -> None:
    session.case('import pytest\n\npytestmark = pytest.mark.clause("LOG-04")\n\ndef test_under_module():\n    pass\n')
    code, said = session.run()
    assert code == pytest.ExitCode.OK, said


def test_other_peoples_tests_are_left_alone(session: Session) -> None:
    (session.root / "test_theirs.py").write_text("import sys\n\ndef test_bare():\n    assert 'fireassay.spec' not in sys.modules\n")
    code, said = session.run("test_theirs.py")
    assert code == pytest.ExitCode.OK, said


def test_the_gate_names_a_clause_without_a_case_in_an_existing_system(session: Session) -> None:
    session.register("comet")
    session.case(SOUND)
    code, said = session.run(CASES, "--clause-coverage")
    assert code == pytest.ExitCode.TESTS_FAILED, said
    assert "1 passed" in said
    assert "LOG-12 (" in said
    assert "COM-01 (" in said
    assert "has no case while its system exists" in said
    assert "LOG-04 (" not in said
    assert "OMB-01 (" not in said


def test_the_gate_opens_for_pending_clauses_alone(session: Session) -> None:
    session.register("chronicle")
    session.pending(*(clause.id for clause in ALL if clause.id.startswith(("LOG", "CHR")) and clause.id not in (*CHECKS, "LOG-14")))
    session.case(SOUND.replace("LOG-04", "LOG-14"))
    code, said = session.run(CASES, "--clause-coverage")
    assert code == pytest.ExitCode.OK, said
    session.pending("LOG-14")
    code, said = session.run(CASES, "--clause-coverage")
    assert code == pytest.ExitCode.TESTS_FAILED, said
    assert "LOG-14 (Lost records stay lost) is listed as pending and has a case" in said


def test_the_gate_is_open_where_no_target_exists(session: Session) -> None:
    session.case(SOUND)
    code, said = session.run(CASES, "--clause-coverage")
    assert code == pytest.ExitCode.OK, said


def test_the_gate_opens_when_every_clause_has_a_case(session: Session) -> None:
    session.register("om_bus", "bridge", "comet", "chronicle", "simplebus")
    ids = [clause.id for clause in ALL]
    session.case(f"import pytest\n\n@pytest.mark.clause(*{ids!r})\ndef test_all():\n    pass\n")
    code, said = session.run(CASES, "--clause-coverage")
    assert code == pytest.ExitCode.OK, said


def test_without_the_option_a_gap_does_not_fail_the_session(session: Session) -> None:
    session.register("comet")
    session.case(SOUND)
    code, said = session.run()
    assert code == pytest.ExitCode.OK, said


def test_a_canary_is_no_case_of_its_clause(session: Session) -> None:
    session.register("comet")
    session.case(SOUND.replace('"LOG-04"', '"LOG-14", canary=True'))
    code, said = session.run(CASES, "--clause-coverage")
    assert code == pytest.ExitCode.TESTS_FAILED, said
    assert "1 passed" in said
    assert "LOG-14 (" in said
    assert "names no clause" not in said


def test_every_clause_of_an_existing_system_has_a_case_here() -> None:
    """The gate itself, on the real cases: the quick suite runs them without the option."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--clause-coverage", "-p", "no:cacheprovider", str(plugin.CASES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == pytest.ExitCode.OK, done.stdout + done.stderr
