"""All handmade histories: small enough to be judged by eye, each with the verdict that the contract demands."""

from fireassay.spec.tests import handmade_basic, handmade_crashes, handmade_progress, handmade_readers
from fireassay.spec.tests.stories import TOLD, Handmade

__all__ = ["HANDMADE", "Handmade"]

FILES = (handmade_basic, handmade_readers, handmade_crashes, handmade_progress)
HANDMADE: list[Handmade] = TOLD
