"""report.html: one file that needs no network. Everything from a run is escaped, and its policy lets nothing but its own script run."""

import base64
import hashlib
from importlib.resources import files

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from fireassay.reports.judging import Judged
from fireassay.reports.page.harmless import harmless
from fireassay.reports.page.view import view

__all__ = ["html"]


def html(judged: Judged) -> str:
    style, script, template = (_part(name) for name in ("style.css", "script.js", "report.html"))
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    parts = {"style": Markup(style), "script": Markup(script), "policy": _policy(script)}
    return harmless(environment.from_string(template).render(**parts, **view(judged)).lstrip())


def _part(name: str) -> str:
    return files("fireassay.reports.page").joinpath(name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
