"""What cases do through a port, with words for what went otherwise."""

import time
from collections.abc import Sequence

from fireassay.spec.outcomes import Outcome, TargetError
from fireassay.spec.ports import CallResult, ReaderPort, Record, Target, TypedWriterPort, WriterPort

__all__ = ["appended", "numbered", "payloads_of", "read", "refusal", "told", "unlike", "well"]

WITHIN_S = 5.0
SHOWN = 8  # records in a message


def well(result: CallResult, what: str) -> None:
    said = result.error.text if result.error is not None else ""
    assert result.outcome is Outcome.OK, f"{what}: expected ok, found {result.outcome.value}: {said}"


def appended(writer: WriterPort, payloads: Sequence[bytes], type_id: int | None = None) -> tuple[int, ...]:
    """Positions; one batch."""
    if type_id is None:
        result = writer.append_batch(payloads)
    else:
        assert isinstance(writer, TypedWriterPort)
        result = writer.append_typed(type_id, payloads)
    well(result, f"append of {len(payloads)} payloads of {sorted({len(each) for each in payloads})} bytes")
    return result.positions


def read(reader: ReaderPort, count: int | None = None, *, within_s: float = WITHIN_S, limit: int = 16) -> list[Record]:
    """That many records and what comes with them, or all up to an END; fewer where no more came in time."""
    found: list[Record] = []
    until = time.monotonic() + within_s
    while count is None or len(found) < count:
        batch = reader.read_batch(limit, 0.05)
        well(batch, f"read after {len(found)} records")
        found += batch.records
        if (count is None and batch.end) or time.monotonic() > until:
            break
    return found


def payloads_of(records: Sequence[Record]) -> list[bytes]:
    return [bytes(record.payload) for record in records]


def refusal(target: Target, stream: str, name: str | None = None) -> TargetError | None:
    """What an open is refused with; None where it is granted, and then it is closed again. Without a name it is a writer."""
    try:
        port = target.open_writer(stream) if name is None else target.open_reader(stream, name)
    except TargetError as error:
        return error
    port.close()
    return None


def numbered(count: int, first: int = 0) -> list[bytes]:
    """Payloads of many lengths, of which no two are alike."""
    return [(b"%07d." % number) + bytes((number + at) % 251 for at in range(number * 37 % 280)) for number in range(first, first + count)]


def unlike(found: Sequence[bytes], expected: Sequence[bytes]) -> str:
    """For messages: how many, where they part, and what stands there. Short ones are told whole."""
    if len(expected) <= SHOWN and len(found) <= SHOWN:
        return f"expected {told(expected)}; found {told(found)}"
    at = next((at for at, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b), min(len(found), len(expected)))
    return (
        f"{len(expected)} records are expected and {len(found)} were found; "
        f"from number {at} on expected {told(expected[at : at + 3])}…; found {told(found[at : at + 3])}…"
    )


def told(payloads: Sequence[bytes]) -> str:
    """Enough to tell which is which."""
    return ", ".join(map(_word, payloads)) or "nothing"


def _word(payload: bytes) -> str:
    if not payload:
        return "an empty one"
    return repr(payload)[2:-1] if len(payload) <= 16 else f"{repr(payload[:8])[2:-1]}… ({len(payload)} bytes)"
