"""The layers of chronicle: dependencies point downward, and core and bus run without what lies above them."""

import ast
import subprocess
import sys
from pathlib import Path

CHRONICLE = Path(__file__).resolve().parents[1] / "chronicle"

BELOW: dict[str, set[str]] = {
    "core": {"core"},
    "bus": {"bus", "core"},
    "protocol": {"protocol"},
    "archive": {"archive", "bus", "core"},
    "stream": {"stream", "protocol", "archive", "core"},
    "tools": {"tools", "stream", "protocol", "archive", "bus", "core"},
}


def layer_of(module: str) -> str | None:
    """Of a module of chronicle; modules that lie in no folder are the core."""
    below = module.removeprefix("fireassay.reference.chronicle").removeprefix(".")
    if below == module or not module.startswith("fireassay.reference.chronicle"):
        return None
    return below.partition(".")[0] if below.partition(".")[0] in BELOW else "core"


def upward(module: str, source: str) -> list[str]:
    own = layer_of(module)
    assert own is not None
    named: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            named.append(node.module or "")
        elif isinstance(node, ast.Import):
            named += [alias.name for alias in node.names]
    found = [(name, layer_of(name)) for name in named]
    return [name for name, layer in found if layer is not None and layer not in BELOW[own]]


def test_no_layer_imports_one_above_it() -> None:
    for path in sorted(CHRONICLE.rglob("*.py")):
        module = "fireassay.reference.chronicle." + ".".join(path.relative_to(CHRONICLE).with_suffix("").parts)
        assert upward(module, path.read_text()) == [], path


def test_an_import_upward_is_found() -> None:
    stream = "from fireassay.reference.chronicle.stream.book_table import Book"
    assert upward("fireassay.reference.chronicle.reader", stream) == ["fireassay.reference.chronicle.stream.book_table"]
    assert upward("fireassay.reference.chronicle.bus.layout", "import fireassay.reference.chronicle.archive.tap") != []
    assert upward("fireassay.reference.chronicle.stream.aligned", "import fireassay.reference.chronicle.reader") == []


def test_core_and_bus_run_without_the_layers_above(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib\n"
        "for name in ('stream', 'protocol', 'archive', 'tools'): sys.modules[f'fireassay.reference.chronicle.{name}'] = None\n"
        "sys.modules['zstandard'] = None\n"
        "from fireassay.reference.chronicle.writer import Writer\n"
        "from fireassay.reference.chronicle.bus.layout import Bus, make_endpoint\n"
        "from fireassay.reference.chronicle.bus.markers import Lease, mark_ready\n"
        "from fireassay.reference.chronicle.bus.registration import Registration\n"
        "from fireassay.reference.chronicle.bus.router_discovery import RouterDiscovery\n"
        "from fireassay.reference.chronicle.bus.subscriber_discovery import SubscriberDiscovery\n"
        "from fireassay.reference.chronicle.bus.feeds import require_feeds\n"
        "bus = Bus(pathlib.Path(sys.argv[1]))\n"
        "queue = make_endpoint(bus.strategy('a').orders_out)\n"
        "with Writer(queue, 1024) as writer, RouterDiscovery(bus) as router, Lease(queue):\n"
        "    writer.append(b'order'); mark_ready(queue)\n"
        "    (added,) = router.poll()\n"
        "    with Registration(added.orders_out, 'router') as registration:\n"
        "        print(registration.reader.read_batch(1).messages[0].payload.decode())\n"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("order\n", "")
