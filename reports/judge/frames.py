"""The judge's steps, DataFrame → DataFrame. Every exchange is by trial, so that a job judges many at once."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as sf

from fireassay.reports.judge.groups import per_group
from fireassay.reports.judge.pairing import facts_of
from fireassay.reports.judge.schemas import FACTS, FINDINGS, Kind
from fireassay.reports.judge.trials import findings_of
from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.history.model import Actor

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["FACTS_DDL", "actor_facts", "facts", "findings", "in_trials", "witness_rows"]

_PAIRED = ("trial", "actor", "recording", "row", "t_ns", "seq", "key", "value", "stream", "op", "phase", "flags", "digest", "call")
_SPARK = {pa.string(): "string", pa.int64(): "bigint", pa.bool_(): "boolean", pa.list_(pa.string()): "array<string>"}


def _ddl(schema: Any) -> str:
    return ", ".join(f"`{field.name}` {_SPARK[field.type]}" for field in schema)


FACTS_DDL = _ddl(FACTS)


def in_trials(rows: "DataFrame") -> "DataFrame":
    """Finished rows, each with its trial: its recording's name up to the first dash."""
    return rows.where(sf.col("phase") != 0).withColumn("trial", sf.substring_index("recording", "-", 1))


def facts(rows: "DataFrame", partitions: int) -> "DataFrame":
    """Each actor's rows, in the order it wrote them, become its calls, events and chains."""
    by_actor = rows.select(*_PAIRED).repartition(partitions, "trial", "actor")
    ordered = by_actor.sortWithinPartitions("trial", "actor", "recording", "row")
    return ordered.mapInArrow(per_group(("trial", "actor"), facts_of, FACTS), FACTS_DDL)


def actor_facts(actors: Mapping[str, Sequence[Actor]]) -> Any:
    """The actor tables, as facts; an Arrow table."""
    lines = [
        {
            "trial": trial,
            "actor": actor.id,
            "kind": Kind.ACTOR,
            "seq": actor.process,
            "key": actor.group,
            "number": number,
            "text": f"{actor.role}\n{actor.domain}",
        }
        for trial, several in actors.items()
        for number, actor in enumerate(several)
    ]
    return pa.table({name: pa.array([line.get(name) for line in lines], type=FACTS.field(name).type) for name in FACTS.names})


def findings(every_fact: "DataFrame", declared: Declared | Mapping[str, Declared], partitions: int) -> "DataFrame":
    by_trial = every_fact.repartition(partitions, "trial").sortWithinPartitions("trial", "actor", "number")
    return by_trial.mapInArrow(per_group(("trial",), partial(findings_of, declared=declared), FINDINGS), _ddl(FINDINGS))


def witness_rows(found: "DataFrame", rows: "DataFrame") -> "DataFrame":
    """The rows that witnesses refer to; those are few."""
    refs = found.where(sf.col("witness") >= 0).select("recording", "row").distinct()
    return rows.drop("trial").join(sf.broadcast(refs), on=["recording", "row"], how="inner")
