"""One driver process: started, asked with a deadline, and always ended with its whole group and reaped.

One thread, no shell. Whatever goes wrong is a DriverFault that names it, and after the first one the process is gone.
"""

import ctypes
import os
import selectors
import signal
import subprocess
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from fireassay.conformance.driver.protocol import MAX_LINE, DriverFault, Reply, decode, encode
from fireassay.spec.outcomes import ErrorClass

__all__ = ["DriverProcess"]

CHUNK = 1 << 16
STDERR_KEPT = 2000
EXIT_S = 2.0
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)  # loaded here: nothing may be loaded between fork and exec


def _die_with_parent() -> None:
    """Whoever asked may be killed at any moment, and nobody else would end a driver that hangs."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class DriverProcess:
    def __init__(self, command: Sequence[str], max_line: int = MAX_LINE) -> None:
        self.command = tuple(command)
        self._max_line = max_line
        self._next_id = 1
        self._pending = b""  # of stdout, behind the last line
        self._stderr = b""
        self.fault: DriverFault | None = None
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - one call into a library that is loaded already
            )
        except OSError as error:
            raise DriverFault(ErrorClass.MISSING, f"driver {self.command[0]!r} cannot be started: {error.strerror}") from None
        self._finalizer = weakref.finalize(self, _end, self._process)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self.fault is None and self._finalizer.alive

    def ask(self, op: str, deadline_s: float, **fields: Any) -> Reply:
        """The reply to this request; DriverFault where there is none within the deadline, or none that makes sense."""
        if self.fault is not None or not self._finalizer.alive:
            raise DriverFault(ErrorClass.CLOSED, f"the driver is gone{f': {self.fault}' if self.fault else ''}")
        number, self._next_id = self._next_id, self._next_id + 1
        return self.exchange(encode({"id": number, "op": op, **fields}), number, f"{op}", deadline_s)

    def exchange(self, line: bytes, number: int | None, what: str, deadline_s: float) -> Reply:
        """Send the line as it is; the reply must carry that id."""
        try:
            reply = decode(self._talk(line, time.monotonic() + deadline_s, deadline_s))
            if "id" not in reply.fields or reply.fields["id"] != number or isinstance(reply.fields["id"], bool):
                raise reply.wrong("id", f"{'null' if number is None else number}")
            _ = (reply.outcome, reply.error)
        except DriverFault as fault:
            self.blame(fault, what)
        return reply

    def blame(self, fault: DriverFault, what: str) -> None:
        """The driver is at fault: end it, and say so."""
        self.end()
        said = self._stderr.decode("utf-8", "replace").strip()
        tail = f"; its last words on stderr: {said[-300:]!r}" if said else ""
        self.fault = DriverFault(fault.error, f"driver {self.command[0]!r}, asked for {what}: {fault}{tail}")
        raise self.fault from None

    def end(self) -> None:
        """Kill the group, reap, close; harmless when repeated."""
        if self._finalizer.alive:
            with suppress(OSError):
                self._keep_stderr(os.read(_fd(self._process.stderr), CHUNK))
        self._finalizer()

    def bye(self) -> str:
        """Let it go in peace; what it did wrong in that, or nothing. Ends it in any case."""
        try:
            self.ask("bye", EXIT_S)
            self._process.wait(EXIT_S)
        except DriverFault as fault:
            return str(fault)
        except subprocess.TimeoutExpired:
            return f"it did not exit within {EXIT_S:g} s of bye"
        finally:
            self.end()
        code = self._process.returncode
        return f"it said bye and then {_how(code)}" if code else ""

    def hang_up(self) -> str:
        """Close its stdin without a word: it must exit by itself. What it did wrong in that, or nothing."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(EXIT_S)
        except subprocess.TimeoutExpired:
            return f"it did not exit within {EXIT_S:g} s of the end of its input"
        finally:
            self.end()
        return ""

    def _talk(self, line: bytes, until: float, deadline_s: float) -> bytes:
        """Write the request while reading: neither side may wait for the other with a full pipe."""
        if b"\n" in self._pending:
            raise DriverFault(ErrorClass.INVALID, f"it printed a line that nobody asked for: {self._pending[:80]!r}")
        left = memoryview(line)
        stdin, stdout, stderr = (_fd(pipe) for pipe in (self._process.stdin, self._process.stdout, self._process.stderr))
        with selectors.DefaultSelector() as selector:
            selector.register(stdin, selectors.EVENT_WRITE)
            selector.register(stdout, selectors.EVENT_READ)
            selector.register(stderr, selectors.EVENT_READ)
            while b"\n" not in self._pending:
                if len(self._pending) >= self._max_line:
                    raise DriverFault(ErrorClass.TOO_LARGE, f"it printed a line longer than {self._max_line} bytes")
                wait = until - time.monotonic()
                if wait <= 0:
                    raise DriverFault(ErrorClass.TIMEOUT, f"it gave no answer within {deadline_s:g} s")
                for key, _events in selector.select(wait):
                    if key.fd == stdin:
                        left = self._write(stdin, left)
                        if not left:
                            selector.unregister(stdin)
                    elif key.fd == stderr:
                        data = os.read(stderr, CHUNK)
                        self._keep_stderr(data)
                        if not data:
                            selector.unregister(stderr)
                    else:
                        data = os.read(stdout, CHUNK)
                        if not data:
                            raise self._ended()
                        self._pending += data
        if left:
            raise DriverFault(ErrorClass.INVALID, "it answered before it had read the request")
        answer, _, self._pending = self._pending.partition(b"\n")
        return answer

    def _write(self, stdin: int, left: memoryview) -> memoryview:
        try:
            return left[os.write(stdin, left[: 1 << 20]) :]
        except BlockingIOError:
            return left
        except BrokenPipeError:
            raise self._ended() from None

    def _keep_stderr(self, data: bytes) -> None:
        self._stderr = (self._stderr + data)[-STDERR_KEPT:]

    def _ended(self) -> DriverFault:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(EXIT_S)
        code = self._process.returncode
        if code is None:
            return DriverFault(ErrorClass.CLOSED, "it closed its output and goes on running")
        kind = ErrorClass.KILLED if code < 0 else ErrorClass.CLOSED
        return DriverFault(kind, f"it {_how(code)} without an answer")


def _end(process: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _fd(pipe: Any) -> int:
    return int(pipe.fileno())


def _how(code: int) -> str:
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"died of {signal.Signals(-code).name}"
    except ValueError:
        return f"died of signal {-code}"
