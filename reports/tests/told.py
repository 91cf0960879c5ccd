"""Histories for the judge: handmade, sound, with one anomaly planted, and battered until nothing fits. Each is one trial."""

import os
import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from fireassay.conformance.recorder.seal import SCHEMA
from fireassay.reports.judge.frames import actor_facts
from fireassay.reports.judge.pairing import facts_of
from fireassay.reports.judge.schemas import FACTS
from fireassay.reports.judge.trials import findings_of
from fireassay.reports.tests.battered import battered
from fireassay.spec.checks import CheckResult, Declared
from fireassay.spec.checks import judge as judge_plainly
from fireassay.spec.history.builder import HistoryBuilder
from fireassay.spec.history.history import History
from fireassay.spec.history.row import FIELDS, Row
from fireassay.spec.tests.handmade import HANDMADE
from fireassay.spec.tests.plants import PLANTS
from fireassay.spec.tests.soundlog import declared_for, plans, simulate

__all__ = ["SEED", "Tale", "differences", "handmade", "judged_here", "made", "seal_tales"]

SEED = int(os.environ.get("FIREASSAY_SEED", "20260"))
Said = tuple[Any, ...]


@dataclass(frozen=True)
class Tale:
    """A history as it is sealed: one recording per actor."""

    trial: str
    name: str
    declared: Declared
    told: History

    @property
    def recordings(self) -> dict[str, list[Row]]:
        by_actor: dict[int, list[Row]] = defaultdict(list)
        for row in self.told.rows:
            by_actor[row.actor].append(row)
        return {f"{self.trial}-actor-{actor:05}": by_actor[actor] for actor in sorted(by_actor)}

    @property
    def history(self) -> History:
        return History.of(self.recordings.values(), self.told.actors.values())

    def plainly(self) -> tuple[CheckResult, ...]:
        return judge_plainly(self.history, self.declared)


def handmade() -> list[Tale]:
    found: dict[tuple[str, Declared], Tale] = {}
    for case in HANDMADE:
        builder = HistoryBuilder()
        case.build(builder)
        found.setdefault((case.name, case.declared), Tale(f"h{len(found):04}", case.name, case.declared, builder.build()))
    return [tale for tale in found.values() if tale.told.rows]


def made(count: int, trial: str = "r", begin: int = SEED) -> list[Tale]:
    """By Hypothesis, the same for the same seed."""
    found: list[Tale] = []

    @seed(begin)
    @settings(max_examples=count, database=None, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(plan=plans(), number=st.integers(0, 2**32))
    def collect(plan: Any, number: int) -> None:
        chance = random.Random(number)
        what = chance.choice(["sound", "battered", "battered", *PLANTS])
        planted = PLANTS[what](plan, chance.randrange) if what in PLANTS else None
        history = planted or simulate(plan)
        if what == "battered":
            history = battered(chance, history)
        declared = declared_for(plan) if chance.random() < 0.4 else _varied(chance, declared_for(plan))
        found.append(Tale(f"{trial}{len(found):04}", f"{what} {number} {plan}", declared, history))

    collect()
    return found


def _varied(chance: random.Random, declared: Declared) -> Declared:
    """Promises that need not fit: both judges must say the same all the same."""
    pick = chance.choice
    return replace(
        declared,
        survives_process_death=pick([declared.survives_process_death, "after-append", "after-sync", "never"]),
        survives_power_loss=pick(["after-append", "after-sync", "never"]),
        tail_records=pick([0, 0, 1, 2]),
        tail_ns=pick([0, 0, 5000]),
        power_tail_records=pick([0, 0, 1]),
        power_tail_ns=pick([0, 0, 5000]),
        sync_scope=pick(["stream", "handle", "all", "none"]),
        sync_covers_other_processes=pick([False, True]),
        visible=pick(["append", "append", "sync"]),
        total_order=pick([False, True]),
        positions=pick([declared.positions, declared.positions, "none", "increasing"]),
        readers=pick([declared.readers, declared.readers, "exclusive-shards", "competing"]),
        independent_too=pick([False, False, True]),
        redelivery=frozenset(pick([(), (), ("restart",), ("rebalance",), ("ack-timeout",)])),
        report_causes=frozenset(sorted(declared.report_causes)[: pick([2, 4])]),
        deadline_ns=pick([0, 20_000, 60_000]),
        epsilon_ns=pick([0, 500, 2500]),
    )


# -- sealed


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _columns(tales: Iterable[Tale]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [] for name in (*FIELDS, "recording", "row")}
    for tale in tales:
        for recording, rows in tale.recordings.items():
            for number, row in enumerate(rows):
                for name in FIELDS:
                    columns[name].append(_signed(int(getattr(row, name))))
                columns["recording"].append(recording)
                columns["row"].append(number)
    return columns


def seal_tales(tales: Iterable[Tale], directory: Path, parts: int = 3) -> None:
    """In several files, so that recordings go on from one to the next."""
    columns = _columns(tales)
    size = -(-len(columns["row"]) // parts)
    directory.mkdir()
    for part in range(parts):
        piece = {name: values[part * size : (part + 1) * size] for name, values in columns.items()}
        pq.write_table(pa.table(piece).cast(SCHEMA), directory / f"part-{part:05}.parquet")


# -- judged in this process


def judged_here(tale: Tale) -> dict[str, tuple[str, set[Said], str]]:
    """Both stages without Spark: clause → verdict, witnesses, counts and reasons."""
    facts: dict[str, list[Any]] = {name: [] for name in FACTS.names}
    rows = _columns([tale])
    rows["trial"] = [tale.trial] * len(rows["row"])
    for actor in sorted(set(rows["actor"])):
        mine = [n for n, each in enumerate(rows["actor"]) if each == actor]
        for name, values in facts_of({name: [column[n] for n in mine] for name, column in rows.items()}).items():
            facts[name].extend(values)
    for name, values in actor_facts({tale.trial: list(tale.told.actors.values())}).to_pydict().items():
        facts[name].extend(values)
    found = findings_of(facts, tale.declared)
    lines = [dict(zip(found, values, strict=True)) for values in zip(*found.values(), strict=True)]
    said = {line["clause"]: (line["name"], set(), f"{line['counts']} {line['reasons']}") for line in lines if line["witness"] < 0}
    shown: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        if line["witness"] >= 0 and line["role"] == "row":
            shown[line["clause"], line["witness"]].append(line)
    recordings = tale.recordings
    for (clause, _), those in shown.items():
        rows_shown = frozenset(repr(recordings[line["recording"]][line["row"]]) for line in those)
        said[clause][1].add((those[0]["name"], those[0]["stream"], those[0]["total"], rows_shown))
    return said


def differences(tale: Tale) -> list[str]:
    """Between the plain checks and the judge's stages, in words."""
    here = judged_here(tale)
    found = []
    for result in tale.plainly():
        witnesses = {(w.anomaly, w.stream, w.total, frozenset(map(repr, w.rows))) for w in result.witnesses}
        verdict, seen, more = here[result.clause]
        if verdict != result.verdict.value or seen != witnesses:
            found.append(f"{tale.name}: {result.clause} is {result.verdict} {result.reasons} plainly and {verdict} {more} here")
    return found
