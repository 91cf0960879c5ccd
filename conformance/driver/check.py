"""Goes through the driver protocol step by step, bad requests included, and says what holds: `fireassay driver check COMMAND`.

It looks at the protocol, and at a promise where the first steps already show that it is a lie. Whether the log is sound is the
examination's business.
"""

import base64
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fireassay.conformance.driver.process import DriverProcess
from fireassay.conformance.driver.protocol import VERSION, DriverFault, Reply, encode
from fireassay.spec.outcomes import Outcome
from fireassay.spec.promises import PositionKind, Promises, PromisesError, Scope, Visible, WriterCount

__all__ = ["Finding", "check"]

DEADLINE_S = 10.0
STREAM = "check"
LARGEST = 1 << 25
PAYLOADS = (b"one", b"", bytes(range(256)), b"four")


@dataclass(frozen=True, slots=True)
class Finding:
    """One step: what should hold, whether it does, and what was seen where it does not, or why there was nothing to see."""

    step: str
    holds: bool
    detail: str = ""


class _Wrong(Exception):
    """What was seen instead."""


@dataclass(slots=True)
class _Examined:
    command: tuple[str, ...]
    place: Path
    deadline_s: float
    promises: Promises = field(default_factory=Promises)
    said: tuple[str, str, str] = ("", "", "")

    @contextmanager
    def started(self, *, hello: bool = True) -> Iterator[DriverProcess]:
        process = DriverProcess(self.command)
        try:
            if hello:
                self.hello(process)
            yield process
        finally:
            process.end()

    def hello(self, process: DriverProcess) -> Reply:
        return _good(process.ask("hello", self.deadline_s, version=VERSION, place=str(self.place)))

    def ask(self, process: DriverProcess, op: str, **fields: Any) -> Reply:
        return process.ask(op, self.deadline_s, **fields)


Step = tuple[str, Callable[[_Examined], str | None]]  # what it returns stands beside a step that holds


def check(command: Sequence[str], place: Path | None = None, deadline_s: float = DEADLINE_S) -> list[Finding]:
    """Every step in order; after one that leaves nothing to go on with, the others stand as not reached."""
    with TemporaryDirectory(prefix="fireassay-driver-") as folder:
        examined = _Examined(tuple(command), (place or Path(folder)).resolve(), deadline_s)
        findings: list[Finding] = []
        for number, (step, look) in enumerate(_STEPS):
            try:
                seen = look(examined)
            except (_Wrong, DriverFault) as error:
                findings.append(Finding(step, False, str(error)))
                if number < _NEEDED:
                    findings += [Finding(later, False, "not reached") for later, _ in _STEPS[number + 1 :]]
                    break
            else:
                findings.append(Finding(step, True, seen or ""))
        return findings


# -- steps


def _greets(examined: _Examined) -> None:
    with examined.started(hello=False) as process:
        reply = examined.hello(process)
        if reply.number("version") != VERSION:
            raise _Wrong(f"it speaks version {reply.fields['version']}, not {VERSION}")
        examined.said = (reply.text("name"), reply.text("digest"), reply.text("promises"))
        if not examined.said[0]:
            raise _Wrong("its name is empty")
        digest = examined.said[1]
        if not digest.startswith("sha256:") or len(digest) != 71 or set(digest[7:]) - set("0123456789abcdef"):
            raise _Wrong(f"its digest is {digest[:90]!r}, not sha256: and 64 hexadecimal digits")


def _promises(examined: _Examined) -> None:
    try:
        examined.promises = Promises.from_toml(examined.said[2], "promises")
    except PromisesError as error:
        raise _Wrong(str(error)) from None


def _same_again(examined: _Examined) -> None:
    with examined.started(hello=False) as process:
        reply = examined.hello(process)
        if (reply.text("name"), reply.text("digest"), reply.text("promises")) != examined.said:
            raise _Wrong("a second process says another name, digest or promises")


def _other_version(examined: _Examined) -> None:
    with examined.started(hello=False) as process:
        _refused(examined.ask(process, "hello", version=VERSION + 98, place=str(examined.place)), "VERSION")


