"""A driver as a Target: each open port has a driver process of its own.

A fault of the driver is a DriverFault out of an open, and an outcome of info out of any other call; after it the port is dead, and
its calls fail: what is dead certainly does nothing more.
"""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from fireassay.conformance.driver.process import DriverProcess
from fireassay.conformance.driver.protocol import MAX_LINE, VERSION, DriverFault, Reply
from fireassay.spec.capability import Capability
from fireassay.spec.outcomes import ErrorClass, Outcome, TargetError
from fireassay.spec.ports import AppendResult, CallResult, PortError, ReadBatch, Record, Report, ReportCause, SeekResult
from fireassay.spec.promises import Promises, PromisesError, SeekBy

__all__ = ["DEADLINE_S", "DriverTarget", "Refused"]

DEADLINE_S = 30.0
BATCH_BYTES = MAX_LINE // 8  # of payload in one request; a larger batch goes in several
_CAUSES = {cause.value: cause for cause in ReportCause}


class Refused(TargetError):
    """An open that the driver refused, in its own words."""

    def __init__(self, outcome: Outcome, error: PortError) -> None:
        super().__init__(error.text or error.error.name)
        self.outcome = outcome
        self.error = error.error


class DriverTarget:
    def __init__(self, command: Sequence[str], place: Path, deadline_s: float = DEADLINE_S) -> None:
        self._command = tuple(command)
        self._place = place
        self._deadline_s = deadline_s
        self._said: tuple[str, str, str] | None = None
        self._ready: DriverProcess | None = None
        self._ready = self._started()
        self.name, self.digest, promises = self._said or ("", "", "")
        try:
            self.promises = Promises.from_toml(promises, f"promises of driver {self._command[0]!r}")
        except PromisesError as error:
            self.close()
            raise DriverFault(ErrorClass.INVALID, str(error)) from None
        self.capabilities: Sequence[Capability] = ()

    @property
    def pid(self) -> int:
        """Of the process that the next open will use."""
        self._ready = self._ready or self._started()
        return self._ready.pid

    def open_writer(self, stream: str) -> "DriverWriter":
        process, granted, typed = self._open("open_writer", stream=stream)
        return (DriverTypedWriter if typed else DriverWriter)(process, granted, self._deadline_s)

    def open_reader(self, stream: str, name: str, group: str | None = None) -> "DriverReader":
        process, granted, _ = self._open("open_reader", stream=stream, name=name, group=group)
        return DriverReader(process, granted, self._deadline_s)

    def close(self) -> None:
        """End the process that waits for the next open; open ports are their owners'."""
        ready, self._ready = self._ready, None
        if ready is not None:
            ready.end()

    def _open(self, op: str, **fields: str | None) -> tuple[DriverProcess, int, bool]:
        process, self._ready = self._ready or self._started(), None
        reply = process.ask(op, self._deadline_s, **fields)
        if reply.error is not None:
            process.end()
            raise Refused(reply.outcome, reply.error)
        try:
            return process, reply.number("granted"), reply.truth("typed")
        except DriverFault as fault:
            process.blame(fault, op)
            raise

    def _started(self) -> DriverProcess:
        """A process that said hello, and the same as every one before it."""
        process = DriverProcess(self._command)
        reply = process.ask("hello", self._deadline_s, version=VERSION, place=str(self._place.resolve()))
        try:
            if reply.error is not None:
                raise DriverFault(reply.error.error, f"it refused: {reply.error.text or reply.error.error.name}")
            if reply.number("version") != VERSION:
                raise DriverFault(ErrorClass.VERSION, f"it speaks version {reply.fields['version']} of the protocol, not {VERSION}")
            said = (reply.text("name"), reply.text("digest"), reply.text("promises"))
            self.tools = reply.commands("tools")
            if self._said is not None and said != self._said:
                changed = next(word for word, a, b in zip(("name", "digest", "promises"), said, self._said, strict=True) if a != b)
                raise DriverFault(ErrorClass.INVALID, f"its {changed} is another than before: what is promised cannot change in a run")
        except DriverFault as fault:
            process.blame(fault, "hello")
        self._said = said
        return process


