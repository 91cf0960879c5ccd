"""The deliberate faults of the mutants build, each with the clause under which the examination must catch it."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fireassay.reference import core

__all__ = ["Mutant", "is_selected", "mutants", "selected"]


@dataclass(frozen=True)
class Mutant:
    name: str
    clause: str
    what: str


@functools.cache
def mutants() -> tuple[Mutant, ...]:
    ffi, lib = core.load("mutants")
    return tuple(
        Mutant(*(ffi.string(field(i)).decode() for field in (lib.fa_mutant_name, lib.fa_mutant_clause, lib.fa_mutant_what)))
        for i in range(lib.fa_mutant_count())
    )


@contextmanager
def selected(name: str) -> Iterator[None]:
    """The mutant for this process, while no other thread uses the core; a child process takes FIREASSAY_MUTANT instead."""
    ffi, lib = core.load("mutants")
    err = ffi.new("fa_error *")
    core.check(ffi, err, lib.fa_mutant_select(name.encode(), err))
    try:
        yield
    finally:
        lib.fa_mutant_select(ffi.NULL, ffi.NULL)


def is_selected(name: str) -> bool:
    """Whether this process shows that fault, for faults in Python code; never where the mutants build is not in use."""
    if core.variant_from_environment() != "mutants" and not core.is_loaded("mutants"):
        return False
    ffi, lib = core.load("mutants")
    current = lib.fa_mutant_current()
    return bool(current != ffi.NULL and ffi.string(current) == name.encode())
