"""The crash engines by name. A new fault is one object and one line here."""

from collections.abc import Mapping
from types import MappingProxyType

from fireassay.chaos.engines.engine import Engine, Mode
from fireassay.chaos.engines.failpoints import KILL_FAILPOINTS
from fireassay.chaos.engines.power_loss import POWER_LOSS
from fireassay.chaos.engines.random_kills import KILL_RANDOM

__all__ = ["ENGINES", "Engine", "Mode"]

_ALL = (KILL_RANDOM, KILL_FAILPOINTS, POWER_LOSS)
ENGINES: Mapping[str, Engine] = MappingProxyType({engine.name: engine for engine in _ALL})
