"""Serves any Target over the driver protocol: python -m fireassay.conformance.driver.serve TARGET_SPEC [--place DIR]

The place comes with hello; --place stands for a hello that names none.
"""

import argparse
import base64
import binascii
import json
import os
import sys
from pathlib import Path
from typing import Any, BinaryIO

from fireassay.conformance.driver.protocol import MAX_LINE, VERSION, encode
from fireassay.conformance.targets.registry import load
from fireassay.spec.outcomes import EnvironmentUnfit, ErrorClass, HarnessError, Outcome, TargetError
from fireassay.spec.ports import CallResult, PortError, ReadBatch, ReaderPort, Target, TypedWriterPort, WriterPort
from fireassay.spec.promises import SeekBy

__all__ = ["Server", "main"]

Fields = dict[str, Any]


class _Bad(Exception):
    """A request that cannot be understood; nothing was done."""


class Server:
    """One target, at most one open port. `answer` takes a line and gives a line."""

    def __init__(self, spec: str, place: Path | None) -> None:
        self._spec = spec
        self._place = place
        self._target: Target | None = None
        self._port: WriterPort | ReaderPort | None = None
        self.done = False

    def answer(self, line: bytes) -> bytes:
        number: object = None
        try:
            request = self._request(line)
            number = request.get("id")
            reply = self._do(request)
        except _Bad as error:
            reply = _failed(Outcome.FAIL, ErrorClass.INVALID, str(error))
        except (TargetError, HarnessError, EnvironmentUnfit) as error:
            said = getattr(error, "error", None)
            outcome = getattr(error, "outcome", Outcome.FAIL)
            reply = _failed(outcome, said if isinstance(said, ErrorClass) else ErrorClass.IO, str(error))
        except Exception as error:
            reply = _failed(Outcome.INFO, ErrorClass.IO, f"{type(error).__name__}: {error}")
        return encode({"id": number, **reply})

    def _request(self, line: bytes) -> Fields:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            raise _Bad("the request is no JSON") from None
        if not isinstance(found, dict):
            raise _Bad("the request is no JSON object")
        return found

    def _do(self, request: Fields) -> Fields:
        op = request.get("op")
        if op == "hello":
            return self._hello(request)
        if op == "bye":
            if self._port is not None:
                self._port.close()
            self.done = True
            return {"outcome": "ok"}
        if self._target is None:
            raise _Bad("hello comes first")
        if op in ("open_writer", "open_reader"):
            return self._open(op, request, self._target)
        if self._port is None:
            raise _Bad(f"{op!r} without an open port, or no operation at all")
        return self._on_port(op, request, self._port)

    def _hello(self, request: Fields) -> Fields:
        if request.get("version") != VERSION:
            return _failed(Outcome.FAIL, ErrorClass.VERSION, f"version {request.get('version')} is not spoken here, only {VERSION}")
        place = _text(request, "place") if request.get("place") is not None else None
        if place is None and self._place is None:
            raise _Bad("no place is named")
        if self._target is None:
            self._target = load(self._spec, Path(place) if place is not None else self._place or Path())
        target = self._target
        said = {
            "name": target.name,
            "digest": target.digest,
            "promises": target.promises.to_toml(),
            "tools": dict(getattr(target, "tools", {})),
        }
        return {"outcome": "ok", "version": VERSION, **said}

    def _open(self, op: str, request: Fields, target: Target) -> Fields:
        if self._port is not None:
            raise _Bad("a port is open already")
        stream = _text(request, "stream")
        if op == "open_writer":
            self._port = target.open_writer(stream)
            if isinstance(self._port, TypedWriterPort):
                return {"outcome": "ok", "granted": self._port.granted, "typed": True}
        else:
            group = _text(request, "group") if request.get("group") is not None else None
            self._port = target.open_reader(stream, _text(request, "name"), group)
        return {"outcome": "ok", "granted": self._port.granted}

    def _on_port(self, op: object, request: Fields, port: WriterPort | ReaderPort) -> Fields:
        if op == "close":
            self._port = None
            return _result(port.close())
        if hasattr(port, "append_batch"):
            return _write(op, request, port)
        return _read(op, request, port)


