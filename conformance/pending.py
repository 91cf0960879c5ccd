"""Clauses of systems that exist, without a case or a check of history yet. They are not-run, and the certificate says so.

The list only shrinks: the gate fails where one of them has a case or a check, and where a clause that is not here has neither.
"""

__all__ = ["PENDING"]

_LOG = (*(f"{number:02}" for number in (*range(12, 16), *range(17, 21), 22, *range(24, 28), 30)), "P1")
_CHR = (*(f"{number:02}" for number in (7, 10, *range(15, 25), 26)), "P1")

PENDING = frozenset({*(f"LOG-{number}" for number in _LOG), *(f"CHR-{number}" for number in _CHR)})
