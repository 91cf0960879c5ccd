"""The driver protocol from the harness's side: whatever a driver does, a sentence names it, in bounded time, and nothing is left."""

import gc
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fireassay.conformance.driver import client
from fireassay.conformance.driver.check import check
from fireassay.conformance.driver.client import DriverTarget
from fireassay.conformance.driver.process import DriverProcess
from fireassay.conformance.driver.protocol import DriverFault
from fireassay.conformance.driver.serve import Server
from fireassay.conformance.targets import load, pid_of
from fireassay.conformance.tests.tiny_trial import history_of, judged, run_trial, verdicts
from fireassay.spec.outcomes import ErrorClass, Outcome, TargetError
from fireassay.spec.ports import CallResult, ReaderPort, Target, WriterPort
from fireassay.spec.promises import SeekBy

HOSTILE = str(Path(__file__).with_name("hostile_driver.py"))
EXAMPLE = str(Path(client.__file__).with_name("examples") / "plain_driver.py")
PLAINLOG = "py:fireassay.conformance.targets.plainlog:make"
SERVE = [sys.executable, "-m", "fireassay.conformance.driver.serve"]
SHORT_S = 0.5
BOUND_S = 8.0  # a start of Python and the deadline, on a loaded machine


def hostile(place: Path, how: str, where: str) -> DriverTarget:
    return DriverTarget([sys.executable, HOSTILE, how, where], place, deadline_s=SHORT_S if "hang" in how or how in SLOW else 20.0)


SLOW = {"ignore-signals", "half-line", "close-stdout"}


