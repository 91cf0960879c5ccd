"""Characters that a reader does not see and a terminal or browser obeys."""

import re

__all__ = ["harmless"]

# Controls but tab and line ends, marks that turn the direction of writing, halves of characters.
_OBEYED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: str) -> str:
    return _OBEYED.sub("\ufffd", text)
