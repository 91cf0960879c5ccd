"""The few kinds of field the layouts are made of, and how a layout is parsed and built.

A layout is a `construct.Struct`; offsets and sizes are derived from it, never kept by hand.
What follows from the rest (magics, versions, reserved zeros, lengths, checksums) is checked by `parse` and written by `build`,
but it is not among the values: these hold only what carries information, so that parse(build(values)) == values.
Every length and count read from the bytes is compared with the bytes that are left before anything is taken.
"""

import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from types import MappingProxyType
from typing import Any

from construct import Array, Bytes, Construct, ConstructError, Int32ul, Struct, Subconstruct

__all__ = [
    "Align",
    "Blob",
    "Converted",
    "Crc32",
    "Derived",
    "Exact",
    "Hole",
    "Layout",
    "LayoutError",
    "Many",
    "Rule",
    "Text",
    "Utf8",
    "Within",
    "Zero",
    "build",
    "layout",
    "parse",
    "parse_prefix",
    "unwrapped",
]

Values = dict[str, Any]


class LayoutError(ValueError):
    """The bytes (or the values) do not obey a layout."""

    def __init__(self, what: str, where: str, expected: object, found: object) -> None:
        super().__init__(f"{what} at {where}: expected {expected}, found {found}")
        self.what, self.where, self.expected, self.found = what, where, expected, found


def _field(path: str) -> str:  # construct's path "(parsing) -> a -> b" as "a.b"
    return ".".join(path.split(" -> ")[1:]) or "start"


def _bounded(stream: BytesIO, context: Any, path: str, need: int) -> None:  # refuse before memory is taken
    at, end = stream.tell(), context._params.end
    if need > end - at:
        raise LayoutError("truncated", f"{_field(path)}, byte {at}", f"{need} bytes", f"{end - at} bytes")


class Exact(Subconstruct):  # type: ignore[misc]
    """One value only: a magic, a version, a type."""

    carries = False

    def __init__(self, subcon: Any, value: Any, what: str = "bad value") -> None:
        super().__init__(subcon)
        self.value, self.what, self.flagbuildnone = value, what, True

    def _parse(self, stream: BytesIO, context: Any, path: str) -> Any:
        at = stream.tell()
        found = self.subcon._parsereport(stream, context, path)
        if found != self.value:
            raise LayoutError(self.what, f"{_field(path)}, byte {at}", self.value, found)
        return found

    def _build(self, _obj: Any, stream: BytesIO, context: Any, path: str) -> Any:
        return self.subcon._build(self.value, stream, context, path)


class Within(Subconstruct):  # type: ignore[misc]
    """An integer out of a range or a set."""

    def __init__(self, subcon: Any, allowed: range | frozenset[int]) -> None:
        super().__init__(subcon)
        self.allowed = allowed

    def _check(self, value: Any, path: str) -> Any:
        if value not in self.allowed:
            allowed = self.allowed if isinstance(self.allowed, range) else f"one of {len(self.allowed)} values"
            raise LayoutError("value out of range", _field(path), allowed, value)
        return value

    def _parse(self, stream: BytesIO, context: Any, path: str) -> Any:
        return self._check(self.subcon._parsereport(stream, context, path), path)

    def _build(self, obj: Any, stream: BytesIO, context: Any, path: str) -> Any:
        return self.subcon._build(self._check(obj, path), stream, context, path)


class Derived(Subconstruct):  # type: ignore[misc]
    """A length, count or flag that follows from the other values; whoever uses it on parsing checks it."""

    carries = False

    def __init__(self, subcon: Any, of: Callable[[Any], int]) -> None:
        super().__init__(subcon)
        self.of, self.flagbuildnone = of, True

    def _parse(self, stream: BytesIO, context: Any, path: str) -> Any:
        return self.subcon._parsereport(stream, context, path)

    def _build(self, _obj: Any, stream: BytesIO, context: Any, path: str) -> Any:
        return self.subcon._build(self.of(context), stream, context, path)


class Zero(Subconstruct):  # type: ignore[misc]
    """Reserved bytes: written as zero, refused when they are not."""

    carries = False
    strict = True

    def __init__(self, count: int) -> None:
        super().__init__(Bytes(count))
        self.count, self.flagbuildnone = count, True

    def _parse(self, stream: BytesIO, context: Any, path: str) -> Any:
        at = stream.tell()
        found = self.subcon._parsereport(stream, context, path)
        if self.strict and found.count(0) != len(found):
            raise LayoutError("reserved bytes not zero", f"{_field(path)}, byte {at}", "zeros", found[:16].hex())
        return found

    def _build(self, _obj: Any, stream: BytesIO, context: Any, path: str) -> Any:
        return self.subcon._build(bytes(self.count), stream, context, path)


class Hole(Zero):
    """The compiler's padding: written as zero, not looked at."""

    strict = False