def children() -> set[int]:
    found = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) == os.getpid():
                found.add(int(entry))
    return found


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No child, not even a zombie, and no descriptor."""
    before, descriptors = children(), len(os.listdir("/proc/self/fd"))
    yield
    gc.collect()
    assert children() <= before
    assert len(os.listdir("/proc/self/fd")) <= descriptors


FAULTS = [
    ("hang", "it gave no answer within 0.5 s", ErrorClass.TIMEOUT),
    ("ignore-signals", "it gave no answer within 0.5 s", ErrorClass.TIMEOUT),
    ("half-line", "it gave no answer within 0.5 s", ErrorClass.TIMEOUT),
    ("segfault", "it died of SIGSEGV without an answer; its last words on stderr: 'something broke inside'", ErrorClass.KILLED),
    ("exit", "it exited with code 7 without an answer", ErrorClass.CLOSED),
    ("close-stdout", "it closed its output and goes on running", ErrorClass.CLOSED),
    ("garbage", "it printed what is no JSON", ErrorClass.INVALID),
    ("binary", "it printed what is no JSON", ErrorClass.INVALID),
    ("deep", "it printed what is no JSON", ErrorClass.INVALID),
    ("array", "it printed what is no JSON object", ErrorClass.INVALID),
    ("wrong-id", "its reply has id", ErrorClass.INVALID),
    ("true-id", "its reply has id 'true', where 1 is due", ErrorClass.INVALID),
    ("no-id", "its reply has id", ErrorClass.INVALID),
    ("no-outcome", "where ok, fail or info is due", ErrorClass.INVALID),
    ("error-beside-ok", "where none beside an outcome of ok is due", ErrorClass.INVALID),
    ("fail-without-error", "where an object with the class of an error is due", ErrorClass.INVALID),
    ("unknown-class", "where an object with the class of an error is due", ErrorClass.INVALID),
]


@pytest.mark.parametrize(("how", "says", "kind"), FAULTS)
def test_a_fault_in_hello_is_named(tmp_path: Path, how: str, says: str, kind: ErrorClass) -> None:
    begin = time.monotonic()
    with pytest.raises(DriverFault, match=re.escape(says)) as fault:
        hostile(tmp_path, how, "hello")
    assert time.monotonic() - begin < BOUND_S
    assert "asked for hello" in str(fault.value)
    assert fault.value.error is kind
    assert fault.value.outcome is Outcome.INFO


@pytest.mark.parametrize(("how", "says", "kind"), [FAULTS[0], FAULTS[3], FAULTS[6], FAULTS[10]])
@pytest.mark.parametrize("where", ["append", "sync", "close", "read", "commit", "seek"])
def test_a_fault_in_a_call_is_info_and_the_port_is_dead(tmp_path: Path, how: str, says: str, kind: ErrorClass, where: str) -> None:
    target = hostile(tmp_path, how, where)
    port: WriterPort | ReaderPort
    port = target.open_writer("s") if where in ("append", "sync", "close") else target.open_reader("s", "r")
    pid = port.pid  # type: ignore[union-attr]
    result = call(port, where)
    assert result.outcome is Outcome.INFO
    assert result.error is not None
    assert says in result.error.text
    assert f"asked for {where}" in result.error.text
    assert result.error.error is kind
    assert not os.path.exists(f"/proc/{pid}")
    if where != "close":
        again = call(port, where)
        assert again.outcome is Outcome.FAIL  # the dead certainly do nothing
        assert again.error is not None
        assert "the driver is gone" in again.error.text
    assert port.close().outcome in (Outcome.OK, Outcome.FAIL)
    target.close()


def call(port: object, op: str) -> CallResult:
    if op == "append":
        return port.append_batch([b"x"])  # type: ignore[attr-defined,no-any-return]
    if op == "read":
        return port.read_batch(5, 0)  # type: ignore[attr-defined,no-any-return]
    if op == "commit":
        return port.commit(1)  # type: ignore[attr-defined,no-any-return]
    if op == "seek":
        return port.seek(SeekBy.POSITION, 1)  # type: ignore[attr-defined,no-any-return]
    return getattr(port, op)()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("where", "fields", "says"),
    [
        ("append", {"positions": []}, "one for each of 1 payloads"),
        ("append", {"positions": [0, 1]}, "a list of at most 1"),
        ("append", {"positions": [-1]}, "a whole number"),
        ("append", {"positions": [1.5]}, "a whole number"),
        ("append", {"positions": [True]}, "a whole number"),
        ("append", {"positions": [1 << 64]}, "a whole number"),
        ("append", {"positions": "0"}, "a list of at most 1"),
        ("read", {"records": [{"position": 0}]}, "payload"),
        ("read", {"records": [{"position": 0, "payload": "not base64!"}]}, "where base64 is due"),
        ("read", {"records": [{"position": 0, "payload": "AA=="}] * 6}, "a list of at most 5"),
        ("read", {"records": ["AA=="]}, "a list of objects"),
        ("read", {"end": 1}, "true or false"),
        ("read", {"reports": [{"cause": "mood", "begin": 0, "end": 1}]}, "gap, damage, reset or drop"),
        ("seek", {"granted": None}, "a whole number"),
    ],
)
def test_a_reply_of_a_wrong_kind_is_a_fault(tmp_path: Path, where: str, fields: dict[str, object], says: str) -> None:
    target = hostile(tmp_path, json.dumps(fields), where)
    with target.open_writer("s") if where == "append" else target.open_reader("s", "r") as port:
        result = call(port, where)
    assert result.outcome is Outcome.INFO
    assert result.error is not None
    assert says in result.error.text


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"version": 2}, "it speaks version 2 of the protocol, not 1"),
        ({"name": 5}, "name '5', where a text is due"),
        ({"promises": "version = 1\nmood = 3\n"}, "mood"),
        ({"promises": "]["}, "not TOML"),
        ({"outcome": "fail", "error": {"class": "VERSION", "text": "too new"}}, "it refused: too new"),
    ],
)
def test_a_hello_that_promises_nonsense_is_refused(tmp_path: Path, fields: dict[str, object], says: str) -> None:
    with pytest.raises(DriverFault, match=re.escape(says)):
        hostile(tmp_path, json.dumps(fields), "hello")


def test_promises_that_change_are_a_lie(tmp_path: Path) -> None:
    target = hostile(tmp_path, "changing-promises", "never")
    with target.open_writer("s"), pytest.raises(DriverFault, match="its promises is another than before"):
        target.open_reader("s", "r")


def test_a_line_that_nobody_asked_for_is_a_fault(tmp_path: Path) -> None:
    target = hostile(tmp_path, "twice", "append")
    with target.open_writer("s") as writer:
        assert writer.append_batch([b"x"]).outcome is Outcome.OK
        result = writer.sync()
    assert result.outcome is Outcome.INFO
    assert result.error is not None
    assert "nobody asked for" in result.error.text or "id 3" in result.error.text


def test_a_line_without_an_end_is_cut_off_at_the_limit() -> None:
    process = DriverProcess([sys.executable, HOSTILE, "oversized", "hello"], max_line=1 << 20)
    with pytest.raises(DriverFault, match="a line longer than 1048576 bytes"):
        process.ask("hello", 20.0)


def test_a_flood_on_stderr_blocks_nobody(tmp_path: Path) -> None:
    target = hostile(tmp_path, "flood-stderr", "sync")
    with target.open_writer("s") as writer:
        assert writer.sync().outcome is Outcome.OK


def test_what_a_driver_started_dies_with_it(tmp_path: Path) -> None:
    with pytest.raises(DriverFault, match=r"child \d+") as fault:
        hostile(tmp_path, "hang-with-child", "hello")
    found = re.search(r"child (\d+)", str(fault.value))
    assert found is not None
    until = time.monotonic() + 5
    while alive(int(found[1])) and time.monotonic() < until:
        time.sleep(0.01)
    assert not alive(int(found[1]))


def alive(pid: int) -> bool:
    """Not gone, and not merely waiting to be reaped by whoever inherited it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_program_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(DriverFault, match=r"driver '/no/such' cannot be started: No such file"):
        load("driver:/no/such --x", tmp_path)


