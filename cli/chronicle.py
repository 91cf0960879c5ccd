"""`fireassay chronicle`: look into a queue, follow it, examine it, measure. No reader is registered and no byte of a queue changed."""

import dataclasses
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from fireassay.cli.output import AsJson, print_rows, print_value
from fireassay.cli.progress import stages
from fireassay.perf.floors import Interleaved, Setting
from fireassay.reference.chronicle.control import read_control
from fireassay.reference.chronicle.log_view import Damaged, LiveSegments, LogView
from fireassay.reference.chronicle.reader import Message, span
from fireassay.reference.chronicle.speed import speeds
from fireassay.reference.chronicle.tools import doctor as examination
from fireassay.reference.chronicle.tools.bench import flushes
from fireassay.reference.chronicle.tools.survey import DEFAULT_TTL_S, ReaderFacts, Survey, is_queue
from fireassay.reference.chronicle.tools.survey import survey as survey_of
from fireassay.spec.outcomes import HarnessError

__all__ = ["register"]

EXIT_WRONG = 1
_SHOWN = 20  # segments; --json gives all
_LINE = 16
_BATCH = 256
_PAUSE_S = 0.02
_FLUSHES = 50
_FLOORS = {"across": ("spsc",), "wake": ("futex",), "append and flush": ("fdatasync",)}

chronicle = typer.Typer(help="Operate queues of chronicle: no reader is registered, and no byte changed.", no_args_is_help=True)

Queue = Annotated[Path, typer.Argument(help="The queue's own directory.")]
Ttl = Annotated[float, typer.Option("--ttl", help="Seconds after which a heartbeat is old.", min=0.0)]


def register(app: typer.Typer, room: str) -> None:
    app.add_typer(chronicle, name="chronicle", rich_help_panel=room)


@chronicle.command("inspect")
def inspect(queue: Queue, ttl: Ttl = DEFAULT_TTL_S, as_json: AsJson = False) -> None:
    """Tell where the writer is and whether it lives, what segments there are, and how far each reader is behind.

    [bold]Examples[/]: fireassay chronicle inspect /var/lib/bus/streams/raw/venue/queue · fireassay chronicle inspect QUEUE --ttl 60 --json
    """
    facts = survey_of(queue, ttl)
    if as_json:
        print_value(dataclasses.asdict(facts))
        return
    print_rows(list(_writer_rows(facts)), as_json=False, title=str(queue))
    hidden = max(0, len(facts.segments) - _SHOWN)
    title = f"{len(facts.segments)} segments" + (f", the newest {_SHOWN} of them" if hidden else "")
    print_rows([dataclasses.asdict(known) for known in facts.segments[hidden:]], as_json=False, title=title)
    print_rows([_reader_row(reader) for reader in facts.readers], as_json=False, title="readers")
    if facts.problems:
        rows = [{"problem with": problem.file, "what": problem.what, "what to do": problem.advice} for problem in facts.problems]
        print_rows(rows, as_json=False, title=f"{len(rows)} problems")


def _writer_rows(facts: Survey) -> Iterator[dict[str, object]]:
    yield {"queue": "writer", "state": facts.holder.what}
    if facts.control is not None:
        yield {"queue": "position", "state": f"segment {facts.control.segment}, offset {facts.control.offset}"}
        yield {"queue": "epoch", "state": facts.control.epoch}
        yield {"queue": "heartbeat", "state": f"{facts.heartbeat_age_s:.1f} s ago"}
        yield {"queue": "waiting readers", "state": facts.control.waiters}
        yield {"queue": "segment size", "state": f"{facts.control.segment_size:,} bytes"}
    yield {"queue": "next record", "state": facts.next_seq}


def _reader_row(reader: ReaderFacts) -> dict[str, object]:
    return {
        "reader": reader.name,
        "next": reader.next_seq,
        "lag records": reader.lag_records,
        "lag bytes": f"{reader.lag_bytes:,}",
        "lag segments": reader.lag_segments,
        "place": f"{reader.segment}:{reader.offset}",
        "process": reader.pid,
        "alive": reader.alive,
        "heartbeat": f"{reader.heartbeat_age_s:.1f} s ago",
        "within ttl": reader.live,
    }


@chronicle.command("doctor")
def doctor(
    path: Annotated[Path, typer.Argument(help="A queue, or a directory with queues below it, such as the root of a bus.")],
    ttl: Ttl = DEFAULT_TTL_S,
    as_json: AsJson = False,
) -> None:
    """Examine every file and every record: damage, stale locks, dead readers, segments that may go. Exit code 1 when something is wrong.

    [bold]Examples[/]: fireassay chronicle doctor /var/lib/bus · fireassay chronicle doctor QUEUE --ttl 60 --json
    """
    queues = examination.queues_below(path)
    findings = [finding for queue in queues for finding in examination.examine(queue, ttl)]
    rows = [
        {
            "queue": str(finding.queue.relative_to(path)),
            "wrong": finding.problem.wrong,
            "file": finding.problem.file,
            "found": finding.problem.what,
            "what to do": finding.problem.advice,
        }
        for finding in findings
    ]
    if as_json or rows:
        print_rows(rows, as_json=as_json, title=f"{path}: {len(queues)} queues")
    else:
        typer.echo(f"{path}: {len(queues)} queues, and nothing to say about them")
    if any(finding.problem.wrong for finding in findings):
        raise typer.Exit(EXIT_WRONG)


