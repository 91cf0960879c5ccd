"""A driver that misbehaves in one way, named by its first argument; the rest it does well enough to get there."""

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

PROMISES = 'version = 1\n[position]\nkind = "dense"\n'
HELLO = {"outcome": "ok", "version": 1, "name": "hostile", "digest": "sha256:" + "0" * 64, "promises": PROMISES}
how, where = sys.argv[1], sys.argv[2]


def hang(*_: object) -> Any:
    while True:
        time.sleep(3600)


def raw(text: str | bytes, *, then: Any = None) -> None:
    sys.stdout.buffer.write(text.encode() if isinstance(text, str) else text)
    sys.stdout.buffer.flush()
    if then is not None:
        then()


def misbehave(request: dict[str, Any], reply: dict[str, Any]) -> None:
    good = json.dumps({"id": request["id"], **reply})
    if how == "hang":
        hang()
    elif how == "hang-with-child":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
        print(f"child {child.pid}", file=sys.stderr, flush=True)
        hang()
    elif how == "ignore-signals":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        hang()
    elif how == "segfault":
        print("something broke inside", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    elif how == "exit":
        sys.exit(7)
    elif how == "close-stdout":
        os.close(1)
        hang()
    elif how == "half-line":
        raw(good[:10], then=hang)
    elif how == "garbage":
        raw("\x00\xff not json\n")
    elif how == "binary":
        raw(bytes(range(128, 256)) + b"\n")
    elif how == "deep":
        raw("[" * 100_000 + "\n")
    elif how == "array":
        raw("[1]\n")
    elif how == "wrong-id":
        raw(json.dumps({"id": request["id"] + 1, **reply}) + "\n")
    elif how == "true-id":
        raw(json.dumps({"id": True, **reply}) + "\n")
    elif how == "no-id":
        raw(json.dumps(reply) + "\n")
    elif how == "twice":
        raw(good + "\n" + good + "\n")
    elif how == "no-outcome":
        raw(json.dumps({"id": request["id"]}) + "\n")
    elif how == "error-beside-ok":
        raw(json.dumps({"id": request["id"], **reply, "error": {"class": "IO"}}) + "\n")
    elif how == "fail-without-error":
        raw(json.dumps({"id": request["id"], "outcome": "fail"}) + "\n")
    elif how == "unknown-class":
        raw(json.dumps({"id": request["id"], "outcome": "fail", "error": {"class": "TIRED"}}) + "\n")
    elif how == "oversized":
        while True:
            raw("x" * (1 << 20))
    elif how == "flood-stderr":
        for _ in range(64):
            os.write(2, b"y" * (1 << 16))
        raw(good + "\n")
    else:
        raw(json.dumps({"id": request["id"], **reply, **json.loads(how)}) + "\n")


REPLIES: dict[str, dict[str, Any]] = {
    "hello": HELLO,
    "open_writer": {"outcome": "ok", "granted": 0},
    "open_reader": {"outcome": "ok", "granted": 0},
    "append": {"outcome": "ok", "positions": [0]},
    "read": {"outcome": "ok", "records": [], "end": True},
    "seek": {"outcome": "ok", "granted": 0},
}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        reply = dict(REPLIES.get(request["op"], {"outcome": "ok"}))
        if how == "changing-promises" and request["op"] == "hello" and os.path.exists(os.path.join(request["place"], "seen")):
            reply["promises"] = "version = 1\n"
        elif how == "changing-promises":
            open(os.path.join(request["place"], "seen"), "w").close() if request["op"] == "hello" else None
        elif request["op"] == where:
            misbehave(request, reply)
            continue
        raw(json.dumps({"id": request["id"], **reply}) + "\n")


main()
