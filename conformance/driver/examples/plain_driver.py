"""A driver with nothing of fireassay in it: one file per stream, each record behind its length. Put your own log inside."""

import base64
import fcntl
import hashlib
import json
import struct
import sys
import time
from io import FileIO
from pathlib import Path
from typing import Any

PROMISES = 'version = 1\n[survives.process_death]\nafter = "append"\n[sync]\nscope = "handle"\n[position]\nkind = "dense"\n'
DIGEST = "sha256:" + hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
OK = {"outcome": "ok"}


def fail(kind: str, text: str = "", outcome: str = "fail") -> dict[str, Any]:
    return {"outcome": outcome, "error": {"class": kind, "text": text}}


class Driver:
    place, file, reads, position, cursor = Path(), FileIO("/dev/null"), False, 0, Path()
    greeted = opened = False

    def next_record(self) -> bytes | None:
        """The next whole record; what a dead writer left half-written is none."""
        at, head = self.file.tell(), self.file.read(4)
        body = self.file.read(struct.unpack("<I", head)[0]) if len(head) == 4 else b""
        if len(head) == 4 and len(body) == struct.unpack("<I", head)[0]:
            self.position += 1
            return body
        self.file.seek(at)
        return None

    def open(self, stream: Path, reader: Path | None) -> dict[str, Any]:
        stream.mkdir(parents=True, exist_ok=True)
        (stream / "log").touch()
        file = FileIO(stream / "log", "r+")
        if reader is None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return fail("LOCKED", "another writer is alive")
        self.file, self.position, self.reads, self.opened = file, 0, reader is not None, True
        self.cursor = stream / f"cursor-{reader.name}" if reader else Path()
        start = int(self.cursor.read_text()) if reader and self.cursor.exists() else 0
        while (reader is None or self.position < start) and self.next_record() is not None:
            pass
        if reader is None:
            file.truncate(file.tell())
        return OK | {"granted": self.position}

    def read(self, limit: int, until: float) -> dict[str, Any]:
        records: list[dict[str, Any]] = []
        while len(records) < limit and ((body := self.next_record()) is not None or (not records and time.monotonic() < until)):
            if body is not None:
                records.append({"position": self.position - 1, "payload": base64.b64encode(body).decode()})
            else:
                time.sleep(0.001)
        return OK | {"records": records, "end": not records}

    def answer(self, op: str, ask: dict[str, Any]) -> dict[str, Any]:
        if op == "hello":
            self.greeted, self.place = ask["version"] == 1, Path(ask["place"])
            said = {"version": 1, "name": "plain-driver", "digest": DIGEST, "promises": PROMISES}
            return OK | said if self.greeted else fail("VERSION", "only version 1 is spoken here")
        if op in ("open_writer", "open_reader") and self.greeted and not self.opened:
            return self.open(self.place / Path(ask["stream"]).name, Path(ask["name"]) if op == "open_reader" else None)
        if op == "append" and self.opened and not self.reads and isinstance(ask["payloads"], list) and ask["payloads"]:
            bodies, first = [base64.b64decode(each, validate=True) for each in ask["payloads"]], self.position
            self.file.write(b"".join(struct.pack("<I", len(body)) + body for body in bodies))
            self.position += len(bodies)
            return OK | {"positions": list(range(first, self.position))}
        if op == "read" and self.reads and ask["limit"] > 0 and ask.get("wait_s", 0) >= 0:
            return self.read(ask["limit"], time.monotonic() + ask.get("wait_s", 0))
        if op == "commit" and self.reads:
            self.cursor.with_suffix(".new").write_text(f"{ask['position']:d}")
            self.cursor.with_suffix(".new").replace(self.cursor)
        elif op == "seek" and self.reads and ask["by"] in ("position", "time", "id"):
            return fail("UNSUPPORTED", "this log cannot seek")
        elif op == "close" and self.opened:
            self.file.close()
            self.opened = self.reads = False
        elif op != "bye" and not (op == "sync" and self.opened and not self.reads):  # this log survives processes, not power
            return fail("INVALID", f"{op!r} is not possible now, or no operation")
        return OK


driver = Driver()
for line in sys.stdin.buffer:
    ask: Any = None
    try:
        ask = json.loads(line)
        said = driver.answer(ask["op"], ask)
    except (KeyError, TypeError, ValueError) as error:
        said = fail("INVALID", f"{type(error).__name__}: {error}")
    except OSError as error:  # bytes may have reached the file
        said = fail("IO", str(error), "info")
    print(json.dumps({"id": ask.get("id") if isinstance(ask, dict) else None} | said), flush=True)
    if isinstance(ask, dict) and ask.get("op") == "bye":
        break
