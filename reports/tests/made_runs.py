"""Run directories by hand: histories of HistoryBuilder, sealed with the recorder's own schema, and the JSON beside them."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from fireassay.conformance.recorder.recording import ROW_DTYPE
from fireassay.conformance.recorder.seal import to_table
from fireassay.reports.files import RunError
from fireassay.reports.judging import judge_run
from fireassay.reports.run import OUTPUTS
from fireassay.spec.clauses import digest as clauses_digest
from fireassay.spec.history.builder import HistoryBuilder
from fireassay.spec.history.ops import Op
from fireassay.spec.history.row import FIELDS, Row
from fireassay.spec.promises import After, Position, PositionKind, Promises, Scope, Survival, Survives, Sync

__all__ = ["NONCE", "PROMISES", "clean", "digest_again", "edit", "lossy", "make_run", "refused", "seal_rows"]

NONCE = 0xFEED
PROMISES = Promises(
    survives=Survives(process_death=Survival(after=After.APPEND)),
    position=Position(kind=PositionKind.DENSE),
    sync=Sync(scope=Scope.HANDLE),
)
Story = Callable[[HistoryBuilder], None]


def clean(h: HistoryBuilder) -> None:
    """A writer dies, a second one follows, and a drain finds everything."""
    p, r = h.producer(1), h.reader()
    p.open()
    r.open(0)
    p.append(1).ok(0)
    p.append(2).ok(1)
    r.read((0, p.key(1)), (1, p.key(2)))
    h.kill(p)
    h.exit(p, -9)
    h.recovered(2)
    q = h.producer(1, incarnation=1)
    h.event(Op.SPAWN, seq=h.process(q.actor))
    q.open()
    q.append(3).ok(2)
    r.read((2, q.key(3)))
    r.end()
    h.reader().drain((0, p.key(1)), (1, p.key(2)), (2, q.key(3)))


def lossy(h: HistoryBuilder) -> None:
    """The second record is acknowledged and gone after the death of its writer."""
    p = h.producer(1)
    p.append(1).ok(0)
    p.append(2).ok(1)
    h.kill(p)
    h.exit(p, -9)
    h.recovered(1)
    q = h.producer(1, incarnation=1)
    q.open()
    h.reader().drain((0, p.key(1)))


def seal_rows(directory: Path, recordings: Mapping[str, Sequence[Row]], summaries: Mapping[str, Any], rows_per_file: int = 1 << 20) -> None:
    import numpy as np
    import pyarrow as pa

    directory.mkdir(parents=True)
    names = sorted(recordings)
    tables = []
    for index, name in enumerate(names):
        values = [tuple(int(getattr(row, field)) for field in FIELDS) for row in recordings[name]]
        tables.append(to_table(np.array(values, dtype=ROW_DTYPE), names, index, 0))
    table = pa.concat_tables(tables)
    for number, begin in enumerate(range(0, max(1, len(table)), rows_per_file)):
        pq.write_table(table.slice(begin, rows_per_file), directory / f"part-{number:05}.parquet", compression="zstd")
    actors = {"schema": 1, "recordings": [summaries[name] for name in names]}
    (directory / "_actors.json").write_text(json.dumps(actors))


def _recordings(trial: str, story: Story) -> tuple[dict[str, list[Row]], dict[str, Any]]:
    h = HistoryBuilder()
    story(h)
    history = h.build()
    rows: dict[str, list[Row]] = {}
    summaries: dict[str, Any] = {}
    died = {row.seq for row in history.rows if row.op is Op.EXIT}
    for actor in history.actors.values():
        name = f"{trial}-{actor.role}-{actor.id}"
        rows[name] = history.rows_of.get(actor.id, [])
        summaries[name] = {
            "name": name,
            "rows": len(rows[name]),
            "closed": actor.process not in died,
            "lost": 0,
            "nonce": NONCE,
            "epsilon_ns": 0,
            "pid": actor.process,
            "clock_domain": {"host": "00", "boot_id": "b", "time_ns": 0},
            "actors": [
                {
                    "actor": actor.id,
                    "role": "harness" if actor.role == "coordinator" else actor.role,
                    "name": name,
                    "pid": actor.process,
                    "incarnation": actor.incarnation,
                    "group": actor.group,
                }
            ],
        }
    return rows, summaries


def make_run(
    path: Path,
    stories: Sequence[Story] = (clean,),
    *,
    cases: Sequence[Mapping[str, Any]] = (),
    faults: Sequence[Mapping[str, Any]] | None = None,
    not_run: Sequence[Mapping[str, Any]] = (),
    promises: Promises = PROMISES,
    rows_per_file: int = 1 << 20,
    **manifest: Any,
) -> Path:
    """A whole run; each story is one trial, in which fault 1 was a kill that fired wherever a fault fired at all."""
    path.mkdir(parents=True)
    trials = [f"{number + 1:04}" for number in range(len(stories))]
    rows: dict[str, list[Row]] = {}
    summaries: dict[str, Any] = {}
    for trial, story in zip(trials, stories, strict=True):
        some, of_them = _recordings(trial, story)
        rows |= some
        summaries |= of_them
    if stories:
        seal_rows(path / "history", rows, summaries, rows_per_file)
    if faults is None:
        hit = {name.partition("-")[0] for name, each in rows.items() if any(row.op is Op.FAULT_FIRED for row in each)}
        faults = [fault(trial) for trial in sorted(hit)]
    target = {"spec": "made", "name": "made", "kind": "object", "digest": "sha256:" + "0" * 64, "variant": "release"}
    document = {
        "schema": "fireassay.run/1",
        "run": "made-by-hand",
        "nonce": NONCE,
        "seed": 7,
        "mode": "quick",
        "started": "2026-11-18T10:00:00Z",
        "ended": "2026-11-18T10:03:00Z",
        "complete": True,
        "target": {**target, "promises": promises.to_toml(), **manifest.pop("target", {})},
        "spec": {"version": "1", "clauses": clauses_digest()},
        "environment": {"kernel": "Linux 6.18", "cores": 2},
        "versions": {"fireassay": "0.1.0"},
        "deadline_ns": 0,
        "epsilon_ns": 0,
        "trials": [{"trial": trial, "scenario": "kill", "seed": 7, "repeat": f"fireassay run --trial {trial}"} for trial in trials],
        **manifest,
    }
    _write(path / "manifest.json", document)
    _write(path / "faults.json", {"schema": "fireassay.faults/1", "faults": list(faults), "not_run": list(not_run)})
    _write(path / "cases.json", {"schema": "fireassay.cases/1", "cases": list(cases)})
    (path / "junit.xml").write_text("<testsuites/>\n")
    digest_again(path)
    return path


def fault(trial: str, **changed: Any) -> dict[str, Any]:
    made = {
        "trial": trial,
        "id": 1,
        "kind": "kill",
        "where": "random",
        "nth": None,
        "planned": True,
        "fired": True,
        "victim": 2,
        "reason": "",
    }
    return {**made, **changed}


def case(*clauses: str, outcome: str = "passed", name: str = "test_case", message: str = "", through: str = "object") -> dict[str, Any]:
    return {"case": name, "clauses": list(clauses), "outcome": outcome, "seconds": 0.5, "message": message, "through": through}


def _write(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document))


def digest_again(path: Path) -> None:
    """As whoever ends a run does: what lies there now is what was meant."""
    names = [each.relative_to(path).as_posix() for each in sorted(path.rglob("*")) if each.is_file() and each.name != "digests.json"]
    files = {name: hashlib.sha256((path / name).read_bytes()).hexdigest() for name in names}
    _write(path / "digests.json", {"schema": "fireassay.digests/1", "files": files})


def edit(path: Path, change: Callable[[Any], Any]) -> None:
    """Change a JSON document in place."""
    document = json.loads(path.read_text())
    change(document)
    _write(path, document)


def refused(path: Path, *says: str) -> RunError:
    """The judge refuses it, with these words, and leaves nothing that could be taken for a verdict."""
    with pytest.raises(RunError) as caught:
        judge_run(path, engine="python")
    for words in says:
        assert words in str(caught.value)
    assert caught.value.remedy
    assert not [name for name in OUTPUTS if (path / name).exists()]
    return caught.value