def test_a_driver_dies_with_whoever_asked(tmp_path: Path) -> None:
    program = f"""
import signal
from pathlib import Path
from fireassay.conformance.driver.client import DriverTarget
target = DriverTarget([{sys.executable!r}, {HOSTILE!r}, "hang", "sync"], Path({str(tmp_path)!r}))
print(target.pid, flush=True)
signal.pause()
"""
    asker = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert asker.stdout is not None
    pid = int(asker.stdout.readline())
    assert alive(pid)
    asker.kill()
    asker.wait(10)
    asker.stdout.close()
    until = time.monotonic() + 10
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert not alive(pid)


def test_a_target_that_is_dropped_takes_its_process_along(tmp_path: Path) -> None:
    target = hostile(tmp_path, "hang", "never")
    pid = target.pid
    assert alive(pid)
    del target
    gc.collect()
    assert not os.path.exists(f"/proc/{pid}")


# -- sound drivers


@pytest.fixture(params=["plainlog", "chronicle", "example"])
def sound(request: pytest.FixtureRequest) -> list[str]:
    if request.param == "example":
        return [sys.executable, EXAMPLE]
    return [*SERVE, PLAINLOG if request.param == "plainlog" else request.param]


def test_a_sound_driver_passes_the_check(sound: list[str]) -> None:
    findings = check(sound)
    assert [finding for finding in findings if not finding.holds] == []
    assert len(findings) == 18


def test_a_sound_driver_is_examined_like_an_object(sound: list[str], tmp_path: Path) -> None:
    target = DriverTarget(sound, tmp_path)
    assert isinstance(target, Target)
    drained = run_trial(target, tmp_path / "rec")
    target.close()
    assert drained.complete, drained.reason
    history = history_of(tmp_path / "rec")
    assert history.problems == ()
    found = verdicts(judged(history, target, deadline_ns=5_000_000_000))  # each open starts a process
    assert set(found.values()) <= {"pass", "not-run", "not-applicable"}, found
    assert {clause for clause, verdict in found.items() if verdict == "pass"} >= {
        "LOG-01",
        "LOG-02",
        "LOG-03",
        "LOG-04",
        "LOG-05",
        "LOG-09",
    }


def test_the_actor_s_process_is_the_driver_s(tmp_path: Path) -> None:
    target = load(f"driver:{shlex.join([sys.executable, EXAMPLE])}", tmp_path)
    pid = pid_of(target)
    assert pid != os.getpid()
    with target.open_writer("s") as writer:
        assert writer.pid == pid  # type: ignore[attr-defined]
        assert pid_of(target) != pid
    target.close()  # type: ignore[attr-defined]