def _needs_hello(examined: _Examined) -> None:
    with examined.started(hello=False) as process:
        _refused(examined.ask(process, "open_writer", stream=STREAM), "INVALID")
        examined.hello(process)


def _bad_lines(examined: _Examined) -> None:
    with examined.started() as process:
        for line in (b"this is no JSON\n", b"[1, 2]\n", b'"text"\n'):
            _refused(process.exchange(line, None, repr(line), examined.deadline_s), "INVALID")
        examined.hello(process)


def _bad_requests(examined: _Examined) -> None:
    with examined.started() as process:
        for fields in ({"op": "fly"}, {"op": "append", "payloads": ["AA=="]}, {"op": "open_writer"}, {"op": "open_reader", "stream": 5}):
            _refused(process.exchange(encode({"id": 900, **fields}), 900, repr(fields), examined.deadline_s), "INVALID")
        examined.hello(process)


def _unknown_fields(examined: _Examined) -> None:
    with examined.started(hello=False) as process:
        _good(examined.ask(process, "hello", version=VERSION, place=str(examined.place), colour="blue"))


def _writes(examined: _Examined) -> None:
    with examined.started() as process:
        start = _good(examined.ask(process, "open_writer", stream=STREAM)).number("granted")
        told = [base64.b64encode(each).decode() for each in PAYLOADS]
        positions = _good(examined.ask(process, "append", payloads=told)).numbers("positions", len(PAYLOADS))
        if len(positions) != len(PAYLOADS):
            raise _Wrong(f"{len(positions)} positions for {len(PAYLOADS)} payloads")
        kind = examined.promises.position.kind
        if kind is PositionKind.DENSE and list(positions) != list(range(start, start + len(PAYLOADS))):
            raise _Wrong(f"it promises dense positions and gives {list(positions)} after granting {start}")
        if kind is PositionKind.INCREASING and sorted(set(positions)) != list(positions):
            raise _Wrong(f"it promises increasing positions and gives {list(positions)}")
        if examined.promises.sync.scope is not Scope.NONE:
            _good(examined.ask(process, "sync"))


def _bad_payloads(examined: _Examined) -> None:
    with examined.started() as process:
        _good(examined.ask(process, "open_writer", stream="bad"))
        for payloads in (["not base64!"], [7], "AA==", []):
            _refused(examined.ask(process, "append", payloads=payloads), "INVALID")
        _refused(examined.ask(process, "read", limit=1, wait_s=0), "INVALID")
        _refused(examined.ask(process, "open_writer", stream="bad"), "INVALID")
        _good(examined.ask(process, "close"))


def _too_large(examined: _Examined) -> str | None:
    most = examined.promises.bounds.max_payload
    if most is None or most > LARGEST:
        return (
            "nothing asked: no largest payload is promised"
            if most is None
            else f"nothing asked: more than {LARGEST} bytes do not fit a line"
        )
    with examined.started() as process:
        _good(examined.ask(process, "open_writer", stream="large"))
        _refused(examined.ask(process, "append", payloads=[base64.b64encode(bytes(most + 1)).decode()]), "TOO_LARGE")
    return None


def _one_writer(examined: _Examined) -> str | None:
    if examined.promises.writers.count is not WriterCount.ONE:
        return "nothing asked: many writers are promised"
    with examined.started() as process, examined.started() as other:
        _good(examined.ask(process, "open_writer", stream="alone"))
        _refused(examined.ask(other, "open_writer", stream="alone"), "LOCKED")
    return None


def _reads(examined: _Examined) -> None:
    with examined.started() as process:
        _good(examined.ask(process, "open_reader", stream=STREAM, name="first", group=None)).number("granted")
        got: list[bytes] = []
        for _ in range(len(PAYLOADS) + 1):
            reply = _good(examined.ask(process, "read", limit=2, wait_s=0.2))
            records = reply.objects("records", 2)
            got += [record.data("payload") for record in records]
            if reply.truth("end"):
                break
        visible = "" if examined.promises.visible is Visible.APPEND else " (after a sync)"
        if got != list(PAYLOADS):
            raise _Wrong(f"of {len(PAYLOADS)} payloads appended{visible} it gives back {got!r:.200}")
        for fields in ({"limit": 0}, {"limit": "2"}, {"limit": 1, "wait_s": -1}):
            _refused(examined.ask(process, "read", **fields), "INVALID")
        _refused(examined.ask(process, "append", payloads=["AA=="]), "INVALID")


