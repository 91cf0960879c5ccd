"""The arrows between the rooms: who may import whom. The checker is a pure function, shown to fail on fabricated sources."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAY_IMPORT: dict[str, set[str]] = {
    "spec": {"spec"},
    "reference": {"reference", "spec"},
    "conformance": {"conformance", "spec"},
    "chaos": {"chaos", "conformance", "spec"},
    "perf": {"perf", "conformance", "spec"},
    "reports": {"reports", "spec"},
    "cli": {"cli", "spec", "reference", "conformance", "chaos", "perf", "reports"},
}
SPEC_MAY_IMPORT = set(sys.stdlib_module_names) | {"construct"}
NAMES_ROOM = re.compile(r"fireassay(?:[./]| +import +)(\w+)")  # as importlib, entry points, programs and paths write it
PUT_TOGETHER = re.compile(r"fireassay\.(?:$|[^\w\s])")  # "fireassay." + room, f"fireassay.{room}", "fireassay.%s": nobody could follow it


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every module named by an import, `from fireassay import spec` as fireassay.spec."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            if module == "fireassay":
                yield from ((node.lineno, f"fireassay.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, module


def docstrings(tree: ast.AST) -> set[int]:
    """Identities of the constants that are docstrings: prose may speak of anything."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    first = [node.body[0] for node in ast.walk(tree) if isinstance(node, owners) and node.body]
    return {id(node.value) for node in first if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}


def strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    prose = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and id(node) not in prose:
            yield node.lineno, node.value if isinstance(node.value, str) else node.value.decode("latin-1")


def relative_calls(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """import_module(".room", "fireassay")"""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
            name = node.args[0]
            if isinstance(name, ast.Constant) and str(name.value).startswith("."):
                yield node.lineno, str(name.value)


def violations(path: str, source: str) -> list[str]:
    """What the file at `path` (from the root, e.g. spec/clause.py) breaks, one sentence each."""
    room, *rest = path.split("/")
    in_tests = "tests" in rest
    tree = ast.parse(source)
    found = []
    for line, module in imported(tree):
        top, _, below = module.partition(".")
        at = f"{path}:{line}"
        if module.startswith("."):
            found.append(f"{at} imports {module} relatively: write fireassay.…")
        elif top in MAY_IMPORT:
            found.append(f"{at} imports {module}: write fireassay.{module}")
        elif top == "fireassay":
            other = below.partition(".")[0]
            if not in_tests and other not in MAY_IMPORT[room]:
                found.append(f"{at} imports {module}: {room} may import only {', '.join(sorted(MAY_IMPORT[room]))}")
        elif room == "spec" and not in_tests and top not in SPEC_MAY_IMPORT:
            found.append(f"{at} imports {module}: spec may import only the standard library and construct")
    found += [f"{path}:{line} imports {module} relatively: write fireassay.…" for line, module in relative_calls(tree)]
    if room != "cli" and not in_tests:
        found += [sentence for line, text in strings(tree) for sentence in _named(f"{path}:{line}", room, text)]
    return found


def _named(at: str, room: str, text: str) -> Iterator[str]:
    """What a string of a room names that the room may not import."""
    for other in dict.fromkeys(NAMES_ROOM.findall(text)):
        if other == "reference" != room:
            yield f"{at} names {text!r}: the reference is a target like any other, loaded by its entry point"
        elif other in MAY_IMPORT and other not in MAY_IMPORT[room]:
            yield f"{at} names {text!r}: {room} may import only {', '.join(sorted(MAY_IMPORT[room]))}"
    if PUT_TOGETHER.search(text):
        yield f"{at} puts a module's name together from {text!r}: write it whole"


def sources() -> list[Path]:
    return [path for room in MAY_IMPORT for path in sorted((ROOT / room).rglob("*.py")) if "__pycache__" not in path.parts]


def test_every_file_keeps_to_the_arrows() -> None:
    found = [sentence for path in sources() for sentence in violations(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))]
    assert not found, "\n".join(found)


