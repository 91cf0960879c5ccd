"""The verdict for a pull request. What comes from a run is made harmless: it can neither break a table nor bring markup."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from fireassay.reports.judging import Judged
from fireassay.reports.page.harmless import harmless
from fireassay.reports.page.view import SYMBOLS, headline_sentence

__all__ = ["markdown"]

_ICONS = {"fail": "❌", "unknown": "❔", "pass": "✅", "pass-with-tolerated": "✅", "not-run": "➖", "not-applicable": "➖"}
_SHOWN = 40
_SPECIAL = re.compile(r"([\\`*_{}\[\]#|~])")


def markdown(judged: Judged) -> str:
    manifest, clauses = judged.run.manifest, [each for each in judged.verdicts["clauses"] if each["examined"]]
    lines = [
        f"## {_ICONS[judged.headline.value]} fireassay: {_text(manifest.target.name)}: {judged.headline.value}",
        "",
        headline_sentence(judged),
        "",
        f"Target {_code(manifest.target.spec)} ({_code(manifest.target.digest)}), {manifest.mode} mode, seed {manifest.seed}, "
        f"{len(manifest.trials)} trials, judged by the {judged.verdicts['engine']} engine.",
        "",
        *_table(("crash grade", "verdict", "fired / planned"), (_grade(each) for each in judged.certificate["crash_grades"])),
    ]
    for verdict, title in (("fail", "Failed"), ("unknown", "Unknown")):
        found = [each for each in clauses if each["verdict"] == verdict]
        if found:
            lines += ["", f"### {title}", "", *_table(("clause", "title", "what was seen"), (_row(each) for each in found[:_SHOWN]))]
            lines += [f"\n… and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    incidents = judged.verdicts["incidents"]
    if incidents:
        lines += [
            "",
            "### What the target did unasked",
            "",
            *(f"- trial {_text(one['trial'])}: {_text(one['text'])}" for one in incidents[:3]),
        ]
        lines += [f"\n… and {len(incidents) - 3} more"] if len(incidents) > 3 else []
    lines += ["", "<details><summary>All examined clauses</summary>", ""]
    every = ((_text(each["clause"]), f"{SYMBOLS[each['verdict']]} {each['verdict']}", _text(each["title"])) for each in clauses)
    lines += _table(("clause", "verdict", "title"), every)
    lines += ["", "</details>", "", f"Not signed. Repeat: {_code(judged.certificate['repeat']['run'])}", ""]
    return harmless("\n".join(lines))


def _row(each: Mapping[str, Any]) -> tuple[str, str, str]:
    seen = [f"{witness['anomaly']} in trial {witness['trial']}: {witness['explanation']}" for witness in each["witnesses"][:3]]
    return _text(each["clause"]), _text(each["title"]), "<br>".join(_text(text) for text in (seen or each["reasons"][:3]))


def _grade(each: Mapping[str, Any]) -> tuple[str, str, str]:
    why = f" ({_text('; '.join(each['not_run']))})" if each["not_run"] and not each["planned"] else ""
    return _text(each["grade"]), f"{SYMBOLS[each['verdict']]} {each['verdict']}", f"{each['fired']} / {each['planned']}{why}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ("---",) * len(head), *rows)]


def _text(value: str) -> str:
    """Plain words: one line, no markup of Markdown or HTML, nobody called by name."""
    flat = " ".join(value.split())[:400]
    return _SPECIAL.sub(r"\\\1", flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")).replace("@", "&#64;")


def _code(value: str) -> str:
    flat = " ".join(value.split())[:400].replace("|", "¦").replace("`", "'")
    return f"`{flat}`" if flat else "–"