class Align(Construct):  # type: ignore[misc]
    """Bytes up to the next multiple of `modulus`, counted from the layout's start; zero, and refused otherwise if `strict`."""

    carries = False

    def __init__(self, modulus: int, *, strict: bool) -> None:
        super().__init__()
        self.modulus, self.strict, self.flagbuildnone = modulus, strict, True

    def _count(self, stream: BytesIO, context: Any) -> int:
        return int(context._params.base - stream.tell()) % self.modulus

    def _parse(self, stream: BytesIO, context: Any, path: str) -> Any:
        count = self._count(stream, context)
        _bounded(stream, context, path, count)
        found = stream.read(count)
        if self.strict and any(found):
            raise LayoutError("padding not zero", _field(path), "zeros", found.hex())
        return found

    def _build(self, _obj: Any, stream: BytesIO, context: Any, _path: str) -> Any:
        stream.write(bytes(self._count(stream, context)))


class Text(Subconstruct):  # type: ignore[misc]
    """UTF-8 in a fixed field, ended by a NUL and filled with NULs."""

    def __init__(self, count: int) -> None:
        super().__init__(Bytes(count))
        self.count = count

    def _parse(self, stream: BytesIO, context: Any, path: str) -> Any:
        raw = self.subcon._parsereport(stream, context, path)
        text, nul, rest = raw.partition(b"\0")
        if not nul or any(rest):
            raise LayoutError("bad string", _field(path), "NUL-terminated, NUL-filled", raw.hex())
        return _decoded(text, path)

    def _build(self, obj: Any, stream: BytesIO, context: Any, path: str) -> Any:
        raw = obj.encode()
        if len(raw) >= self.count or b"\0" in raw:
            raise LayoutError("bad string", _field(path), f"at most {self.count - 1} bytes without NUL", repr(obj))
        return self.subcon._build(raw.ljust(self.count, b"\0"), stream, context, path)