def test_every_room_is_looked_at() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in sources()} == set(MAY_IMPORT)


@pytest.mark.parametrize(
    ("path", "source", "says"),
    [
        ("spec/x.py", "import fireassay.conformance.plugin", "spec may import only spec"),
        ("spec/x.py", "from fireassay import reports", "imports fireassay.reports"),
        ("spec/x.py", "def f():\n    import numpy", "spec/x.py:2 imports numpy: spec may import only the standard library"),
        ("reference/x.py", "from fireassay.conformance import plugin", "reference may import only reference, spec"),
        ("conformance/x.py", "import fireassay.chaos", "conformance may import only"),
        ("conformance/cases/test_x.py", "import fireassay.perf.load", "conformance may import only"),
        ("chaos/x.py", "import fireassay.perf", "chaos may import only"),
        ("perf/x.py", "import fireassay.chaos", "perf may import only"),
        ("reports/x.py", "import fireassay.conformance", "reports may import only"),
        ("conformance/x.py", "from fireassay.reference.chronicle import Log", "conformance may import only"),
        ("conformance/x.py", 'import_module("fireassay.reference.chronicle")', "loaded by its entry point"),
        ("perf/x.py", 'f"fireassay.reference.{name}"', "loaded by its entry point"),
        ("reports/x.py", 'PATH = "fireassay/reference/src"', "loaded by its entry point"),
        ("spec/x.py", 'import_module("fireassay.reports.java")', "spec may import only spec"),
        ("spec/x.py", 'RUN = ["-c", "from fireassay.reports import java"]', "spec may import only spec"),
        ("spec/x.py", 'RUN = "from fireassay import reports"', "spec may import only spec"),
        ("perf/x.py", 'RUN = "python -m fireassay.chaos.run --all"', "perf may import only"),
        ("perf/x.py", 'RUN = b"import fireassay.reports as r"', "perf may import only"),
        ("perf/x.py", 'import_module("fireassay." + name)', "puts a module's name together"),
        ("perf/x.py", 'import_module(f"fireassay.{name}")', "puts a module's name together"),
        ("perf/x.py", 'import_module("fireassay.%s" % name)', "puts a module's name together"),
        ("cli/x.py", 'import_module(".reports", "fireassay")', "relatively"),
        ("reference/x.py", 'LATER = "fireassay.conformance.plugin:load"', "reference may import only"),
        ("cli/x.py", "import spec.clause", "write fireassay.spec.clause"),
        ("cli/tests/test_x.py", "from reference import x", "write fireassay.reference"),
        ("perf/x.py", "from . import y", "relatively"),
        ("perf/x.py", "from ..spec import y", "relatively"),
        ("perf/x.py", "import fireassay", "perf may import only"),
    ],
)
def test_a_fabricated_violation_is_found(path: str, source: str, says: str) -> None:
    (sentence,) = violations(path, source)
    assert says in sentence


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("spec/x.py", "import struct\nimport construct\nfrom fireassay.spec.clause import Clause"),
        ("spec/tests/test_x.py", "import hypothesis\nfrom fireassay.reference import x"),
        ("reference/x.py", 'import cffi\nNAME = "fireassay.reference._core"'),
        ("conformance/x.py", '"""Unlike fireassay.reference, this is a judge."""\nimport numpy\nimport fireassay.spec.clause'),
        ("chaos/x.py", "import fireassay.conformance.driver"),
        ("cli/main.py", 'import_module("fireassay.reference.chronicle")\nimport fireassay.reports'),
        ("conformance/x.py", 'GROUP = "fireassay.targets"\nMODULE = "fireassay.spec.clause"'),
        ("reports/x.py", 'SENTENCE = "the reference of fireassay"\nimport pyspark'),
    ],
)
def test_what_is_allowed_is_left_alone(path: str, source: str) -> None:
    assert violations(path, source) == []
