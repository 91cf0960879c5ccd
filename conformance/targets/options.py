"""Options of a target, read strictly: an unknown one is an error, since a misspelled one would be examined as if it were not there."""

from collections.abc import Iterable, Mapping

from fireassay.spec.outcomes import HarnessError

__all__ = ["refuse_unknown", "whole_number"]


def refuse_unknown(target: str, options: Mapping[str, str], known: Iterable[str]) -> None:
    allowed = sorted(known)
    for name in options:
        if name not in allowed:
            import difflib

            close = difflib.get_close_matches(name, allowed, n=1)
            hint = f"did you mean {close[0]}?" if close else f"it knows {', '.join(allowed) or 'none'}"
            raise HarnessError(f"target {target} has no option {name!r}; {hint}")


def whole_number(target: str, options: Mapping[str, str], name: str, default: int, *, least: int, most: int) -> int:
    text = options.get(name)
    if text is None:
        return default
    if not text.isdecimal() or not least <= int(text) <= most:
        raise HarnessError(f"target {target}: {name} is a whole number from {least} to {most}, not {text!r}")
    return int(text)
