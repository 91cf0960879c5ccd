"""Whether a declared redelivery may have happened between two deliveries."""

from fireassay.spec.checks.assumptions import Declared
from fireassay.spec.history.history import History
from fireassay.spec.history.model import Call
from fireassay.spec.history.ops import Op
from fireassay.spec.history.row import Row

__all__ = ["maybe_redelivered"]

_RESTARTS = frozenset({Op.OPEN_READER, Op.OPEN_WRITER, Op.CLOSE, Op.SPAWN, Op.EXIT, Op.RECOVERY_BEGIN, Op.RECOVERY_END, Op.FAULT_FIRED})
_REBALANCES = _RESTARTS | {Op.ASSIGN, Op.REVOKE, Op.SEEK}


def maybe_redelivered(history: History, declared: Declared, one: Call, two: Call) -> bool:
    """By restart of anybody, or by rebalance; any other declared cause may come at any moment."""
    if declared.redelivery - {"restart", "rebalance"}:
        return True
    if not declared.redelivery:
        return False
    causes = _REBALANCES if "rebalance" in declared.redelivery else _RESTARTS
    return any(row.op in causes and not _certainly_outside(history, row, one, two) for row in history.rows)


def _certainly_outside(history: History, row: Row, one: Call, two: Call) -> bool:
    domain = history.domain(row.actor)
    before = history.earlier(row.t_ns, domain, one.t_invoke, history.domain(one.actor))
    return before or history.earlier(two.t_done, history.domain(two.actor), row.t_ns, domain)
