"""The checksum three ways, against zlib and against its own algebra."""

import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireassay.reference import core

FUNCTIONS = ("fa_crc32", "fa_crc32_table", "fa_crc32_accelerated")
checked = settings(max_examples=200, deadline=None, print_blob=True)
starts = st.integers(0, 2**32 - 1)


def _at(ffi: Any, data: bytes, shift: int) -> tuple[Any, Any]:
    """The bytes at an address that is `shift` past a multiple of 64, and what keeps them alive."""
    room = ffi.new("unsigned char[]", len(data) + 128)
    base = room + (-int(ffi.cast("uintptr_t", room)) % 64) + shift
    ffi.memmove(base, data, len(data))
    return base, room


@pytest.mark.parametrize("variant", core.VARIANTS)
@checked
@given(data=st.binary(max_size=5000), shift=st.integers(0, 63), start=starts)
def test_all_three_equal_zlib_at_any_length_alignment_and_start(variant: str, data: bytes, shift: int, start: int) -> None:
    ffi, lib = core.load(variant)
    base, _room = _at(ffi, data, shift)
    expected = zlib.crc32(data, start)
    assert [getattr(lib, function)(start, base, len(data)) for function in FUNCTIONS] == [expected] * 3


@checked
@given(
    pieces=st.lists(st.tuples(st.binary(max_size=400), st.sampled_from(FUNCTIONS)), max_size=12),
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
@given(data=st.binary(min_size=1, max_size=1000), cut=st.integers(0, 1000), function=st.sampled_from(FUNCTIONS))
def test_one_cut_anywhere_changes_nothing(data: bytes, cut: int, function: str) -> None:
    _, lib = core.load("release")
    checksum = getattr(lib, function)
    head, tail = data[:cut], data[cut:]
    assert checksum(checksum(0, head, len(head)), tail, len(tail)) == checksum(0, data, len(data))


@checked
@given(rows=st.integers(0, 700).flatmap(lambda n: st.tuples(*[st.binary(min_size=n, max_size=n)] * 3)), function=st.sampled_from(FUNCTIONS))
def test_the_sum_of_three_is_the_sum_of_their_sums(rows: tuple[bytes, bytes, bytes], function: str) -> None:
    """crc(a ^ b ^ c) = crc(a) ^ crc(b) ^ crc(c), which holds of every CRC and needs no second implementation."""
    _, lib = core.load("release")
    checksum = getattr(lib, function)
    joined = bytes(a ^ b ^ c for a, b, c in zip(*rows, strict=True))
    one, two, three = (checksum(0, row, len(row)) for row in rows)
    assert checksum(0, joined, len(joined)) == one ^ two ^ three


@checked
@given(data=st.binary(min_size=1, max_size=600), where=st.integers(min_value=0), bit=st.integers(0, 7))
def test_one_changed_bit_always_shows(data: bytes, where: int, bit: int) -> None:
    _, lib = core.load("release")
    damaged = bytearray(data)
    damaged[where % len(data)] ^= 1 << bit
    assert lib.fa_crc32(0, bytes(damaged), len(data)) != lib.fa_crc32(0, data, len(data))


def test_the_check_value_of_the_catalogue() -> None:
    _, lib = core.load("release")
    assert [getattr(lib, function)(0, b"123456789", 9) for function in FUNCTIONS] == [0xCBF43926] * 3
