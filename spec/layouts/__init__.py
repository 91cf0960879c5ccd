"""The binary layouts of the five systems, declared with `construct` and independent of any code that writes them.

Each module opens with its offset tables and the rule by which bytes are valid; what the seeds leave open is marked 'ours'.
"""

from fireassay.spec.layouts import bridge, chronicle, comet, ombus, simplebus
from fireassay.spec.layouts._fields import Layout, LayoutError, build, parse, parse_prefix

__all__ = [
    "ALL",
    "Layout",
    "LayoutError",
    "bridge",
    "build",
    "by_name",
    "chronicle",
    "comet",
    "ombus",
    "parse",
    "parse_prefix",
    "simplebus",
]

ALL: tuple[Layout, ...] = (*ombus.ALL, *bridge.ALL, *comet.ALL, *chronicle.ALL, *simplebus.ALL)


def by_name(name: str) -> Layout:
    """The layout of that name; KeyError when there is none."""
    return {layout.name: layout for layout in ALL}[name]
