"""The checks of the Spark judge, one trial at a time."""

from collections.abc import Mapping
from types import MappingProxyType

from fireassay.reports.judge.clauses.arrival import arrival
from fireassay.reports.judge.clauses.content import aborted, corrupt, phantom
from fireassay.reports.judge.clauses.gaps import gaps
from fireassay.reports.judge.clauses.growth import growth
from fireassay.reports.judge.clauses.losses import power_loss, process_death
from fireassay.reports.judge.clauses.once import once
from fireassay.reports.judge.clauses.order import order
from fireassay.reports.judge.clauses.places import places
from fireassay.reports.judge.clauses.progress import progress
from fireassay.reports.judge.findings import Check

__all__ = ["CLAUSES"]

CLAUSES: Mapping[str, Check] = MappingProxyType(
    {
        "LOG-01": order,
        "LOG-02": gaps,
        "LOG-03": once,
        "LOG-04": phantom,
        "LOG-05": corrupt,
        "LOG-06": aborted,
        "LOG-07": places,
        "LOG-08": growth,
        "LOG-09": arrival,
        "LOG-10": process_death,
        "LOG-11": power_loss,
        "LOG-23": progress,
    }
)
