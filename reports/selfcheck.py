"""Do Spark's Python workers see the same project as the driver? python -m fireassay.reports.selfcheck prints the answer as JSON."""

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from fireassay.reports.java import find_java
from fireassay.reports.spark import spark_session
from fireassay.spec.clauses import ALL

__all__ = ["SHORT_LIVED", "clauses_in_workers", "main"]

SHORT_LIVED = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}  # for a JVM that ends in seconds


def _count(batches: Iterator[Any]) -> Iterator[Any]:
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"clauses": [len(ALL)]})


def clauses_in_workers(session: Any, tasks: int = 2) -> list[int]:
    """How many clauses each of `tasks` tasks finds in its own process."""
    rows = session.range(tasks, numPartitions=tasks).mapInArrow(_count, "clauses long").collect()
    return [int(row.clauses) for row in rows]


def main() -> int:
    java = find_java()
    with spark_session("fireassay selfcheck", java=java, **SHORT_LIVED) as session:
        runs_on = str(session.sparkContext._jvm.java.lang.System.getProperty("java.version"))
        found = {"java": java.source, "home": str(java.home), "version": java.version, "runs_on": runs_on, "driver": len(ALL)}
        print(json.dumps(found | {"workers": clauses_in_workers(session)}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