def _decoded(raw: bytes, path: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise LayoutError("bad string", _field(path), "UTF-8", raw[:64].hex()) from error


class Blob(Construct):  # type: ignore[misc]
    """As many bytes as an earlier field says."""

    def __init__(self, length: Callable[[Any], int]) -> None:
        super().__init__()
        self.length = length

    def _parse(self, stream: BytesIO, context: Any, path: str) -> Any:
        count = self.length(context)
        if count < 0:
            raise LayoutError("bad length", _field(path), "at least 0", count)
        _bounded(stream, context, path, count)
        return stream.read(count)

    def _build(self, obj: Any, stream: BytesIO, context: Any, path: str) -> Any:
        if len(obj) != self.length(context):
            raise LayoutError("bad length", _field(path), self.length(context), len(obj))
        stream.write(obj)
        return obj


class Utf8(Blob):
    """As many bytes of UTF-8 as an earlier field says."""

    def _parse(self, stream: BytesIO, context: Any, path: str) -> Any:
        return _decoded(super()._parse(stream, context, path), path)

    def _build(self, obj: Any, stream: BytesIO, context: Any, path: str) -> Any:
        super()._build(obj.encode(), stream, context, path)
        return obj


class Converted(Subconstruct):  # type: ignore[misc]
    """Bytes seen as something else."""

    def __init__(self, subcon: Any, decode: Callable[[bytes], Any], encode: Callable[[Any], bytes]) -> None:
        super().__init__(subcon)
        self.decode, self.encode = decode, encode

    def _parse(self, stream: BytesIO, context: Any, path: str) -> Any:
        return self.decode(self.subcon._parsereport(stream, context, path))

    def _build(self, obj: Any, stream: BytesIO, context: Any, path: str) -> Any:
        self.subcon._build(self.encode(obj), stream, context, path)
        return obj


class Many(Subconstruct):  # type: ignore[misc]
    """As many elements as an earlier field says; the count is refused when `at_least` bytes each cannot be left."""

    def __init__(self, count: Callable[[Any], int], subcon: Any, at_least: int) -> None:
        super().__init__(subcon)
        self.count, self.at_least = count, at_least

    def _parse(self, stream: BytesIO, context: Any, path: str) -> Any:
        count = self.count(context)
        _bounded(stream, context, path, count * self.at_least)
        return [self.subcon._parsereport(stream, context, path) for _ in range(count)]

    def _build(self, obj: Any, stream: BytesIO, context: Any, path: str) -> Any:
        for element in obj:
            self.subcon._build(element, stream, context, path)
        return obj

    def _sizeof(self, _context: Any, path: str) -> int:
        raise ConstructError("depends on a count", path)


class Crc32(Subconstruct):  # type: ignore[misc]
    """CRC-32/ISO-HDLC of the bytes from `start` to here."""

    carries = False

    def __init__(self, start: int) -> None:
        super().__init__(Int32ul)
        self.start, self.flagbuildnone = start, True

    def _sum(self, stream: BytesIO, context: Any) -> int:
        here = stream.tell()
        stream.seek(context._params.base + self.start)
        return zlib.crc32(stream.read(here - stream.tell()))

    def _parse(self, stream: BytesIO, context: Any, path: str) -> Any:
        expected = self._sum(stream, context)
        found = self.subcon._parsereport(stream, context, path)
        if found != expected:
            raise LayoutError("checksum mismatch", _field(path), f"{expected:#010x}", f"{found:#010x}")
        return found

    def _build(self, _obj: Any, stream: BytesIO, context: Any, path: str) -> Any:
        return self.subcon._build(self._sum(stream, context), stream, context, path)


class Rule(Construct):  # type: ignore[misc]
    """A condition over the fields so far; takes no bytes."""

    carries = False

    def __init__(self, what: str, holds: Callable[[Any], bool]) -> None:
        super().__init__()
        self.what, self.holds, self.flagbuildnone = what, holds, True

    def _parse(self, _stream: BytesIO, context: Any, path: str) -> Any:
        if not self.holds(context):
            raise LayoutError("rule broken", _field(path), self.what, "it does not hold")

    def _build(self, _obj: Any, stream: BytesIO, context: Any, path: str) -> Any:
        self._parse(stream, context, path)

    def _sizeof(self, _context: Any, _path: str) -> int:
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    name: str  # "chronicle.message_header"
    clause: str  # "CHR-01"
    construct: Any
    size: int  # all bytes, or the sum of the parts of fixed size when `variable`
    variable: bool
    offsets: Mapping[str, tuple[int, int]]  # field -> (offset, size), up to the first field of variable size


def unwrapped(subcon: Any) -> Any:
    """The field's own kind, without its name."""
    return subcon.subcon if type(subcon).__name__ == "Renamed" else subcon


def _sizes(construct: Any) -> Iterator[tuple[str | None, int | None]]:
    for subcon in construct.subcons:
        try:
            yield subcon.name, subcon.sizeof()
        except ConstructError:
            yield subcon.name, None


def layout(name: str, clause: str, *fields: Any) -> Layout:
    """A layout of these fields, with the offsets derived from them."""
    construct = Struct(*fields)
    sizes, at = list(_sizes(construct)), 0
    offsets: dict[str, tuple[int, int]] = {}
    for field, size in sizes:
        if size is None:
            break
        if field:
            offsets[field] = (at, size)
        at += size
    return Layout(
        name=name,
        clause=clause,
        construct=construct,
        size=sum(size or 0 for _, size in sizes),
        variable=any(size is None for _, size in sizes),
        offsets=MappingProxyType(offsets),
    )


def _plain(construct: Any, value: Any) -> Any:
    """The values alone: plain dicts and lists, without what follows from the rest."""
    construct = unwrapped(construct)
    if isinstance(construct, Struct):
        pairs = ((s.name, unwrapped(s)) for s in construct.subcons if s.name)
        return {name: _plain(kind, value[name]) for name, kind in pairs if getattr(kind, "carries", True)}
    if isinstance(construct, Array | Many):
        return [_plain(construct.subcon, element) for element in value]
    return value


def parse_prefix(layout: Layout, data: bytes, at: int = 0) -> tuple[Values, int]:
    """The values of the instance that starts at `at`, and where it ends; bytes after it are left alone."""
    if len(data) - at < layout.size:
        raise LayoutError("truncated", f"{layout.name}, byte {at}", f"at least {layout.size} bytes", f"{max(0, len(data) - at)} bytes")
    stream = BytesIO(data)
    stream.seek(at)
    try:
        found = layout.construct.parse_stream(stream, base=at, end=len(data))
    except ConstructError as error:
        raise LayoutError("malformed", f"{layout.name}, byte {stream.tell()}", "a whole instance", error) from error
    return _plain(layout.construct, found), stream.tell()


def parse(layout: Layout, data: bytes) -> Values:
    """The values of bytes that are exactly one instance."""
    if not layout.variable and len(data) > layout.size:
        raise LayoutError("oversized", layout.name, f"{layout.size} bytes", f"{len(data)} bytes")
    values, end = parse_prefix(layout, bytes(data))
    if end != len(data):
        raise LayoutError("oversized", f"{layout.name}, byte {end}", "the end", f"{len(data) - end} bytes more")
    return values


def build(layout: Layout, values: Mapping[str, Any]) -> bytes:
    """The bytes of these values; magics, reserved bytes, lengths and checksums are filled in."""
    wanted = {s.name for s in layout.construct.subcons if s.name and getattr(unwrapped(s), "carries", True)}
    if wanted != set(values):
        raise LayoutError("wrong fields", layout.name, sorted(wanted), sorted(values))
    stream = BytesIO()
    try:
        layout.construct.build_stream(dict(values), stream, base=0, end=0)
    except (ConstructError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise LayoutError("cannot be built", layout.name, "values within their fields", error) from error
    return stream.getvalue()
