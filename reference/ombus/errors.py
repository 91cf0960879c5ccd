"""What om_bus refuses, with the code by which C programs know it."""

from typing import Any

from fireassay.reference import core
from fireassay.spec.layouts.ombus import ErrorCode
from fireassay.spec.outcomes import ErrorClass

__all__ = ["BusError", "check", "text"]


class BusError(core.CoreError):
    """`code` is what the C function returned, `done` how many records of a batch were taken before it."""

    def __init__(self, code: int, status: int, where: str, message: str, done: int = 0) -> None:
        super().__init__(status, where, message)
        self.code = ErrorCode(code)
        self.done = done


def check(ffi: Any, err: Any, result: int, done: int = 0) -> int:
    """The result back when it is not negative."""
    if result >= 0:
        return result
    raise BusError(result, err.status, ffi.string(err.where).decode(), ffi.string(err.message).decode(errors="replace"), done)


def text(ffi: Any, name: str, where: str) -> Any:
    """As C takes it; a NUL would cut it short."""
    if "\0" in name:
        raise BusError(ErrorCode.INIT, -(ErrorClass.INVALID << 16), where, "a name holds no NUL")
    return ffi.new("char[]", name.encode())
