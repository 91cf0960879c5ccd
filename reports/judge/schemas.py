"""Tables between the stages of the judge.

sealed rows → facts (calls, events, chains of one actor, runs unexpanded) → findings (verdicts, witnesses as references to rows).

A place orders what one actor did: row number among the actor's rows << 32 | place within a run row.
"""

import pyarrow as pa
from pyspark.sql.types import IntegerType, LongType, ShortType, StringType, StructField, StructType

from fireassay.spec.history.row import FIELDS

__all__ = ["FACTS", "FINDINGS", "INFINITE", "SEALED", "UNTIL_DEATH", "Kind", "place"]

INFINITE = 1 << 62  # later than every time, behind every place
UNTIL_DEATH = -1  # an open run ends with its process, which another actor saw

_NARROW = {"op": ShortType(), "phase": ShortType(), "flags": IntegerType(), "status": IntegerType()}
SEALED = StructType(
    [
        *(StructField(name, _NARROW.get(name, LongType()), True) for name in FIELDS),
        StructField("recording", StringType(), True),
        StructField("row", LongType(), True),
    ]
)


class Kind:
    """What a fact is."""

    APPEND = 0
    GUESS = 1  # the one more append that a broken run may have begun
    DELIVERY = 2
    CALL = 3
    EVENT = 4
    PROBLEM = 5
    MARK = 6  # a row of an open, close or seek: restarts are told by single rows
    WORDS = 7  # when the actor spoke first and last, and of what
    CHAIN = 8
    DRAIN_BEGIN = 9  # of the chain named; DRAIN_END likewise
    DRAIN_END = 10
    ACTOR = 11  # a line of the actor table


_LONGS = (
    *("actor", "kind", "op", "stream", "outcome", "t_inv", "t_done", "inv", "done", "count", "identity", "position", "length"),
    *("digest", "flags", "chain", "seq", "key", "value", "t_row", "row", "number"),
)
FACTS = pa.schema(
    [
        pa.field("trial", pa.string()),
        *(pa.field(name, pa.int64()) for name in _LONGS),
        *(pa.field(name, pa.bool_()) for name in ("anonymous", "waits", "in_run", "went_on")),
        pa.field("recording", pa.string()),
        pa.field("text", pa.string()),
    ]
)
FINDINGS = pa.schema(
    [
        pa.field("trial", pa.string()),
        pa.field("clause", pa.string()),
        pa.field("witness", pa.int64()),  # -1: the verdict itself
        pa.field("name", pa.string()),  # verdict or anomaly
        pa.field("stream", pa.int64()),
        pa.field("total", pa.int64()),
        pa.field("text", pa.string()),  # explanation
        pa.field("counts", pa.string()),
        pa.field("reasons", pa.list_(pa.string())),
        pa.field("role", pa.string()),  # of the row referred to: row or fault
        pa.field("number", pa.int64()),
        pa.field("recording", pa.string()),
        pa.field("row", pa.int64()),
    ]
)


def place(row: int, within: int = 0) -> int:
    return row << 32 | within
