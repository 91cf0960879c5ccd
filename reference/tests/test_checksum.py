"""The checksum three ways, against zlib and against its own algebra."""

import random
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireassay.reference import core

FUNCTIONS = ("fa_crc32", "fa_crc32_table", "fa_crc32_accelerated")
checked = settings(max_examples=200, deadline=None, print_blob=True)
starts = st.integers(0, 2**32 - 1)
EDGES = [n + d for n in (16, 32, 64, 128, 192, 256, 512, 1024) for d in (-1, 0, 1)]


def byte_strings(most: int) -> st.SearchStrategy[bytes]:
    """Of any length up to most: st.binary alone stays below the 64 and 128 bytes at which the folding starts."""
    lengths = st.one_of(st.integers(0, most), st.sampled_from([edge for edge in EDGES if edge <= most]))
    return st.builds(lambda length, seed: random.Random(seed).randbytes(length), lengths, starts)


def _at(ffi: Any, data: bytes, shift: int) -> tuple[Any, Any]:
    """The bytes at an address that is `shift` past a multiple of 64, and what keeps them alive."""
    room = ffi.new("unsigned char[]", len(data) + 128)
    base = room + (-int(ffi.cast("uintptr_t", room)) % 64) + shift
    ffi.memmove(base, data, len(data))
    return base, room


@pytest.mark.parametrize("variant", core.VARIANTS)
@checked
@given(data=byte_strings(5000), shift=st.integers(0, 63), start=starts)
def test_all_three_equal_zlib_at_any_length_alignment_and_start(variant: str, data: bytes, shift: int, start: int) -> None:
    ffi, lib = core.load(variant)
    base, _room = _at(ffi, data, shift)
    expected = zlib.crc32(data, start)
    assert [getattr(lib, function)(start, base, len(data)) for function in FUNCTIONS] == [expected] * 3


@checked
@given(
    pieces=st.lists(st.tuples(byte_strings(400), st.sampled_from(FUNCTIONS)), max_size=12),
    shift=st.integers(0, 15),
)
def test_pieces_combine_to_the_whole_whichever_way_each_is_summed(pieces: list[tuple[bytes, str]], shift: int) -> None:
    ffi, lib = core.load("release")
    crc = 0
    for piece, function in pieces:
        base, _room = _at(ffi, piece, shift)
        crc = getattr(lib, function)(crc, base, len(piece))
    assert crc == zlib.crc32(b"".join(piece for piece, _ in pieces))


@checked
@given(data=byte_strings(1000), cut=st.integers(0, 1000), function=st.sampled_from(FUNCTIONS))
def test_one_cut_anywhere_changes_nothing(data: bytes, cut: int, function: str) -> None:
    _, lib = core.load("release")
    checksum = getattr(lib, function)
    head, tail = data[:cut], data[cut:]
    assert checksum(checksum(0, head, len(head)), tail, len(tail)) == checksum(0, data, len(data))


@checked
@given(data=byte_strings(2000), function=st.sampled_from(FUNCTIONS))
def test_the_sum_of_three_is_the_sum_of_their_sums(data: bytes, function: str) -> None:
    """crc(a ^ b ^ c) = crc(a) ^ crc(b) ^ crc(c), which holds of every CRC and needs no second implementation."""
    _, lib = core.load("release")
    checksum = getattr(lib, function)
    third = len(data) // 3
    rows = (data[:third], data[third : 2 * third], data[2 * third : 3 * third])
    joined = bytes(a ^ b ^ c for a, b, c in zip(*rows, strict=True))
    one, two, three = (checksum(0, row, len(row)) for row in rows)
    assert checksum(0, joined, len(joined)) == one ^ two ^ three


@checked
@given(data=byte_strings(600).filter(len), where=st.integers(min_value=0), bit=st.integers(0, 7))
def test_one_changed_bit_always_shows(data: bytes, where: int, bit: int) -> None:
    _, lib = core.load("release")
    damaged = bytearray(data)
    damaged[where % len(data)] ^= 1 << bit
    assert lib.fa_crc32(0, bytes(damaged), len(data)) != lib.fa_crc32(0, data, len(data))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_length_is_summed_at_every_alignment(function: str) -> None:
    ffi, lib = core.load("release")
    checksum, seed = getattr(lib, function), 20260101
    print(f"seed {seed}")
    whole = random.Random(seed).randbytes(1100 + 16)
    buffer = ffi.from_buffer(whole)
    for length in range(1101):
        for shift in range(16) if length < 150 or length % 61 == 0 else (length % 16,):
            assert checksum(0, buffer + shift, length) == zlib.crc32(whole[shift : shift + length]), (length, shift)


def test_the_check_value_of_the_catalogue() -> None:
    _, lib = core.load("release")
    assert [getattr(lib, function)(0, b"123456789", 9) for function in FUNCTIONS] == [0xCBF43926] * 3
