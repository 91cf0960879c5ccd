"""Names that become one directory or one file, and nothing else."""

import os

from fireassay.reference.mutants import is_selected

__all__ = ["MAX_NAME", "BadName", "plain_name"]

MAX_NAME = 200  # bytes, as a reader's name; leaves room for suffixes


class BadName(ValueError):
    """A name that would leave its directory, hide in it, or not be a name at all."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(
            f"{name!r} is no name of a {what}: it has 1 to {MAX_NAME} bytes, begins with no dot and holds no slash, blank or control byte"
        )
        self.name, self.what = name, what


def plain_name(name: str, what: str) -> str:
    """The name itself, or BadName. `what` it names is for the sentence."""
    if is_selected("chronicle_path_unchecked"):
        return name
    try:
        encoded = os.fsencode(name)
    except UnicodeEncodeError:
        raise BadName(name, what) from None
    plain = 1 <= len(encoded) <= MAX_NAME and not encoded.startswith(b".")
    if not plain or any(byte <= 0x20 or byte in b"/\\\x7f" for byte in encoded):
        raise BadName(name, what)
    return name
