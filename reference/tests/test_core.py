"""The core as Python loads it: the checksum it chose, error numbers, variants."""

import errno
import hashlib

import pytest

from fireassay.reference import core
from fireassay.spec.outcomes import EnvironmentUnfit, ErrorClass, HarnessError


def test_this_processor_is_not_left_on_the_slow_table_when_it_has_an_instruction() -> None:
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        words = set(file.read().split())
    _, lib = core.load("release")
    if {"pclmulqdq", "sse4_1"} <= words:
        assert lib.fa_crc32_kind() == 1
    elif "crc32" in words:
        assert lib.fa_crc32_kind() == 2
    else:
        assert lib.fa_crc32_kind() == 0


def test_the_error_classes_of_c_are_those_of_spec() -> None:
    ffi, lib = core.load("release")
    assert [ffi.string(lib.fa_error_class_name(c)).decode() for c in ErrorClass] == [c.name for c in ErrorClass]
    assert lib.fa_error_class_name(len(ErrorClass)) == ffi.NULL
    assert lib.fa_error_class_name(-1) == ffi.NULL


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.ENOSPC, ErrorClass.FULL),
        (errno.EDQUOT, ErrorClass.FULL),
        (errno.EWOULDBLOCK, ErrorClass.LOCKED),
        (errno.ENOENT, ErrorClass.MISSING),
        (errno.EIO, ErrorClass.IO),
        (errno.EINVAL, ErrorClass.INVALID),
    ],
)
def test_an_errno_has_its_class(number: int, expected: ErrorClass) -> None:
    assert core.load("release")[1].fa_error_class_of(number) == expected


def test_a_failed_call_raises_with_class_errno_place_and_sentence() -> None:
    ffi, lib = core.load("release")
    err = ffi.new("fa_error *")
    with pytest.raises(core.CoreError, match=r"open file\.tmp: Bad file descriptor \[IO at replace_open\]") as caught:
        core.check(ffi, err, lib.fa_replace(-1, b"file", b"x", 1, 1, err))
    assert (caught.value.errno, caught.value.error_class, caught.value.where) == (errno.EBADF, ErrorClass.IO, "replace_open")
    assert caught.value.status == err.status * -1 == (ErrorClass.IO << 16 | errno.EBADF)


def test_the_digest_is_that_of_the_shared_object_and_variants_differ() -> None:
    assert core.digest("release") == hashlib.sha256(core.path("release").read_bytes()).hexdigest()
    assert len({core.digest(variant) for variant in core.VARIANTS}) == len(core.VARIANTS)


@pytest.mark.parametrize("variant", core.VARIANTS)
def test_no_second_build_of_a_variant_hides_the_first(variant: str) -> None:
    beside = core.path(variant).parent.glob(f"{core.VARIANTS[variant]}.*.so")
    assert [path.name for path in beside] == [core.path(variant).name]


def test_the_environment_chooses_the_variant_and_an_unknown_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIREASSAY_CORE", "mutants")
    assert core.load() == core.load("mutants")
    monkeypatch.setenv("FIREASSAY_CORE", "nonsense")
    with pytest.raises(HarnessError, match="no core variant 'nonsense'; known are release, failpoints, mutants"):
        core.load()


def test_a_core_that_is_not_built_is_the_environments_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(core.VARIANTS, "absent", "_core_absent")
    with pytest.raises(EnvironmentUnfit, match="the absent build of the C core cannot be loaded"):
        core.load("absent")


def test_a_release_core_refuses_failpoints_and_mutants() -> None:
    ffi, lib = core.load("release")
    err = ffi.new("fa_error *")
    assert lib.fa_failpoint_count() == 0
    assert lib.fa_mutant_count() == 0
    with pytest.raises(core.CoreError, match="this build has no failpoints"):
        core.check(ffi, err, lib.fa_failpoint_attach(b"/anything", err))
    with pytest.raises(core.CoreError, match="this build has no mutants"):
        core.check(ffi, err, lib.fa_mutant_select(b"crc32_tail", err))
    assert lib.fa_mutant_select(ffi.NULL, err) == 0
