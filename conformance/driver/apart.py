"""Any target in processes of its own, by the driver protocol, whichever way it was named."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fireassay.conformance.driver.client import DriverTarget
from fireassay.conformance.trials.setting import resolved
from fireassay.spec.ports import Target

__all__ = ["apart_from"]

DEADLINE_S = 8.0


@contextmanager
def apart_from(target: Target, spec: str, place: Path) -> Iterator[DriverTarget]:
    """`target` itself where it is a driver; else the object of that spec, served."""
    if isinstance(target, DriverTarget):
        yield target
        return
    made = DriverTarget([sys.executable, "-m", "fireassay.conformance.driver.serve", resolved(spec)], place, DEADLINE_S)
    try:
        yield made
    finally:
        made.close()