def test_a_refusal_keeps_its_class(tmp_path: Path) -> None:
    target = DriverTarget([*SERVE, PLAINLOG], tmp_path)
    with target.open_writer("s"), pytest.raises(TargetError, match="another writer of s is alive") as refused:
        target.open_writer("s")
    assert refused.value.error is ErrorClass.LOCKED  # type: ignore[attr-defined]
    assert refused.value.outcome is Outcome.FAIL  # type: ignore[attr-defined]


def test_a_killed_driver_leaves_what_it_acknowledged(tmp_path: Path) -> None:
    target = DriverTarget([*SERVE, PLAINLOG], tmp_path)
    writer = target.open_writer("s")
    assert writer.append_batch([b"kept"]).positions == (0,)
    os.kill(writer.pid, signal.SIGKILL)
    result = writer.append_batch([b"unknown"])
    assert result.outcome is Outcome.INFO
    assert result.error is not None
    assert "died of SIGKILL" in result.error.text
    with target.open_writer("s") as again:
        assert again.granted == 1
    with target.open_reader("s", "r") as reader:
        assert reader.read_batch(9, 0).records[0].payload == b"kept"
    target.close()


def test_a_batch_too_long_for_a_line_goes_in_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "BATCH_BYTES", 100)
    payloads = [bytes([n]) * 60 for n in range(7)] + [b"z" * 500]
    target = DriverTarget([sys.executable, EXAMPLE], tmp_path)
    with target.open_writer("s") as writer:
        assert writer.append_batch(payloads).positions == tuple(range(8))
    with target.open_reader("s", "r") as reader:
        assert [record.payload for record in reader.read_batch(9, 0).records] == payloads
    target.close()


# -- the check sees what is wrong


@pytest.mark.parametrize(
    ("how", "where", "step", "says"),
    [
        ("garbage", "hello", "hello is answered", "no JSON"),
        ('{"digest": "md5:1"}', "hello", "hello is answered", "its digest is"),
        ('{"promises": "version = 9"}', "hello", "the promises hold together", "version"),
        ('{"positions": [0, 2, 1, 5]}', "append", "a batch is appended", "promises dense positions"),
        ("flood-stderr", "never", "close and bye", "it says ok where fail is due"),
        ("exit", "sync", "close and bye", "it exited with code 7"),
    ],
)
def test_the_check_names_the_step_that_fails(tmp_path: Path, how: str, where: str, step: str, says: str) -> None:
    findings = check([sys.executable, HOSTILE, how, where], deadline_s=10.0)
    (found,) = [finding for finding in findings if finding.step.startswith(step)]
    assert not found.holds
    assert says in found.detail


def test_after_a_failed_hello_nothing_counts_as_held() -> None:
    findings = check([sys.executable, HOSTILE, "hang", "hello"], deadline_s=SHORT_S)
    assert not any(finding.holds for finding in findings)
    assert {finding.detail for finding in findings[1:]} == {"not reached"}


# -- the server, without a process


def test_the_server_answers_nonsense_and_goes_on(tmp_path: Path) -> None:
    server = Server(PLAINLOG, tmp_path)

    def ask(line: bytes) -> dict[str, object]:
        return json.loads(server.answer(line))  # type: ignore[no-any-return]

    assert ask(b"{")["id"] is None
    assert ask(b'{"id":1,"op":"sync"}')["error"] == {"class": "INVALID", "errno": 0, "text": "hello comes first"}
    assert ask(b'{"id":2,"op":"hello","version":1}')["name"] == "plainlog"
    assert ask(b'{"id":3,"op":"open_writer","stream":"../x"}')["outcome"] == "fail"
    assert ask(b'{"id":4,"op":"open_writer","stream":"s"}')["granted"] == 0
    assert ask(b'{"id":5,"op":"append","payloads":[null]}')["outcome"] == "fail"
    assert ask(b'{"id":6,"op":"append","payloads":["AA=="]}')["positions"] == [0]
    assert not server.done
    assert ask(b'{"id":7,"op":"bye"}') == {"id": 7, "outcome": "ok"}
    assert server.done


def test_what_a_target_prints_does_not_come_between_the_replies(tmp_path: Path) -> None:
    target = DriverTarget([*SERVE, "py:fireassay.conformance.tests.strange_targets:loud"], tmp_path)
    with target.open_writer("s") as writer:
        assert writer.append_batch([b"x"]).outcome is Outcome.OK
    target.close()
