"""A record whose payload is built where it will lie."""

from types import TracebackType
from typing import Any, Self

from fireassay.reference import core

__all__ = ["Reservation"]


class Reservation:
    """Leaving the block commits it; an exception abandons it, and nobody ever sees it. The queue's appends wait for its end.

    `payload` is memory of the queue until then. A view of it that is kept longer would change a record that others read, and, once
    the queue has rolled, lead to memory that is not there.
    """

    def __init__(self, ffi: Any, lib: Any, writer: Any, type_id: int, flags: int, length: int) -> None:
        self._ffi, self._lib, self._writer = ffi, lib, writer
        self._err = ffi.new("fa_error *")
        place = ffi.new("void **")
        core.check(ffi, self._err, lib.chronicle_inplace_reserve(writer, type_id, flags, length, place, self._err))
        self.payload = memoryview(ffi.buffer(place[0], length)) if length else memoryview(bytearray())
        self.length = length  # of the record; less than was reserved is fine
        self.seq = -1  # of the record, once it is committed
        self._open = True

    def commit(self, length: int | None = None) -> int:
        """The record's number; it is visible now."""
        if length is not None:
            self.length = length
        if not 0 <= self.length <= len(self.payload):
            raise ValueError(f"{self.length} bytes cannot be committed of the {len(self.payload)} that were reserved")
        self._open = False
        self.payload.release()
        seq = self._ffi.new("uint64_t *")
        core.check(self._ffi, self._err, self._lib.chronicle_inplace_commit(self._writer, self.length, seq, self._err))
        self.seq = int(seq[0])
        return self.seq

    def abandon(self) -> None:
        """Nothing where it is committed or abandoned already."""
        if self._open:
            self._open = False
            self.payload.release()
            core.check(self._ffi, self._err, self._lib.chronicle_inplace_abandon(self._writer, self._err))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._open:
            return
        if error is None:
            self.commit()
        else:
            self.abandon()
