"""Payloads: who wrote them, that nothing else passes for one, and the twin in C."""

import random
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.conformance.workload import payload
from fireassay.conformance.workload.payload import HEADER_SIZE, Checked, check, digest, make, sentinel
from fireassay.spec.history.row import Identity

U64 = st.integers(0, (1 << 64) - 1)
U32 = st.integers(0, (1 << 32) - 1)
LENGTHS = st.one_of(st.integers(0, 400), st.sampled_from([31, 32, 33, 63, 64, 65, 1000, 1024, 4096, 65537]))


@given(nonce=U64, key=U64, stream=U32, length=LENGTHS)
def test_what_was_made_is_recognized(nonce: int, key: int, stream: int, length: int) -> None:
    made = make(nonce, stream, key, length)
    assert len(made) == length
    anonymous = length < HEADER_SIZE
    assert check(nonce, stream, made) == Checked(0 if anonymous else key, True, anonymous)
    assert check(nonce, stream, memoryview(made)).ok


@given(nonce=U64, key=U64, stream=U32, length=st.integers(1, 400), data=st.data())
def test_every_changed_bit_is_noticed(nonce: int, key: int, stream: int, length: int, data: st.DataObject) -> None:
    made = make(nonce, stream, key, length)
    bit = data.draw(st.integers(0, 8 * length - 1))
    changed = bytearray(made)
    changed[bit // 8] ^= 1 << bit % 8
    assert not check(nonce, stream, bytes(changed)).ok
    assert digest(bytes(changed)) != digest(made)


@given(nonce=U64, key=U64, stream=U32, length=st.integers(0, 400), other=st.integers(0, 400))
def test_a_payload_of_another_length_is_not_it(nonce: int, key: int, stream: int, length: int, other: int) -> None:
    made = make(nonce, stream, key, length)
    cut = (made + bytes(other))[:other]
    if other not in (0, length):  # of nothing there is only one kind
        assert not check(nonce, stream, cut).ok


def test_another_run_and_another_stream_are_strangers() -> None:
    made = make(7, 1, Identity(1, 0, 5), 64)
    assert check(8, 1, made) == Checked(0, False, False)
    assert check(7, 2, made) == Checked(0, False, False)
    assert not check(8, 1, make(7, 1, 0, 20)).ok
    assert not check(7, 2, make(7, 1, 0, 20)).ok


def test_a_damaged_body_still_says_whose_it_was() -> None:
    key = Identity(3, 1, 9).key
    made = bytearray(make(7, 1, key, 64))
    made[-1] ^= 1
    assert check(7, 1, bytes(made)) == Checked(key, False, False)


def test_anonymous_payloads_of_one_length_are_alike() -> None:
    assert make(7, 1, Identity(1, 0, 1), 12) == make(7, 1, Identity(2, 0, 2), 12)
    assert make(7, 1, 0, 12) != make(7, 1, 0, 13)[:12]


def test_sentinels_differ_and_belong_to_the_harness() -> None:
    assert sentinel(1).key != sentinel(2).key
    assert Identity.of(sentinel(3).key) == Identity(0xFFFF, 0, 3)


def test_a_length_that_no_header_can_hold_is_refused() -> None:
    for length in (-1, 1 << 32):
        with pytest.raises(ValueError, match="a payload of"):
            make(1, 1, 1, length)


def test_the_digest_tells_data_that_ends_in_its_own_crc_apart() -> None:
    """The CRC of such data is one constant; two of them must still differ."""
    randomly = random.Random(3)
    bodies = [randomly.randbytes(56) for _ in range(200)]
    sealed = [body + struct.pack("<I", zlib.crc32(body)) for body in bodies]
    assert len({zlib.crc32(each) for each in sealed}) == 1
    assert len({digest(each) for each in sealed}) == 200


@given(words=st.lists(U64, min_size=2, max_size=90, unique=True), data=st.data())
def test_the_digest_sees_order_and_trailing_zeros(words: list[int], data: st.DataObject) -> None:
    one = struct.pack(f"<{len(words)}Q", *words)
    assert digest(one) != digest(one + b"\0")
    swapped = list(words)
    i, j = data.draw(st.lists(st.integers(0, len(words) - 1), min_size=2, max_size=2, unique=True))
    swapped[i], swapped[j] = swapped[j], swapped[i]
    assert digest(struct.pack(f"<{len(words)}Q", *swapped)) != digest(one)
    assert 0 < digest(one) < 1 << 32


def test_the_short_and_the_long_way_give_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = (*range(32, 420, 7), 640, 1000)
    quick = [(make(5, 2, 77, n), digest(make(5, 2, 77, n))) for n in lengths]
    monkeypatch.setattr(payload, "_SHORT", 0)  # from now on always numpy
    assert [(make(5, 2, 77, n), digest(make(5, 2, 77, n))) for n in lengths] == quick


PROGRAM = r"""
#include "payload.h"
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    unsigned long long nonce, key;
    unsigned stream, length;
    while (scanf("%llu %llu %u %u", &nonce, &key, &stream, &length) == 4) {
        unsigned char *data = malloc(length + 1);
        fp_make(nonce, stream, key, data, length);
        fp_checked found = fp_check(nonce, stream, data, length);
        printf("%llu %d %d %u ", (unsigned long long)found.key, found.ok, found.anonymous, fp_digest(data, length));
        int damaged = 0;
        for (unsigned at = 0; at < length; at++) {
            data[at] ^= 0x10;
            damaged += !fp_check(nonce, stream, data, length).ok;
            data[at] ^= 0x10;
        }
        printf("%d .", damaged);
        for (unsigned at = 0; at < length; at++) printf("%02x", data[at]);
        printf("\n");
        free(data);
    }
    return 0;
}
"""


def test_the_twin_in_c_makes_and_knows_the_same_bytes(tmp_path: Path) -> None:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "twin.c").write_text(PROGRAM)
    include = Path(payload.__file__).parent
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{include}"]
    subprocess.run([compiler, *flags, "twin.c", "-o", "twin"], cwd=tmp_path, check=True, timeout=60)
    seed = random.SystemRandom().getrandbits(32)
    print("seed", seed, file=sys.stderr)
    randomly = random.Random(seed)
    asked = [
        (randomly.getrandbits(64), randomly.getrandbits(64), randomly.getrandbits(32), length)
        for length in (*range(100), 1000, 4096, *(randomly.randrange(3000) for _ in range(50)))
    ]
    text = "".join(f"{nonce} {key} {stream} {length}\n" for nonce, key, stream, length in asked)
    done = subprocess.run([tmp_path / "twin"], input=text, capture_output=True, text=True, check=True, timeout=60)
    answers = done.stdout.splitlines()
    assert len(answers) == len(asked)
    for (nonce, key, stream, length), answer in zip(asked, answers, strict=True):
        made = make(nonce, stream, key, length)
        anonymous = length < HEADER_SIZE
        said = f"{0 if anonymous else key} 1 {int(anonymous)} {digest(made)} {length} .{made.hex()}"
        assert answer == said
