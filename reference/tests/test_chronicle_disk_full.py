"""A disk that is really full: a small tmpfs of our own, in a mount namespace that goes with its process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SEGMENT = 1 << 18
SIZES = {"a segment": SEGMENT * 4 + (1 << 16), "part of a segment": SEGMENT * 4 - (1 << 16)}
# argv: place, size in bytes. Prints what happened, as one line of JSON.
SCRIPT = f"""
import json, subprocess, sys
from pathlib import Path
from fireassay.reference.chronicle.limits import Limits
from fireassay.reference.chronicle.reader import Reader
from fireassay.reference.chronicle.writer import Writer
from fireassay.reference.core import CoreError

place, size = Path(sys.argv[1]), sys.argv[2]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "none", place], check=True)

def payload(number):
    return (b"%d," % number * 300)[:1000]

def rest(reader):
    found = []
    while not (batch := reader.read_batch(1000)).end:
        found += [message.payload for message in batch.messages]
    return found

said, written = {{"errors": []}}, 0
with Writer(place / "q", {SEGMENT}, heartbeat_s=0, limits=Limits(reader_ttl_s=0)) as writer, Reader(place / "q", "r") as reader:
    while len(said["errors"]) < 3:
        try:
            assert writer.append(payload(written)) == written
            written += 1
        except CoreError as error:
            said["errors"].append([error.error_class.name, error.errno, error.where])
    full_at = said["full_at"] = written
    said["leftovers"] = [path.name for path in (place / "q").glob("*.tmp")]
    said["intact"] = rest(reader) == [payload(number) for number in range(written)]
    said["freed"] = writer.retain().deleted
    for _ in range(200):
        writer.append(payload(written))
        written += 1
    said["resumed"] = rest(reader) == [payload(number) for number in range(full_at, written)]
    writer.retain()
with Writer(place / "q", {SEGMENT}, heartbeat_s=0) as writer:
    said["next"] = writer.next_seq == written
print(json.dumps(said))
"""


def can_mount() -> bool:
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="needs root and a mount namespace of its own for a small tmpfs")
@pytest.mark.parametrize("size", SIZES)
def test_a_full_disk_is_an_error_and_writing_goes_on_when_there_is_room(tmp_path: Path, size: str) -> None:
    command = ["unshare", "-m", sys.executable, "-c", SCRIPT, str(tmp_path), str(SIZES[size])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, ""), "an error, and no signal at a store"
    said = json.loads(done.stdout)
    assert {name for name, _, _ in said["errors"]} == {"FULL"}
    assert said["leftovers"] == []
    assert said["full_at"] > 400
    assert (said["intact"], said["resumed"], said["next"]) == (True, True, True)
    assert said["freed"] > 0
    assert not any(tmp_path.iterdir()), "the mount was its own"
