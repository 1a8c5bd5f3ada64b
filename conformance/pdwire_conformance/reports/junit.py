r"""The report as JUnit XML, in the form that CI systems read.

Rules:

* A test suite per testee; class name: the case's family; name: its slug, and the release in
  brackets where a testee ran the case in several, for a name must be unique in a suite.
* Known failing and skipped cases are ``skipped`` with the reason; what makes a run unclean
  beside a case is a test case of the class ``run`` with an error, so that CI sees it.
* What is fine is one short line: a suite has tens of thousands.
* XML 1.0 has no escape for control characters: they are written as ``\x1b``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final
from xml.etree import ElementTree as ET

from pdwire_conformance.conform.events import CaseEvent, Event, Verdict

from .gather import Tested, gather
from .text import KEPT, cut_hex, printable

__all__ = ["render"]

_TAGS: Final = {
    Verdict.FAILED: "failure",
    Verdict.UNEXPECTED: "failure",
    Verdict.ERROR: "error",
    Verdict.KNOWN: "skipped",
    Verdict.SKIPPED: "skipped",
}
_PROPERTIES: Final = ("level", "role", "backend", "release", "message", "layout", "verdict")
_BYTES: Final = 64


def render(events: Sequence[Event]) -> str:
    """The XML document, with its declaration."""
    root = ET.Element("testsuites", name="pdwire conform")
    for tested in gather(events):
        root.append(_suite(tested))
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    root.set("time", _seconds(sum(float(suite.get("time", "0")) for suite in root)))
    ET.indent(root)
    body = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _suite(tested: Tested) -> ET.Element:
    suite = ET.Element("testsuite", name=_legal(tested.target))
    suite.append(_properties(_about(tested)))
    times = Counter(case.slug for case in tested.cases)
    suite.extend(_test(case, alone=times[case.slug] == 1) for case in tested.cases)
    suite.extend(_problem(problem) for problem in tested.problems)
    tests = suite.findall("testcase")
    suite.set("tests", str(len(tests)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(test.find(tag) is not None for test in tests)))
    suite.set("time", _seconds(tested.seconds))
    if tested.starts:
        suite.set("timestamp", _legal(tested.starts[0].started).removesuffix("Z"))
    return suite


def _about(tested: Tested) -> Iterator[tuple[str, str]]:
    for start in tested.starts[-1:]:
        yield "name", start.name
        yield "version", start.version
        yield "pdwire", start.pdwire
        yield "roles", " ".join(start.roles)
    yield "releases", " ".join(tested.releases)


def _properties(pairs: Iterator[tuple[str, str]]) -> ET.Element:
    found = ET.Element("properties")
    for name, value in pairs:
        if value:
            ET.SubElement(found, "property", name=name, value=_legal(value))
    return found


def _test(case: CaseEvent, *, alone: bool) -> ET.Element:
    name = case.slug if alone else f"{case.slug} [{case.release}]"
    test = ET.Element(
        "testcase",
        classname=_legal(case.family),
        name=_legal(name),
        time=_seconds(case.seconds),
    )
    if case.verdict.is_bad:
        test.append(_properties((name, str(getattr(case, name))) for name in _PROPERTIES))
    if tag := _TAGS.get(case.verdict):
        told = ET.SubElement(test, tag, message=_legal(_message(case)))
        if tag != "skipped":
            told.set("type", case.verdict)
            told.text = _legal("\n".join(_told(case)))
        elif case.link:
            told.text = _legal(case.link)
    return test


def _message(case: CaseEvent) -> str:
    differs = f"expected {case.expected}; came {case.came}" if case.expected else ""
    if case.verdict is Verdict.KNOWN:
        return f"known to fail: {case.reason}"
    return "; ".join(filter(None, (case.reason, differs))) or case.verdict


def _told(case: CaseEvent) -> Iterator[str]:
    yield f"{case.level}: {case.purpose}"
    yield case.expectation
    for line in case.trace:
        yield f"{line.way} {line.text}".rstrip()
        for position, frame in enumerate(line.frames):
            name = line.names[position] if position < len(line.names) else ""
            yield f"  {position:>3} {name:<24} {cut_hex(frame, _BYTES)}".rstrip()
    if case.rerun:
        yield f"rerun: {case.rerun}"


def _problem(problem: str) -> ET.Element:
    test = ET.Element("testcase", classname="run", name=_legal(problem), time="0.000")
    ET.SubElement(test, "error", type="problem", message=_legal(problem))
    return test


def _legal(text: str) -> str:
    return printable(text, KEPT)


def _seconds(value: float) -> str:
    return f"{value:.3f}"