def _write(op: object, request: Fields, port: Any) -> Fields:
    if op == "append":
        payloads = request.get("payloads")
        if not isinstance(payloads, list) or not payloads:
            raise _Bad("payloads is a list of base64 texts, at least one")
        data = [_data(each) for each in payloads]
        typed = "type_id" in request and isinstance(port, TypedWriterPort)
        result = port.append_typed(_number(request, "type_id"), data) if typed else port.append_batch(data)
        return {**_result(result), "positions": list(result.positions)}
    if op == "sync":
        return _result(port.sync())
    raise _Bad(f"{op!r} is no operation of a writer")


def _read(op: object, request: Fields, port: Any) -> Fields:
    if op == "read":
        wait = request.get("wait_s", 0)
        if not isinstance(wait, (int, float)) or isinstance(wait, bool) or not 0 <= wait < 1e6:
            raise _Bad("wait_s is a number of seconds")
        limit = _number(request, "limit")
        if not limit:
            raise _Bad("limit is at least 1")
        return _batch(port.read_batch(limit, wait))
    if op == "commit":
        return _result(port.commit(_number(request, "position")))
    if op == "seek":
        try:
            by = SeekBy(str(request.get("by")))
        except ValueError:
            raise _Bad("by is position, time or id") from None
        found = port.seek(by, _data(request.get("request")) if by is SeekBy.ID else _number(request, "request"))
        return {**_result(found), "granted": found.granted}
    raise _Bad(f"{op!r} is no operation of a reader")


def _batch(batch: ReadBatch) -> Fields:
    records = []
    for record in batch.records:
        told: Fields = {"position": record.position, "payload": base64.b64encode(record.payload).decode()}
        if record.id:
            told["id"] = base64.b64encode(record.id).decode()
        if record.timestamp_ns is not None:
            told["timestamp_ns"] = record.timestamp_ns
        records.append(told)
    reports = [{"cause": report.cause.value, "begin": report.begin, "end": report.end} for report in batch.reports]
    return {**_result(batch), "records": records, "end": batch.end, "reports": reports}


def _result(result: CallResult) -> Fields:
    return {"outcome": result.outcome.value} if result.error is None else {"outcome": result.outcome.value, "error": _error(result.error)}


def _failed(outcome: Outcome, error: ErrorClass, text: str) -> Fields:
    return {"outcome": outcome.value, "error": _error(PortError(error, text=text))}


def _error(error: PortError) -> Fields:
    name = "IO" if error.error is ErrorClass.NONE else error.error.name
    return {"class": name, "errno": error.errno, "text": error.text}


def _text(request: Fields, name: str) -> str:
    found = request.get(name)
    if not isinstance(found, str):
        raise _Bad(f"{name} is a text")
    return found


def _number(request: Fields, name: str) -> int:
    found = request.get(name)
    if type(found) is not int or not 0 <= found < 1 << 64:
        raise _Bad(f"{name} is a whole number from 0 to 2**64 - 1")
    return found


def _data(found: object) -> bytes:
    try:
        return base64.b64decode(found, validate=True) if isinstance(found, str) else _never()
    except (binascii.Error, ValueError):
        raise _Bad("a payload or id is a base64 text") from None


def _never() -> bytes:
    raise ValueError("no text")


def serve(server: Server, source: BinaryIO, sink: BinaryIO) -> None:
    while not server.done:
        line = source.readline(MAX_LINE)
        if not line.endswith(b"\n"):
            return  # the end of the input, or a line that nobody may send
        sink.write(server.answer(line))
        sink.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="fireassay.conformance.driver.serve", description=__doc__)
    parser.add_argument("spec", metavar="TARGET_SPEC")
    parser.add_argument("--place", type=Path)
    asked = parser.parse_args()
    # Whatever a target prints must not come between the replies.
    with os.fdopen(os.dup(1), "wb") as sink:
        os.dup2(2, 1)
        serve(Server(asked.spec, asked.place), sys.stdin.buffer, sink)


if __name__ == "__main__":
    main()
