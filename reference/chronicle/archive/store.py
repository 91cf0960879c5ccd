"""Compressed segments in a directory of their own, one file each: 000000003.q.zst.

A file is one zstd frame that tells its length and ends with a checksum; unpacked it is the segment, byte by byte. It has its name only
after it was unpacked again and compared.
"""

import mmap
import os
import re
from collections.abc import Iterator
from pathlib import Path

import zstandard

from fireassay.reference.chronicle.reader import HEADER
from fireassay.reference.chronicle.segments import MAX_SEGMENT_SIZE, SegmentView, checked, name_of
from fireassay.reference.files import opened
from fireassay.reference.mutants import is_selected
from fireassay.spec.layouts import LayoutError

__all__ = ["ArchivedSegments", "archive_name", "archived_ids", "holds", "write_archive"]

_NAME = re.compile(r"\d{9}\.q\.zst")
_CHUNK = 1 << 20
_MAX_WINDOW = 1 << 27
_FRAME_HEADER = 18
_RLE = 1  # a block of one byte, repeated
_CHECKSUM = 4


def archive_name(segment: int) -> str:
    return f"{name_of(segment)}.zst"


def archived_ids(store: Path) -> list[int]:
    """Of the archives in the directory, in order."""
    try:
        return sorted(int(name[:9]) for name in os.listdir(store) if _NAME.fullmatch(name))
    except FileNotFoundError:
        return []


def write_archive(store: Path, view: SegmentView, level: int) -> None:
    """Durable under its name when it returns. LayoutError where what was written does not give the segment back; it has no name then."""
    path = store / archive_name(view.segment)
    temporary = path.with_name(f"{path.name}.tmp")
    with temporary.open("wb") as file:
        _compress(view.memory, file.fileno(), level)
        os.fsync(file.fileno())
    if not is_selected("chronicle_archive_unverified") and not _gives(temporary, view.memory):
        temporary.unlink()
        raise LayoutError("wrong copy", str(temporary), "the segment, unpacked", "other bytes")
    temporary.rename(path)
    directory = os.open(store, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def holds(store: Path, view: SegmentView) -> bool:
    """Whether the segment's archive is there and gives it back."""
    if is_selected("chronicle_archive_unverified"):
        return (store / archive_name(view.segment)).exists()
    try:
        return _gives(store / archive_name(view.segment), view.memory)
    except (FileNotFoundError, LayoutError):
        return False


class ArchivedSegments:
    """Those of a store, unpacked into memory one at a time."""

    def __init__(self, store: Path, variant: str | None = None) -> None:
        self.store, self._variant = store, variant

    def ids(self) -> list[int]:
        return archived_ids(self.store)

    def open(self, segment: int) -> SegmentView:
        """Nothing of it is given out unless all of it is sound. LayoutError says what is wrong."""
        path = self.store / archive_name(segment)
        with opened(path) as file:
            memory = mmap.mmap(-1, _length_of(path, file))
            try:
                with memoryview(memory) as room:
                    at = 0
                    for chunk in _unpacked(path, file):
                        room[at : at + len(chunk)] = chunk
                        at += len(chunk)
                if at != len(memory):
                    raise LayoutError("truncated", str(path), f"{len(memory)} bytes", f"{at} bytes")
            except BaseException:
                memory.close()
                raise
        return checked(memory, segment, self._variant)


def _compress(memory: mmap.mmap, file: int, level: int) -> None:
    compressor = zstandard.ZstdCompressor(level=level, write_checksum=True, write_content_size=True)
    with (
        memoryview(memory) as whole,
        os.fdopen(os.dup(file), "wb") as out,
        compressor.stream_writer(out, size=len(memory), closefd=False) as writer,
    ):
        for at in range(0, len(memory), _CHUNK):
            writer.write(whole[at : at + _CHUNK])


def _gives(path: Path, memory: mmap.mmap) -> bool:
    with opened(path) as file:
        if _length_of(path, file) != len(memory):
            return False
        at = 0
        for chunk in _unpacked(path, file):
            if memory[at : at + len(chunk)] != chunk:  # of bytes: a memoryview compares item by item
                return False
            at += len(chunk)
        return at == len(memory)


def _length_of(path: Path, file: int) -> int:
    """As the frame tells, before any memory is taken for it; the file has to end where the frame does."""
    head = os.pread(file, _FRAME_HEADER, 0)
    try:
        told, at = zstandard.get_frame_parameters(head), zstandard.frame_header_size(head)
    except zstandard.ZstdError as error:
        raise LayoutError("no archive", str(path), "a zstd frame", error) from None
    last = False
    while not last:  # a reader of the frame would be content with the bytes, and never miss the checksum behind them
        block = int.from_bytes(os.pread(file, 3, at).ljust(3, b"\1"), "little")
        last, kind, length = bool(block & 1), block >> 1 & 3, block >> 3
        at += 3 + (1 if kind == _RLE else length)
    end = os.fstat(file).st_size
    if at + _CHECKSUM != end:
        raise LayoutError("truncated" if end < at + _CHECKSUM else "oversized", str(path), f"a frame of {at + _CHECKSUM} bytes", end)
    size = told.content_size
    if size % HEADER or not 2 * HEADER <= size <= MAX_SEGMENT_SIZE or not told.has_checksum:
        raise LayoutError("no archive of a segment", str(path), "a frame with checksum that tells the length of a segment", size)
    return int(size)


def _unpacked(path: Path, file: int) -> Iterator[bytes]:
    """Never more than the frame told, a piece at a time; what stands behind the frame is damage too."""
    left = _length_of(path, file)
    unpacker = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
    with os.fdopen(os.dup(file), "rb") as source, unpacker.stream_reader(source, read_across_frames=True, closefd=False) as stream:
        try:
            while chunk := stream.read(_CHUNK):
                left -= len(chunk)
                if left < 0:
                    raise LayoutError("oversized", str(path), "one frame", "more behind it")
                yield chunk
        except zstandard.ZstdError as error:
            raise LayoutError("damaged archive", str(path), "a whole zstd frame", error) from None
