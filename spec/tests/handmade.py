"""All handmade histories: small enough to be judged by eye, each with the verdict that the contract demands."""

from fireassay.spec.tests import (
    handmade_basic,
    handmade_crashes,
    handmade_edges,
    handmade_edges_in_time,
    handmade_power,
    handmade_progress,
    handmade_readers,
)
from fireassay.spec.tests.stories import TOLD, Handmade

__all__ = ["FILES", "HANDMADE", "Handmade"]

FILES = (handmade_basic, handmade_readers, handmade_crashes, handmade_power, handmade_progress, handmade_edges, handmade_edges_in_time)
HANDMADE: list[Handmade] = TOLD
