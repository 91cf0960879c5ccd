"""A disk whose power can be cut, as the engines use it. Its keeper is a process of its own, which clears up whoever dies first."""

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from fireassay.chaos.power.keeper import MOUNT, PLACE
from fireassay.spec.outcomes import EnvironmentUnfit, HarnessError

__all__ = ["Disk"]

_SIZE = 256 << 20  # of a sparse file
_DEADLINE_S = 30.0


class Disk:
    """`place` is a directory on it, seen by processes that enter the namespace `mounts`. EnvironmentUnfit where it cannot be made."""

    def __init__(self, scratch: Path) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        self._work = Path(tempfile.mkdtemp(prefix="power-", dir=scratch)).absolute()
        self.place = self._work / MOUNT / PLACE
        self._keeper: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._keeper = subprocess.Popen(
            [sys.executable, "-m", "fireassay.chaos.power.keeper", str(self._work), str(_SIZE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,
        )
        try:
            self._listen("be made")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    @property
    def pid(self) -> int:
        """Of its keeper."""
        return self._running.pid

    @property
    def mounts(self) -> str:
        return f"/proc/{self.pid}/ns/mnt"

    def cut(self) -> None:
        self._ask("mark")
        self._ask("cut")

    def restore(self) -> str:
        return self._ask("restore")

    @property
    def _running(self) -> "subprocess.Popen[bytes]":
        if self._keeper is None:
            raise HarnessError("the disk is not there: it lives as long as its with block")
        return self._keeper

    def _ask(self, what: str) -> str:
        line = self._running.stdin
        if line is not None:
            with suppress(BrokenPipeError):
                line.write(f"{what}\n".encode())
                line.flush()
        return self._listen(what)

    def _listen(self, what: str) -> str:
        pipe = self._running.stdout
        until, said = time.monotonic() + _DEADLINE_S, b""
        while pipe is not None and not said.endswith(b"\n"):
            if not select.select([pipe], [], [], max(0.0, until - time.monotonic()))[0]:
                raise EnvironmentUnfit(f"power loss: the disk did not {what} within {_DEADLINE_S:g} s")
            more = os.read(pipe.fileno(), 65536)
            if not more:
                raise EnvironmentUnfit(f"power loss: the keeper of the disk died when asked to {what}")
            said += more
        answer = json.loads(said)
        if not answer["ok"]:
            raise EnvironmentUnfit(f"power loss: {answer['said']}")
        return str(answer["said"])

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            if keeper.stdin is not None:
                with suppress(BrokenPipeError):
                    keeper.stdin.close()
            try:
                keeper.wait(_DEADLINE_S)
            except subprocess.TimeoutExpired:
                keeper.kill()
                keeper.wait()
            if keeper.stdout is not None:
                keeper.stdout.close()
        shutil.rmtree(self._work, ignore_errors=True)
