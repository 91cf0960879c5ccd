"""What the checks take as promised: the few fields of a target's promises that they read."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Declared"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    survives_process_death: Literal["after-append", "after-sync", "never"] = "after-append"
    tail_records: int = 0  # the last records before a crash that may be lost all the same
    tail_ns: int = 0  # and what was acknowledged within this time before it
    sync_scope: Literal["handle", "stream", "all"] = "handle"
    sync_covers_other_processes: bool = False
    visible: Literal["append", "sync"] = "append"
    total_order: bool = False
    positions: Literal["dense", "increasing", "none"] = "dense"
    readers: Literal["independent", "exclusive-shards", "competing"] = "independent"
    redelivery: frozenset[str] = frozenset()  # any name but restart and rebalance may redeliver at any moment
    deadline_ns: int = 0  # 0: none declared, and nothing is late
    epsilon_ns: int = 0

    @property
    def ordered_chains(self) -> bool:
        """A chain's deliveries stand in log order and come once: no member takes from another, nothing comes again by timeout."""
        return self.readers != "competing" and not self.redelivery - {"restart", "rebalance"}
