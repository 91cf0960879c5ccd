"""control.meta read from outside, as one moment of it."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from fireassay.reference.files import opened
from fireassay.spec import layouts
from fireassay.spec.layouts import chronicle as layout

__all__ = ["CONTROL", "Control", "read_control"]

CONTROL = "control.meta"
_TRIES = 100
_GENERATION = layout.CONTROL.offsets["segment_gen"][0]


@dataclass(frozen=True, slots=True)
class Control:
    segment_size: int
    epoch: int
    segment: int  # where the writer says it is
    offset: int
    heartbeat_ns: int
    waiters: int
    settled: bool  # False: its generation stays odd, so that segment and offset may not belong together


def read_control(queue: Path) -> Control:
    """FileNotFoundError where there is none; LayoutError says what is wrong with it."""
    with opened(queue / CONTROL) as file:
        for attempt in range(_TRIES):
            before = os.pread(file, 4, _GENERATION)
            data = os.pread(file, layout.CONTROL.size + 1, 0)
            after = os.pread(file, 4, _GENERATION)
            values = layouts.parse(layout.CONTROL, data)
            settled = before == after and values["segment_gen"] % 2 == 0
            if settled:
                break
            time.sleep(0.0001 * attempt)  # the writer may have lost the processor in the middle
    return Control(
        values["segment_size"],
        values["writer_epoch"],
        values["current_segment"],
        values["write_offset"],
        values["writer_heartbeat_ns"],
        values["waiters_pending"],
        settled,
    )
