"""Do Spark's Python workers see the same project as the driver? python -m fireassay.reports.selfcheck prints the answer as JSON."""

import json
from collections.abc import Iterator
from typing import Any

from fireassay.reports.java import find_java
from fireassay.reports.spark import spark_session
from fireassay.spec.clauses import ALL

__all__ = ["clauses_in_workers", "main"]


def _count(batches: Iterator[Any]) -> Iterator[Any]:
    import pandas as pd

    for _ in batches:
        yield pd.DataFrame({"clauses": [len(ALL)]})


def clauses_in_workers(session: Any, tasks: int = 2) -> list[int]:
    """How many clauses each of `tasks` tasks finds in its own process."""
    rows = session.range(tasks, numPartitions=tasks).mapInPandas(_count, "clauses long").collect()
    return [int(row.clauses) for row in rows]


def main() -> int:
    java = find_java()
    with spark_session("fireassay selfcheck", java=java) as session:
        runs_on = str(session.sparkContext._jvm.java.lang.System.getProperty("java.version"))
        found = {"java": java.source, "home": str(java.home), "version": java.version, "runs_on": runs_on, "driver": len(ALL)}
        print(json.dumps(found | {"workers": clauses_in_workers(session)}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
