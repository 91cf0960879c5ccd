"""Probes that never let go, for the tests: what they leave in the kernel must be undone from outside."""

import json
import os
import signal
from pathlib import Path

from fireassay.chaos.capabilities.freeze import freeze, loop_ext4
from fireassay.chaos.capabilities.groups import frozen_group
from fireassay.chaos.capabilities.tools import forked, sleep_for_ever

__all__ = ["crashes_while_frozen", "keeps_a_group_frozen", "keeps_frozen"]


def _tell(work: Path, **found: object) -> None:
    """Written aside and renamed: whoever sees it sees all of it."""
    (work / "told.new").write_text(json.dumps(found))
    (work / "told.new").rename(work / "told")


def _frozen_with_a_waiting_writer(work: Path) -> None:
    point = loop_ext4(work)
    (point / "a").write_bytes(b"a")
    freeze(os.open(point, os.O_RDONLY))
    writer = forked(lambda: int((point / "a").write_bytes(b"b") != 1))
    while Path(f"/proc/{writer}/stat").read_text().rpartition(")")[2].split()[0] != "D":
        os.sched_yield()
    _tell(work, supervisor=os.getppid(), worker=os.getpid())


def keeps_frozen(work: Path) -> str:
    _frozen_with_a_waiting_writer(work)
    sleep_for_ever()
    return "never"


def crashes_while_frozen(work: Path) -> str:
    _frozen_with_a_waiting_writer(work)
    os.kill(os.getpid(), signal.SIGSEGV)
    return "never"


def keeps_a_group_frozen(work: Path) -> str:
    with frozen_group(work):
        _tell(work, supervisor=os.getppid(), worker=os.getpid())
        sleep_for_ever()
    return "never"
