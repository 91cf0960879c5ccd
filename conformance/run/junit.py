"""Case results as JUnit XML, for the CI systems that read it."""

import re
from collections import Counter
from collections.abc import Iterable
from xml.etree import ElementTree

from fireassay.conformance.run.model import CaseResult

__all__ = ["junit"]

_ELEMENT = {"failed": "failure", "error": "error", "skipped": "skipped"}
_UNPRINTABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(results: Iterable[CaseResult], name: str) -> str:
    every = list(results)
    counts = Counter(result.outcome for result in every)
    totals = {
        "tests": str(len(every)),
        "failures": str(counts["failed"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
        "time": f"{sum(result.seconds for result in every):.3f}",
    }
    suites = ElementTree.Element("testsuites", totals)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": _clean(name), **totals})
    for result in every:
        owner, _, case = result.case.rpartition("::")
        told = {"classname": _clean(owner or result.through), "name": _clean(case), "time": f"{result.seconds:.3f}"}
        element = ElementTree.SubElement(suite, "testcase", told)
        properties = ElementTree.SubElement(element, "properties")
        ElementTree.SubElement(properties, "property", {"name": "through", "value": result.through})
        for clause in result.clauses:
            ElementTree.SubElement(properties, "property", {"name": "clause", "value": clause})
        if result.outcome in _ELEMENT:
            text = _clean(result.message)
            ElementTree.SubElement(element, _ELEMENT[result.outcome], {"message": text[:500]}).text = text
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _clean(text: str) -> str:
    """XML has no way to write these."""
    return _UNPRINTABLE.sub("\ufffd", text)
