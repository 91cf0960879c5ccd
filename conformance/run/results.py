"""What came of a case, and of all of them as JUnit XML."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal
from xml.etree import ElementTree

__all__ = ["CaseOutcome", "CaseResult", "junit"]

CaseOutcome = Literal["passed", "failed", "skipped", "error"]
_TAG = {"failed": "failure", "error": "error", "skipped": "skipped"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """A line of cases.json. `through` says by which way the target was reached."""

    case: str
    clauses: tuple[str, ...]
    outcome: CaseOutcome
    seconds: float = 0.0
    message: str = ""
    through: Literal["object", "driver"] = "object"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def junit(results: Sequence[CaseResult]) -> str:
    counts = {tag: str(sum(result.outcome == outcome for result in results)) for outcome, tag in _TAG.items()}
    totals = {"tests": str(len(results)), "failures": counts["failure"], "errors": counts["error"], "skipped": counts["skipped"]}
    root = ElementTree.Element("testsuites", totals)
    suite = ElementTree.SubElement(root, "testsuite", {"name": "fireassay", **totals})
    for result in results:
        name, seconds = _printable(result.case), f"{result.seconds:.3f}"
        case = ElementTree.SubElement(suite, "testcase", {"classname": f"fireassay.{result.through}", "name": name, "time": seconds})
        properties = ElementTree.SubElement(case, "properties")
        for clause in result.clauses:
            ElementTree.SubElement(properties, "property", {"name": "clause", "value": clause})
        if result.outcome in _TAG:
            message = _printable(result.message)
            ElementTree.SubElement(case, _TAG[result.outcome], {"message": message.partition("\n")[0][:500]}).text = message
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _printable(text: str) -> str:
    """XML 1.0 knows no control characters, not even escaped."""
    return "".join(c if c in "\t\n" or (c.isprintable() and not 0xD800 <= ord(c) <= 0xDFFF) else "\ufffd" for c in text)
