"""Damage in what lies beside the segments of a queue: snapshots, origins of an archive queue, and stores of compressed segments."""

from collections.abc import Iterator
from pathlib import Path

from fireassay.reference.chronicle.archive.origin import ORIGIN, origins_of
from fireassay.reference.chronicle.archive.snapshots import Snapshots
from fireassay.reference.chronicle.archive.store import ArchivedSegments, archive_name, archived_ids
from fireassay.reference.chronicle.segments import Stop
from fireassay.reference.chronicle.tools.survey import Problem
from fireassay.spec.layouts import LayoutError

__all__ = ["archives", "is_store", "origins", "snapshots"]


def is_store(path: Path) -> bool:
    return bool(archived_ids(path))


def snapshots(queue: Path) -> Iterator[Problem]:
    kept = Snapshots(queue)
    for seq in kept.seqs():
        try:
            kept.load(seq)
        except FileNotFoundError:
            continue  # it has just given way to a newer one
        except LayoutError as error:
            yield Problem(f"snapshots/{kept.path_of(seq).name}", str(error), "remove it; late joiners take an older one meanwhile")


def origins(queue: Path) -> Iterator[Problem]:
    try:
        origins_of(queue)
    except LayoutError as error:
        advice = "restore it from a copy; without it a tap would begin this archive anew and copy records twice"
        yield Problem(ORIGIN, str(error), advice)


def archives(store: Path) -> Iterator[Problem]:
    """Each archive unpacked, and each record in it."""
    advice = "restore it from a copy; readers are told of it and are given nothing of it"
    segments = ArchivedSegments(store)
    for segment in segments.ids():
        try:
            with segments.open(segment) as view:
                found = view.extent()
        except FileNotFoundError:
            continue
        except LayoutError as error:
            yield Problem(archive_name(segment), str(error), advice)
            continue
        if found.stop is not Stop.END:
            yield Problem(archive_name(segment), f"the record at {found.end} cannot be trusted", advice)
