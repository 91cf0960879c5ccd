"""The tools that a target offers beside its log, as HELPERS.md describes them: asked, killed, and always ended."""

import base64
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fireassay.conformance.cases.chronicle.queue import Found
from fireassay.conformance.driver.process import DriverProcess
from fireassay.spec.ports import PortError, Target

__all__ = ["Helpers", "contents", "helping", "operated", "packed", "told", "unpacked"]

DEADLINE_S = 30.0


class Helpers:
    def __init__(self, process: DriverProcess) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, op: str, **fields: Any) -> Any:
        """The value; that it was refused is what went otherwise."""
        reply = self._process.ask(op, DEADLINE_S, **fields)
        assert reply.error is None, f"{op}: expected ok, found {reply.error.error.name}: {reply.error.text}"
        return reply.fields.get("value")

    def refusal(self, op: str, **fields: Any) -> PortError | None:
        return self._process.ask(op, DEADLINE_S, **fields).error

    def kill(self) -> None:
        self._process.end()


@contextmanager
def helping(target: Target) -> Iterator[Helpers]:
    """A process of its own, that may be killed."""
    process = DriverProcess(_tool(target, "helpers"))
    try:
        yield Helpers(process)
    finally:
        process.end()


def operated(target: Target, *words: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of the command line."""
    command = [*_tool(target, "operate"), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def told(target: Target, *words: object, code: int = 0) -> Any:
    """What it prints as JSON."""
    found, out, err = operated(target, *words, "--json")
    assert found == code, f"{' '.join(map(str, words))}: expected exit code {code}, found {found}: {err.strip()[-300:]}"
    return json.loads(out)


def _tool(target: Target, name: str) -> tuple[str, ...]:
    offered: Any = getattr(target, "tools", {})
    if name not in offered:
        pytest.skip(f"the target offers no tool {name!r} (cases/chronicle/HELPERS.md), so nothing is shown")
    return tuple(offered[name])


def packed(data: bytes) -> str:
    return base64.b64encode(data).decode()


def unpacked(data: str) -> bytes:
    return base64.b64decode(data, validate=True)


def contents(records: list[Found]) -> list[tuple[int, int, int, bytes]]:
    """What a copy keeps: all but number and place."""
    return [(record.timestamp_ns, record.type_id, record.flags, record.payload) for record in records]
