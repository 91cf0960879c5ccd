"""Payloads that say who wrote them, and prove it. payload.h is the same in C.

| offset | field, little-endian | |
|---|---|---|
| 0 | nonce u64 | of the run |
| 8 | key u64 | spec Identity.key: producer, incarnation, number |
| 16 | stream u32 | |
| 20 | length u32 | of the whole payload |
| 24 | tag u64 | word 0 of the key stream |
| 32 | body | words 1, 2, … of the key stream, the last one cut |

    mix(z)   the finalizer of splitmix64
    seed   = mix((mix((mix(nonce + G) ^ key) + G) ^ (stream << 32 | length)) + G)
    word i = mix(seed + (i + 1) * G)                         all modulo 2**64

Valid if and only if every byte is what `make` gives for the run, the stream and the key it names. A payload shorter than the
header cannot say who wrote it: it is words 0, 1, … of the key stream of key 0, and anonymous.
"""

import struct
from dataclasses import dataclass

import numpy as np

from fireassay.spec.history.row import Identity

__all__ = ["HEADER_SIZE", "SENTINEL_PRODUCER", "Checked", "check", "digest", "make", "sentinel"]

HEADER = struct.Struct("<QQIIQ")
HEADER_SIZE = HEADER.size
SENTINEL_PRODUCER = 0xFFFF

_MASK = (1 << 64) - 1
_G = 0x9E3779B97F4A7C15
_M1 = 0xBF58476D1CE4E5B9
_M2 = 0x94D049BB133111EB
_SHORT = 40  # words; from here on numpy is faster than a loop
_STEPS = tuple((i + 1) * _G & _MASK for i in range(_SHORT))
_LENGTH_MAX = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Checked:
    """What a payload says. `key` is 0 where it is anonymous or of another run or stream; not ok: no append made these bytes."""

    key: int
    ok: bool
    anonymous: bool


def sentinel(ordinal: int) -> Identity:
    """The last record before a drain; every drain of a trial has its own."""
    return Identity(SENTINEL_PRODUCER, 0, ordinal)


def make(nonce: int, stream: int, identity: Identity | int, length: int) -> bytes:
    """The payload of that identity, or the anonymous one where `length` leaves no room for it."""
    if not 0 <= length <= _LENGTH_MAX:
        raise ValueError(f"a payload of {length} bytes")
    key = identity if isinstance(identity, int) else identity.key
    if length < HEADER_SIZE:
        return _stream(_seed(nonce, 0, stream, length), 0, length)
    seed = _seed(nonce, key, stream, length)
    return HEADER.pack(nonce, key, stream, length, _mix(seed + _G & _MASK)) + _stream(seed, 1, length - HEADER_SIZE)


def check(nonce: int, stream: int, payload: bytes | memoryview) -> Checked:
    """Compared whole: every byte counts."""
    if len(payload) < HEADER_SIZE:
        return Checked(0, payload == _stream(_seed(nonce, 0, stream, len(payload)), 0, len(payload)), True)
    said_nonce, key, said_stream, said_length, tag = HEADER.unpack_from(payload)
    if said_nonce != nonce or said_stream != stream:
        return Checked(0, False, False)
    seed = _seed(nonce, key, stream, said_length)
    ok = said_length == len(payload) and tag == _mix(seed + _G & _MASK)
    return Checked(key, ok and payload[HEADER_SIZE:] == _stream(seed, 1, said_length - HEADER_SIZE), False)


def digest(payload: bytes | memoryview) -> int:
    """32 bits over content, order and length, never 0. Each word is mixed by multiplication before it is added, so that no
    checksum inside the payload cancels it, as a CRC over data that ends in its own CRC would be."""
    length = len(payload)
    count = length + 7 >> 3
    data = bytes(payload) + bytes(count * 8 - length)
    if count < _SHORT:
        total = 0
        for step, word in zip(_STEPS, struct.unpack(f"<{count}Q", data), strict=False):
            total += _mix(word ^ step)
    else:
        words = np.frombuffer(data, dtype="<u8") ^ _steps(count)
        total = int(_mix_all(words).sum(dtype=np.uint64))
    folded = _mix((total ^ length * _G) & _MASK)
    return (folded ^ folded >> 32) & 0xFFFFFFFF or 1


def _mix(z: int) -> int:
    z = (z ^ z >> 30) * _M1 & _MASK
    z = (z ^ z >> 27) * _M2 & _MASK
    return z ^ z >> 31


def _seed(nonce: int, key: int, stream: int, length: int) -> int:
    seed = _mix(nonce + _G & _MASK)
    seed = _mix((seed ^ key) + _G & _MASK)
    return _mix((seed ^ (stream << 32 | length)) + _G & _MASK)


def _stream(seed: int, first: int, length: int) -> bytes:
    """`length` bytes of the key stream from word `first` on."""
    count = length + 7 >> 3
    if count < _SHORT - 1:
        words = [_mix(seed + step & _MASK) for step in _STEPS[first : first + count]]
        return struct.pack(f"<{count}Q", *words)[:length]
    return _mix_all(_steps(first + count)[first:] + np.uint64(seed)).astype("<u8").tobytes()[:length]


def _steps(count: int) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
    return np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_G)


def _mix_all(z: "np.ndarray[tuple[int], np.dtype[np.uint64]]") -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
    z = (z ^ z >> np.uint64(30)) * np.uint64(_M1)
    z = (z ^ z >> np.uint64(27)) * np.uint64(_M2)
    return z ^ z >> np.uint64(31)
