"""A log with one writer and readers with names, as the LOG contract has it where records survive the death of every process.

`records` is everything that was appended, in order. A reader stands somewhere in it; its commits survive, where it stands does not.

| step | state afterwards |
|---|---|
| appended | the payloads are at the end of `records`, each with its position |
| failed | the payloads are in `refused`, and nowhere else |
| opened | the reader stands at its last commit, at 0 where it has none |
| delivered | it stands behind what it was given, or a Violation says what is wrong with that |
| committed | its commit is the first record at or behind that position |

The death of a process changes nothing. What is given is compared whole and in order, and what is wrong with it breaks one clause.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Log", "Reader", "Violation"]


@dataclass(frozen=True, slots=True)
class Violation:
    clause: str
    text: str


@dataclass(slots=True)
class Reader:
    committed: int = 0  # how many records
    at: int = 0
    resumed: bool = False  # it was opened and has been given nothing yet


@dataclass(slots=True)
class Log:
    records: list[bytes] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    refused: list[bytes] = field(default_factory=list)
    readers: dict[str, Reader] = field(default_factory=dict)

    def appended(self, payloads: Sequence[bytes], positions: Sequence[int]) -> Violation | None:
        """Acknowledged at these positions."""
        for payload, position in zip(payloads, positions, strict=False):
            last = self.positions[-1] if self.positions else None
            if last is not None and position <= last:
                return Violation("LOG-08", f"record {len(self.records)} was told position {position}, after one at {last}")
            self.records.append(payload)
            self.positions.append(position)
        return None

    def failed(self, payloads: Sequence[bytes]) -> None:
        """Refused; an empty payload says nothing of itself and is not kept."""
        self.refused += [payload for payload in payloads if payload]

    def opened(self, name: str) -> None:
        reader = self.readers.setdefault(name, Reader())
        reader.at, reader.resumed = reader.committed, True

    def due(self, name: str) -> list[bytes]:
        return self.records[self.readers[name].at :]

    def delivered(self, name: str, payloads: Sequence[bytes], positions: Sequence[int], *, end: bool) -> Violation | None:
        reader = self.readers[name]
        for number, (payload, position) in enumerate(zip(payloads, positions, strict=True)):
            if reader.at == len(self.records) or payload != self.records[reader.at]:
                return self._verdict(name, payloads[number:])
            if position != self.positions[reader.at]:
                text = f"record {reader.at} was appended at position {self.positions[reader.at]} and {name} read it at {position}"
                return Violation("LOG-07", text)
            reader.at, reader.resumed = reader.at + 1, False
        if end and reader.at < len(self.records):
            missing = f"{len(self.records) - reader.at} records, from number {reader.at} on"
            return Violation("LOG-09", f"{name} was told END and lacks {missing}, which were acknowledged")
        return None

    def _verdict(self, name: str, given: Sequence[bytes]) -> Violation:
        """The one clause that a record breaks which is not the one that was due. `given`: it and what came behind it."""
        reader, payload = self.readers[name], given[0]
        due = self.records[reader.at] if reader.at < len(self.records) else None
        was = f"{'nothing' if due is None else f'record {reader.at}'} was due to {name}, and it was given "
        where = [number for number, record in enumerate(self.records) if record == payload]
        if not where and payload in self.refused:
            return Violation("LOG-06", f"{was}one whose append had failed: {payload[:40]!r}, {len(payload)} bytes")
        if not where:
            changed = due is not None and _is_like(payload, due)
            clause, what = ("LOG-05", "other bytes") if changed else ("LOG-04", "what nobody appended")
            return Violation(clause, f"{was}{what}: {payload[:40]!r}, {len(payload)} bytes")
        other = min(where, key=lambda number: abs(number - reader.at))
        if reader.resumed and reader.committed:
            return Violation("LOG-16", f"{was}record {other} after a restart, with {reader.committed} records committed")
        if other < reader.at:
            return Violation("LOG-03", f"{was}record {other} again")
        if due in given:
            return Violation("LOG-01", f"{was}record {other} before it")
        return Violation("LOG-02", f"{was}record {other}; {other - reader.at} in between are missing")

    def committed(self, name: str, position: int) -> None:
        """Everything before that position."""
        self.readers[name].committed = sum(each < position for each in self.positions)


def _is_like(payload: bytes, due: bytes) -> bool:
    """So like the record that is due that it is this one, changed, and not another."""
    if len(payload) != len(due):
        return payload[:24] == due[:24]
    return sum(a != b for a, b in zip(payload, due, strict=True)) * 4 <= len(due)
