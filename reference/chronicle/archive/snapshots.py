"""Snapshots of state beside a queue, and how a late joiner goes on from one.

snapshots/snapshot_N.bin holds the state after record N. It is written as a temporary file, made durable and renamed: the queue goes on
meanwhile, and nobody sees half of one. A joiner takes the newest that is whole and of this log's history, and goes on at N + 1.
"""

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fireassay.reference.chronicle.log_view import LogView
from fireassay.reference.files import opened, replace
from fireassay.reference.mutants import is_selected
from fireassay.spec import layouts
from fireassay.spec.layouts import LayoutError
from fireassay.spec.layouts import chronicle as layout

__all__ = ["Joined", "NoWayIn", "Periodic", "Snapshot", "Snapshots", "join"]

_NAME = re.compile(r"snapshot_(0|[1-9]\d{0,19})\.bin")
_KEPT = 3


@dataclass(frozen=True, slots=True)
class Snapshot:
    seq: int  # the last record that the state contains
    timestamp_ns: int  # of that record: a log that lost it and gave its number again has another one
    state: bytes


class Snapshots:
    """Those of one queue, written by one process at a time."""

    def __init__(self, queue: Path) -> None:
        self.directory = queue / "snapshots"

    def path_of(self, seq: int) -> Path:
        return self.directory / f"snapshot_{seq}.bin"

    def seqs(self) -> list[int]:
        """In order; whether they are whole shows when they are loaded."""
        try:
            names = os.listdir(self.directory)
        except FileNotFoundError:
            return []
        return sorted(int(match[1]) for name in names if (match := _NAME.fullmatch(name)))

    def write(self, snapshot: Snapshot) -> Path:
        """Whole and durable under its name when it returns."""
        self.directory.mkdir(exist_ok=True)
        values = {"seq": snapshot.seq, "timestamp_ns": snapshot.timestamp_ns, "state": snapshot.state}
        replace(self.path_of(snapshot.seq), layouts.build(layout.SNAPSHOT, values), durable=True)
        return self.path_of(snapshot.seq)

    def load(self, seq: int) -> Snapshot:
        """LayoutError where it is not whole; FileNotFoundError where it is gone."""
        with opened(self.path_of(seq)) as file, os.fdopen(os.dup(file), "rb") as whole:
            data = whole.read()
        if is_selected("chronicle_snapshot_trusted"):
            return Snapshot(seq, int.from_bytes(data[16:24], "little"), data[32:-4])
        found = Snapshot(**layouts.parse(layout.SNAPSHOT, data))
        if found.seq != seq:
            raise LayoutError("wrong snapshot", f"{self.path_of(seq).name}, seq", seq, found.seq)
        return found

    def prune(self, kept: int = _KEPT) -> None:
        """All but the newest, and what a killed writer left behind."""
        for seq in self.seqs()[:-kept]:
            self.path_of(seq).unlink(missing_ok=True)
        for left in self.directory.glob("snapshot_*.bin.tmp"):
            left.unlink(missing_ok=True)


class Periodic:
    """Writes a snapshot whenever enough records or enough time have passed, and keeps the newest few."""

    def __init__(
        self,
        snapshots: Snapshots,
        *,
        every_records: int = 10_000,
        every_s: float = 10.0,
        kept: int = _KEPT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._snapshots, self._every_records, self._every_s, self._kept, self._clock = snapshots, every_records, every_s, kept, clock
        self._last_seq: int | None = None
        self._last_time = clock()

    def offer(self, seq: int, timestamp_ns: int, state: Callable[[], bytes]) -> bool:
        """After record `seq` was applied; the state is asked for only when it is written."""
        first = self._last_seq is None
        self._last_seq = seq - 1 if self._last_seq is None else self._last_seq
        now = self._clock()
        if first or (seq - self._last_seq < self._every_records and now - self._last_time < self._every_s):
            return False
        self._snapshots.write(Snapshot(seq, timestamp_ns, state()))
        self._snapshots.prune(self._kept)
        self._last_seq, self._last_time = seq, now
        return True


class NoWayIn(Exception):
    """No snapshot is sound, or the records behind it are gone: the state cannot be had from here."""


@dataclass(frozen=True, slots=True)
class Joined:
    snapshot: int | None  # None: from the first record on
    refused: tuple[str, ...]  # newer snapshots and why each was passed over


def join(log: LogView, snapshots: Snapshots, restore: Callable[[bytes], None]) -> Joined:
    """Restores the newest sound state; the log then stands at the first record that is not in it. NoWayIn where there is none."""
    there = log.numbers()
    refused: list[str] = []
    for seq in reversed(snapshots.seqs()):
        try:
            found = snapshots.load(seq)
        except (LayoutError, OSError) as error:
            refused.append(f"snapshot {seq}: {error}")
            continue
        why = _unfit(found, log, there)
        if why:
            refused.append(f"snapshot {seq}: {why}")
            continue
        restore(found.state)
        log.seek(seq if is_selected("chronicle_snapshot_replayed") else seq + 1)
        return Joined(seq, tuple(refused))
    if there is None or there.start != 0:
        told = "; ".join(refused) or "there is none"
        raise NoWayIn(f"the log does not begin with its first record, and no snapshot leads to where it does ({told})")
    log.seek(0)
    return Joined(None, tuple(refused))


def _unfit(found: Snapshot, log: LogView, there: range | None) -> str:
    """Why the log does not go on where the snapshot ends; empty where it does, or where nothing is left that could tell."""
    if there is None:
        return ""
    if found.seq + 1 < there.start:
        return f"the log begins with record {there.start}"
    if found.seq >= there.stop:
        return f"the log ends before it, at record {there.stop}"
    if found.seq in there:
        log.seek(found.seq)
        record = log.read_batch(1).messages[0]
        if record.timestamp_ns != found.timestamp_ns:
            return "the log has another record of that number: it lost the one that the snapshot contains"
    return ""
