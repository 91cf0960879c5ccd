"""What the checks take as promised: the few fields of a target's promises that they read."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from fireassay.spec.history.model import Cause, Grade
from fireassay.spec.promises import After, Order, PositionKind, Promises, Protects, ReaderKind, Scope, Visible

__all__ = ["Declared", "Promise", "Survives"]

_MS = 1_000_000
Survives = Literal["after-append", "after-sync", "never"]
_SURVIVES: dict[After, Survives] = {
    After.APPEND: "after-append",
    After.SYNC: "after-sync",
    After.NEVER: "never",
}
_SCOPES: dict[Scope, Literal["none", "handle", "stream", "all"]] = {
    Scope.NONE: "none",
    Scope.HANDLE: "handle",
    Scope.STREAM: "stream",
    Scope.ALL: "all",
}
_POSITIONS: dict[PositionKind, Literal["dense", "increasing", "none"]] = {
    PositionKind.DENSE: "dense",
    PositionKind.INCREASING: "increasing",
    PositionKind.NONE: "none",
}


class Promise(NamedTuple):
    """What is owed at a crash of one grade."""

    survives: Survives
    tail_records: int
    tail_ns: int

    @property
    def whole(self) -> bool:
        """Nothing that was fulfilled may be lost."""
        return self.survives != "never" and not self.tail_records and not self.tail_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    survives_process_death: Survives = "after-append"
    tail_records: int = 0  # the last owed records before a crash that may be lost all the same
    tail_ns: int = 0  # and what was acknowledged within this time before it
    survives_power_loss: Survives = "after-sync"
    power_tail_records: int = 0
    power_tail_ns: int = 0
    sync_scope: Literal["none", "handle", "stream", "all"] = "handle"
    sync_covers_other_processes: bool = False
    visible: Literal["append", "sync"] = "append"
    total_order: bool = False
    positions: Literal["dense", "increasing", "none"] = "dense"
    readers: Literal["independent", "exclusive-shards", "competing"] = "independent"
    independent_too: bool = False  # beside groups: then an actor of group 0 reads for itself
    redelivery: frozenset[str] = frozenset()  # any name but restart and rebalance may redeliver at any moment
    report_causes: frozenset[Cause] = frozenset(Cause)  # what a report may give as the cause of a loss
    deadline_ns: int = 0  # 0: none declared, and nothing is late
    epsilon_ns: int = 0

    @classmethod
    def of(cls, promises: Promises, *, deadline_ns: int = 0, epsilon_ns: int = 0) -> "Declared":
        """What these promises mean to the checks. The deadline is the harness's own; no bound of the target is longer than it."""
        survival, power = promises.survives.process_death, promises.survives.power_loss
        sync, bounds = promises.sync, promises.bounds
        longest = max(bounds.recovery_ms or 0, bounds.release_ms or 0, bounds.staleness_ms or 0) * _MS
        return cls(
            survives_process_death=_SURVIVES[survival.after],
            tail_records=survival.tail_records or 0,
            tail_ns=(survival.tail_ms or 0) * _MS,
            survives_power_loss=_SURVIVES[power.after],
            power_tail_records=power.tail_records or 0,
            power_tail_ns=(power.tail_ms or 0) * _MS,
            sync_scope=_SCOPES[sync.scope],
            sync_covers_other_processes=sync.covers_other_processes,
            visible="sync" if promises.visible is Visible.SYNC else "append",
            total_order=promises.writers.order is Order.TOTAL,
            positions=_POSITIONS[promises.position.kind],
            readers=_weakest(promises.readers.kinds),
            independent_too=ReaderKind.INDEPENDENT in promises.readers.kinds,
            redelivery=frozenset(promises.readers.redelivery),
            report_causes=_causes(promises),
            deadline_ns=max(deadline_ns, longest) if deadline_ns else 0,
            epsilon_ns=epsilon_ns,
        )

    def promise(self, grade: Grade) -> Promise:
        if grade == "power":
            return Promise(self.survives_power_loss, self.power_tail_records, self.power_tail_ns)
        return Promise(self.survives_process_death, self.tail_records, self.tail_ns)

    def competes(self, group: int) -> bool:
        """Members of the group take records from each other."""
        return self.readers == "competing" and not (self.independent_too and group == 0)

    def alone(self, group: int) -> bool:
        """A reader that gets everything by itself."""
        return self.readers == "independent" or (self.independent_too and group == 0)

    def ordered(self, group: int) -> bool:
        """A chain's deliveries stand in log order and come once: no member takes from another, nothing comes again by timeout."""
        if self.readers != "independent" and self.alone(group):
            return True  # what comes again by timeout comes to groups
        return not self.competes(group) and not self.redelivery - {"restart", "rebalance"}


def _weakest(kinds: tuple[ReaderKind, ...]) -> Literal["independent", "exclusive-shards", "competing"]:
    """History does not say of which kind a group is: the one of which less is asked."""
    if ReaderKind.COMPETING in kinds:
        return "competing"
    return "exclusive-shards" if ReaderKind.EXCLUSIVE_SHARDS in kinds else "independent"


def _causes(promises: Promises) -> frozenset[Cause]:
    """A reader loses nothing by retention where retention protects it and never drops it."""
    lossy = promises.retention.protects is Protects.NONE or promises.retention.drop_past_lag is not None
    return frozenset(Cause) if lossy else frozenset(Cause) - {Cause.GAP, Cause.DROP}
