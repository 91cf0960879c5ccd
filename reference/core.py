"""Loads one variant of the C core and says which bytes it is.

`FIREASSAY_CORE` names the variant when the caller does not. In a variant with failpoints, `FIREASSAY_FAILPOINTS` names a
control file that is attached as soon as the core is loaded, so that any command can be put under failpoints from outside;
`FIREASSAY_MUTANT` selects a mutant in the same way. A release core asked for either refuses.
"""

import functools
import hashlib
import importlib
import os
import sys
from pathlib import Path
from typing import Any

from fireassay.spec.outcomes import EnvironmentUnfit, ErrorClass, HarnessError

__all__ = ["VARIANTS", "CoreError", "check", "digest", "is_loaded", "load", "path", "variant_from_environment"]

VARIANTS = {"release": "_core", "failpoints": "_core_failpoints", "mutants": "_core_mutants"}


class CoreError(OSError):
    """A negative status of the core, with its class, errno, place and sentence."""

    def __init__(self, status: int, where: str, message: str) -> None:
        self.status = -status
        self.error_class = ErrorClass(self.status >> 16)
        super().__init__(self.status & 0xFFFF, f"{message} [{self.error_class.name} at {where}]")
        self.where = where
        self.message = message


def variant_from_environment() -> str:
    return os.environ.get("FIREASSAY_CORE") or "release"


def load(variant: str | None = None) -> tuple[Any, Any]:
    """(ffi, lib) of the variant; two variants may be loaded side by side."""
    return _load(variant or variant_from_environment())


def is_loaded(variant: str) -> bool:
    """Whether this process has that variant already."""
    return f"fireassay.reference.{VARIANTS[variant]}" in sys.modules


def path(variant: str | None = None) -> Path:
    """The shared object of the variant."""
    return Path(str(_module(variant or variant_from_environment()).__file__))


def digest(variant: str | None = None) -> str:
    """SHA-256 of the shared object, as the certificate names it."""
    return hashlib.sha256(path(variant).read_bytes()).hexdigest()


def check(ffi: Any, err: Any, status: int) -> int:
    """The status back when it is not negative, else a CoreError made of the filled fa_error."""
    if status >= 0:
        return status
    raise CoreError(status, ffi.string(err.where).decode(), ffi.string(err.message).decode(errors="replace"))


@functools.cache
def _module(variant: str) -> Any:
    if variant not in VARIANTS:
        raise HarnessError(f"there is no core variant {variant!r}; known are {', '.join(VARIANTS)}")
    try:
        return importlib.import_module(f"fireassay.reference.{VARIANTS[variant]}")
    except ImportError as problem:
        raise EnvironmentUnfit(
            f"the {variant} build of the C core cannot be loaded ({problem}); install the package or run python reference/_build_core.py"
        ) from problem


@functools.cache
def _load(variant: str) -> tuple[Any, Any]:
    module = _module(variant)
    ffi, lib = module.ffi, module.lib
    err = ffi.new("fa_error *")
    if control := os.environ.get("FIREASSAY_FAILPOINTS"):
        check(ffi, err, lib.fa_failpoint_attach(os.fsencode(control), err))
    if mutant := os.environ.get("FIREASSAY_MUTANT"):
        check(ffi, err, lib.fa_mutant_select(mutant.encode(), err))
    return ffi, lib
