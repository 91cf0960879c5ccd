"""CLAUSES.md, generated from the catalogue: `python -m fireassay.spec.document [--check] PATH`."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from fireassay.spec.clause import Clause, Level, Method, System
from fireassay.spec.clauses import ALL

__all__ = ["clause_markdown", "clauses_markdown", "main"]

COMMAND = "python -m fireassay.spec.document"

INTRO = f"""\
# Clauses

What Fireassay examines, clause by clause. This file is generated from `spec/clauses/`; change the clauses there and refresh it with
`{COMMAND} CLAUSES.md`.

The LOG clauses are the contract of any durable log or bus. They apply as far as the target promises what a clause needs; what is not
promised is not applicable. The other clauses are the formats and protocols of the five seed systems. An id is never reused or dropped.
"""

SYSTEMS: dict[System, str] = {
    System.LOG: "the contract of any log",
    System.OMB: "om_bus, the WAL distribution bus (seed 000)",
    System.BRG: "the sequenced bidirectional bridge (seed 001)",
    System.COM: "comet, the sharded segmented log (seed 002)",
    System.CHR: "chronicle, the mmap queue (seed 003)",
    System.SMB: "SimpleBus, the durable multi-topic bus (seed 004)",
}

LEVELS: dict[Level, str] = {
    Level.MUST: "must",
    Level.SHOULD: "should",
    Level.PERFORMANCE: "performance",
}

METHODS: dict[Method, str] = {
    Method.LAYOUT: "bytes compared with the declarative layout",
    Method.CASE: "an executable case against the target",
    Method.MODEL: "a state machine compared with a pure model",
    Method.HISTORY: "a check over recorded history",
    Method.KILL: "process death at failpoints and random instants",
    Method.POWER: "loss of everything that was not synced",
    Method.FAULT: "full disk, I/O errors, network faults, damage to files",
    Method.FUZZ: "malformed and hostile input",
    Method.BENCHMARK: "ratios to floors measured in the same run",
    Method.INSPECTION: "read by people, and printed so on the certificate",
}


def clauses_markdown(clauses: Iterable[Clause]) -> str:
    """The whole document. The same clauses always give the same text."""
    catalogue = tuple(clauses)
    parts = [INTRO, _methods()]
    for system, name in SYSTEMS.items():
        own = tuple(clause for clause in catalogue if clause.system is system)
        if own:
            parts.append(f"## {system.value}: {name}\n")
            parts.append(_table(own))
            parts.extend(clause_markdown(clause) for clause in own)
    return "\n".join(parts)


def _methods() -> str:
    rows = [f"- **{method.value}**: {meaning}" for method, meaning in METHODS.items()]
    return "\n".join(["How a clause is verified:", "", *rows, ""])


def _table(clauses: Sequence[Clause]) -> str:
    rows = ["| id | level | title | verified by |", "|---|---|---|---|"]
    for clause in clauses:
        link = f"[{clause.id}](#{clause.id.lower()})"
        title = _text(clause.title).replace("|", "\\|")
        rows.append(f"| {link} | {LEVELS[clause.level]} | {title} | {_joined(m.value for m in clause.verified)} |")
    return "\n".join([*rows, ""])


def clause_markdown(clause: Clause) -> str:
    lines = [f'<a id="{clause.id.lower()}"></a>', "", f"### {clause.id}: {_text(clause.title)}", "", _text(clause.statement), ""]
    lines += [f"- **Level:** {LEVELS[clause.level]}", f"- **Why:** {_text(clause.why)}", f"- **Source:** {_text(clause.seed)}"]
    lines.append(f"- **Verified by:** {_joined(m.value for m in clause.verified)}")
    if clause.needs:
        lines.append(f"- **Needs:** {_joined(clause.needs)}")
    if clause.anomalies:
        lines.append(f"- **Convicted by:** {_joined(clause.anomalies)}")
    if clause.tolerated:
        lines.append(f"- **Tolerated:** {_joined(clause.tolerated)}")
    if clause.errata:
        lines.append("- **Errata and rulings:**")
        lines += [f"  - {_text(erratum)}" for erratum in clause.errata]
    return "\n".join([*lines, ""])


def _joined(names: Iterable[str]) -> str:
    return ", ".join(names)


def _text(text: str) -> str:
    """Prose with Markdown's active characters escaped; what stands between backticks is left as it is."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:  # a lone backtick is no code span
        return _escaped(text).replace("`", "\\`")
    return "`".join(piece if number % 2 else _escaped(piece) for number, piece in enumerate(pieces))


def _escaped(text: str) -> str:
    for character in ("\\", "*", "<", "_", "["):
        text = text.replace(character, "\\" + character)
    return text


def main(argv: Sequence[str] | None = None, clauses: Iterable[Clause] = ALL) -> int:
    parser = argparse.ArgumentParser(prog=COMMAND, description="Write CLAUSES.md from the catalogue, or check that it is fresh.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the file is stale")
    parser.add_argument("path", type=Path, metavar="PATH", help="the file, e.g. CLAUSES.md")
    arguments = parser.parse_args(argv)
    path: Path = arguments.path
    expected = clauses_markdown(clauses).encode()
    if not arguments.check:
        path.write_bytes(expected)
        return 0
    if path.is_file() and path.read_bytes() == expected:
        return 0
    print(f"{path} does not match the clauses; refresh it with: {COMMAND} {path}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