@chronicle.command("tail")
def tail(
    queue: Queue,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on with what comes.")] = False,
    count: Annotated[int, typer.Option("-n", "--records", help="How many of the last records.", min=0)] = 10,
    start: Annotated[int | None, typer.Option("--from", help="Begin with this sequence number instead.", min=0)] = None,
    shown: Annotated[int, typer.Option("--bytes", help="How much of each payload is dumped.", min=0)] = 256,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, with the whole payload in hex.")] = False,
) -> None:
    """Print records: header and hexdump of the payload. Damage is told and passed; exit code 1 then.

    [bold]Examples[/]: fireassay chronicle tail QUEUE -n 3 · fireassay chronicle tail QUEUE -f --from 2000 --json
    """
    if not is_queue(queue):
        raise HarnessError(f"{queue} is no queue of chronicle: name a queue's own directory")
    wrong = False
    with LogView(LiveSegments(queue, read_control(queue).segment_size)) as log:
        if start is None:
            log.seek_last(count)
        else:
            log.seek(start)
        try:
            for item in _records(log, follow):
                if isinstance(item, Damaged):
                    wrong = True
                    typer.echo(f"{queue}: {item}; going on behind that segment", err=True)
                elif as_json:
                    typer.echo(json.dumps(_object(item)))
                else:
                    typer.echo("\n".join(_lines(item, shown)))
        except KeyboardInterrupt:
            pass  # how one stops following
    if wrong:
        raise typer.Exit(EXIT_WRONG)


@chronicle.command("bench")
def bench(
    path: Annotated[Path, typer.Argument(help="A directory on the file system in question; it is left as it was.")] = Path(),
    records: Annotated[int, typer.Option("--records", help="How many a round writes and reads.", min=1000)] = 200_000,
    length: Annotated[int, typer.Option("--bytes", help="Length of each payload.", min=1, max=4096)] = 64,
    rounds: Annotated[int, typer.Option("--rounds", help="Each between two measurements of the floors.", min=1)] = 5,
    as_json: AsJson = False,
) -> None:
    """Measure append and read, alone and across processes, a sleeper's wake and a flush, beside what this machine does at best.

    [bold]Examples[/]: fireassay chronicle bench /var/lib/bus · fireassay chronicle bench /dev/shm --bytes 232 --json
    """
    if not path.is_dir():
        raise HarnessError(f"{path} is no directory")
    subjects: dict[str, Callable[[], float]] = dict(speeds(path, length, records))
    subjects["append and flush"] = lambda: statistics.median(flushes(path, _FLUSHES, length))
    rows = []
    with stages() as progress:
        progress.stage("chronicle, and the floors around it", len(subjects))
        for name, measured in subjects.items():
            measured()  # the first round pays for memory that this machine has not used yet
            floors = list(_FLOORS.get(name, ("clock", "memcpy-64")))
            found = Interleaved(floors, measured, rounds, Setting(effort=0.05, directory=path)).run()
            middle = statistics.median(found.subject_ns)
            beside = {floor: found.ratio(floor).median for floor in floors}
            rows.append(
                {
                    "what": name,
                    "ns p50": round(middle, 1),
                    "ns best": round(min(found.subject_ns), 1),
                    "a second": round(1e9 / middle),
                    "times its floor": beside if as_json else " · ".join(f"{floor} {times:.1f}" for floor, times in beside.items()),
                }
            )
            progress.step()
    print_rows(rows, as_json=as_json, title=f"{path}: {records:,} records of {length} bytes, {rounds} rounds")


def _records(log: LogView, follow: bool) -> Iterator[Message | Damaged]:
    while True:
        try:
            batch = log.read_batch(_BATCH)
        except Damaged as damaged:
            yield damaged
            log.skip()
            continue
        yield from batch.messages
        if batch.end and not follow:
            return
        if batch.end:
            sys.stdout.flush()
            time.sleep(_PAUSE_S)  # a futex would have to be announced in the control block


def _object(message: Message) -> dict[str, object]:
    segment, end = message.next
    return {
        "seq": message.seq,
        "timestamp_ns": message.timestamp_ns,
        "type_id": message.type_id,
        "flags": message.flags,
        "segment": segment,
        "offset": end - span(len(message.payload)),
        "payload": message.payload.hex(),
    }


def _lines(message: Message, shown: int) -> Iterator[str]:
    segment, end = message.next
    stamp = datetime.fromtimestamp(message.timestamp_ns // 10**9, UTC)
    yield (
        f"seq {message.seq}  {stamp:%Y-%m-%dT%H:%M:%S}.{message.timestamp_ns % 10**9:09d}Z  type {message.type_id}  "
        f"flags {message.flags:#06x}  {len(message.payload)} bytes  at {segment}:{end - span(len(message.payload))}"
    )
    part = message.payload[:shown]
    for at in range(0, len(part), _LINE):
        line = part[at : at + _LINE]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in line)
        yield f"    {at:08x}  {line.hex(' '):<{3 * _LINE}} |{text}|"
    if len(part) < len(message.payload):
        yield f"    … {len(message.payload) - len(part):,} bytes more (--bytes)"
