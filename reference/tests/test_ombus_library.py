"""libombus from C: it builds, links both ways, exports its headers' functions, and the example does what it says."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from fireassay.reference import native
from fireassay.reference.ombus import library

EXAMPLE = Path(__file__).parent / "c" / "example_ombus.c"
SAID = [
    *(f"wal {seq} type 1 order {seq} price {10000 + seq}" for seq in (1, 2, 3, 4)),
    *(f"bus {seq} type 1 order {seq} price {10000 + seq}" for seq in (5, 6)),
    "position 6, 24 bytes a record",
    "then REPLACED",
]
IN_SEED = [
    "om_bus_stream_create",
    "om_bus_stream_publish",
    "om_bus_stream_destroy",
    "om_bus_endpoint_open",
    "om_bus_endpoint_poll",
    "om_bus_endpoint_poll_batch",
    "om_bus_endpoint_wal_seq",
    "om_bus_endpoint_close",
    "om_bus_replay_init",
    "om_bus_replay_next",
    "om_bus_replay_close",
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("libombus")
    library.build(where)
    return where


def declared(header: str) -> set[str]:
    return set(re.findall(r"(?m)^OM_BUS_API [^;(]*?(\w+)\(", (native.SOURCE / "ombus" / header).read_text(encoding="utf-8")))


def test_the_headers_of_the_seed_are_there_with_its_functions() -> None:
    assert {"om_bus.h", "om_bus_tcp.h", "om_bus_replay.h", "om_bus_error.h"} <= set(library.HEADERS)
    assert set(IN_SEED) <= declared("om_bus.h") | declared("om_bus_replay.h")


def test_nothing_but_what_the_headers_declare_is_exported(built: Path) -> None:
    listed = subprocess.run(["nm", "-D", "--defined-only", built / "libombus.so"], capture_output=True, text=True, check=True).stdout
    promised = {name for header in library.HEADERS if header != "om_bus_tcp.h" for name in declared(header)}
    assert {line.split()[2] for line in listed.splitlines()} == promised


@pytest.mark.parametrize("header", library.HEADERS)
@pytest.mark.parametrize("language", ["c", "c++"])
def test_a_header_stands_alone_in_c_and_in_c_plus_plus(tmp_path: Path, header: str, language: str) -> None:
    source = tmp_path / "alone.c"
    source.write_text(f'#include "ombus/{header}"\n')
    standard = ["-std=c11", "-pedantic"] if language == "c" else []
    command = ["gcc", "-x", language, *standard, "-Wall", "-Wextra", "-Werror", f"-I{native.SOURCE}", "-fsyntax-only", source]
    done = subprocess.run(command, capture_output=True, text=True)
    if language == "c++" and "cannot execute" in done.stderr:
        pytest.skip("gcc has no C++ here")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("linked", ["shared", "static"])
def test_the_example_runs(built: Path, tmp_path: Path, linked: str) -> None:
    how = [f"-L{built}", "-lombus", f"-Wl,-rpath,{built}"] if linked == "shared" else [built / "libombus.a"]
    program = tmp_path / "example"
    command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{native.SOURCE}", EXAMPLE, "-o", program, *how, "-pthread"]
    subprocess.run(command, check=True)
    done = subprocess.run([program, tmp_path, f"/fireassay-example-{os.getpid()}"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr, done.stdout.splitlines()) == (0, "", SAID)
    assert not Path(f"/dev/shm/fireassay-example-{os.getpid()}").exists()