def _sees_end(examined: _Examined) -> None:
    with examined.started() as process:
        _good(examined.ask(process, "open_reader", stream=STREAM, name="ender", group=None))
        for _ in range(50):
            if _good(examined.ask(process, "read", limit=100, wait_s=0.05)).truth("end"):
                return
        raise _Wrong("fifty reads of a log of four records, and never an end")


def _commits(examined: _Examined) -> None:
    with examined.started() as process:
        _good(examined.ask(process, "open_reader", stream=STREAM, name="second", group=None))
        records = _good(examined.ask(process, "read", limit=1, wait_s=0.2)).objects("records", 1)
        if not records:
            raise _Wrong("it gives back nothing to commit")
        _good(examined.ask(process, "commit", position=records[0].number("position") + 1))
        _refused(examined.ask(process, "commit", position="one"), "INVALID")
        _good(examined.ask(process, "close"))


def _seeks(examined: _Examined) -> None:
    promised = {by.value for by in examined.promises.seek.by}
    with examined.started() as process:
        granted = _good(examined.ask(process, "open_reader", stream=STREAM, name="third", group=None)).number("granted")
        _refused(examined.ask(process, "seek", by="colour", request=1), "INVALID")
        if "position" in promised:
            _good(examined.ask(process, "seek", by="position", request=granted)).number("granted")
        else:
            _refused(examined.ask(process, "seek", by="position", request=granted), "UNSUPPORTED")


def _closes(examined: _Examined) -> None:
    with examined.started() as process:
        _good(examined.ask(process, "open_writer", stream="closing"))
        _good(examined.ask(process, "close"))
        _refused(examined.ask(process, "sync"), "INVALID")
        wrong = process.bye()
        if wrong:
            raise _Wrong(wrong)


def _hangs_up(examined: _Examined) -> None:
    with examined.started() as process:
        wrong = process.hang_up()
        if wrong:
            raise _Wrong(wrong)


_STEPS: tuple[Step, ...] = (
    ("hello is answered with version, name, digest and promises", _greets),
    ("the promises hold together", _promises),
    ("a second process says the same", _same_again),
    ("another version is refused", _other_version),
    ("nothing is done before hello", _needs_hello),
    ("a line that is no JSON object is refused, and the driver goes on", _bad_lines),
    ("a request that makes no sense is refused, and the driver goes on", _bad_requests),
    ("unknown fields are passed over", _unknown_fields),
    ("a batch is appended, with a position for each record", _writes),
    ("bad payloads are refused, and so is what is no operation of a writer", _bad_payloads),
    ("a payload larger than promised is refused", _too_large),
    ("a second writer is refused where one is promised", _one_writer),
    ("what was appended is read back, byte for byte", _reads),
    ("a reader says when there is no more", _sees_end),
    ("a commit is taken", _commits),
    ("a seek goes where it is promised", _seeks),
    ("close and bye end it with exit code 0", _closes),
    ("it exits when its input ends", _hangs_up),
)
_NEEDED = 2  # without these first steps nothing else can be asked


def _good(reply: Reply) -> Reply:
    if reply.error is not None:
        raise _Wrong(f"it says {reply.outcome.value}, {reply.error.error.name}: {reply.error.text or 'no text'}")
    return reply


def _refused(reply: Reply, wanted: str) -> None:
    if reply.outcome is not Outcome.FAIL or reply.error is None:
        raise _Wrong(f"it says {reply.outcome.value} where fail is due")
    if reply.error.error.name != wanted:
        raise _Wrong(f"it gives {reply.error.error.name} as the error's class where {wanted} is due")