class _Port:
    def __init__(self, process: DriverProcess, granted: int, deadline_s: float) -> None:
        self._process = process
        self._deadline_s = deadline_s
        self._closed = False
        self.granted = granted

    @property
    def pid(self) -> int:
        return self._process.pid

    def _gone(self) -> PortError | None:
        """Why a call cannot even be made."""
        if self._closed:
            return PortError(ErrorClass.CLOSED, text="closed")
        if not self._process.alive:
            return PortError(ErrorClass.CLOSED, text=f"the driver is gone: {self._process.fault}")
        return None

    def _call(self, op: str, **fields: object) -> CallResult:
        gone = self._gone()
        if gone is not None:
            return CallResult(outcome=Outcome.FAIL, error=gone)
        try:
            reply = self._process.ask(op, self._deadline_s, **fields)
        except DriverFault as fault:
            return CallResult(outcome=Outcome.INFO, error=_told(fault))
        return CallResult(outcome=reply.outcome, error=reply.error)

    def kill(self) -> None:
        """The driver dies on the spot, by SIGKILL, and is reaped."""
        self._process.end()

    def close(self) -> CallResult:
        if self._closed:
            return CallResult(outcome=Outcome.OK)
        result = self._call("close")
        self._closed = True
        if self._process.alive:
            self._process.bye()
        return result

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class DriverWriter(_Port):
    def append_batch(self, payloads: Sequence[bytes]) -> AppendResult:
        return self._append_all(payloads)

    def _append_all(self, payloads: Sequence[bytes], **fields: int) -> AppendResult:
        positions: tuple[int, ...] = ()
        for part in _parts(payloads):
            result = self._append(part, fields)
            positions += result.positions
            if result.outcome is not Outcome.OK:
                return AppendResult(outcome=result.outcome, error=result.error, positions=positions)
        return AppendResult(outcome=Outcome.OK, positions=positions)

    def _append(self, payloads: Sequence[bytes], fields: Mapping[str, int]) -> AppendResult:
        gone = self._gone()
        if gone is not None:
            return AppendResult(outcome=Outcome.FAIL, error=gone)
        try:
            coded = [base64.b64encode(each).decode() for each in payloads]
            reply = self._process.ask("append", self._deadline_s, payloads=coded, **fields)
            try:
                positions = reply.numbers("positions", len(payloads))
                if (len(positions) == len(payloads)) != (reply.outcome is Outcome.OK):
                    raise reply.wrong("positions", f"one for each of {len(payloads)} payloads where the outcome is ok, and only there")
            except DriverFault as fault:
                self._process.blame(fault, "append")
        except DriverFault as fault:
            return AppendResult(outcome=Outcome.INFO, error=_told(fault))
        return AppendResult(outcome=reply.outcome, error=reply.error, positions=positions)

    def sync(self) -> CallResult:
        return self._call("sync")


class DriverTypedWriter(DriverWriter):
    """Of a driver whose open said that its records have types."""

    def append_typed(self, type_id: int, payloads: Sequence[bytes]) -> AppendResult:
        return self._append_all(payloads, type_id=type_id)


class DriverReader(_Port):
    def read_batch(self, limit: int, wait_s: float) -> ReadBatch:
        gone = self._gone()
        if gone is not None:
            return ReadBatch(outcome=Outcome.FAIL, error=gone)
        try:
            reply = self._process.ask("read", wait_s + self._deadline_s, limit=limit, wait_s=wait_s)
            try:
                records = tuple(_record(each) for each in reply.objects("records", limit))
                reports = tuple(_report(each) for each in reply.objects("reports", 1 << 20))
                end = reply.truth("end")
            except DriverFault as fault:
                self._process.blame(fault, "read")
        except DriverFault as fault:
            return ReadBatch(outcome=Outcome.INFO, error=_told(fault))
        return ReadBatch(outcome=reply.outcome, error=reply.error, records=records, end=end, reports=reports)

    def commit(self, position: int) -> CallResult:
        return self._call("commit", position=position)

    def seek(self, by: SeekBy, request: int | bytes) -> SeekResult:
        gone = self._gone()
        if gone is not None:
            return SeekResult(outcome=Outcome.FAIL, error=gone)
        asked = request if isinstance(request, int) else base64.b64encode(request).decode()
        try:
            reply = self._process.ask("seek", self._deadline_s, by=by.value, request=asked)
            try:
                granted = reply.number("granted") if reply.outcome is Outcome.OK else 0
            except DriverFault as fault:
                self._process.blame(fault, "seek")
        except DriverFault as fault:
            return SeekResult(outcome=Outcome.INFO, error=_told(fault))
        return SeekResult(outcome=reply.outcome, error=reply.error, granted=granted)


def _told(fault: DriverFault) -> PortError:
    return PortError(fault.error, text=str(fault))


def _parts(payloads: Sequence[bytes]) -> list[list[bytes]]:
    """As many to a request as a line may hold."""
    parts: list[list[bytes]] = []
    room = 0
    for payload in payloads:
        if not parts or len(payload) > room:
            parts.append([])
            room = BATCH_BYTES
        parts[-1].append(payload)
        room -= len(payload) + 8
    return parts


def _record(each: Reply) -> Record:
    stamp = each.number("timestamp_ns") if each.fields.get("timestamp_ns") is not None else None
    identity = each.data("id") if "id" in each.fields else b""
    return Record(position=each.number("position"), payload=each.data("payload"), id=identity, timestamp_ns=stamp)


def _report(each: Reply) -> Report:
    cause = _CAUSES.get(each.text("cause"))
    if cause is None:
        raise each.wrong("cause", "gap, damage, reset or drop")
    return Report(cause=cause, begin=each.number("begin"), end=each.number("end"))
