"""The report as one JSON document, ``docs/schema/conform.schema.json``.

Rules:

* Results of one case stand together, whoever and whichever release they came from; what
  the case says of itself stands once.
* Whatever text a testee gave is in it unchanged, but a lone surrogate, which UTF-8 cannot
  carry, is written as its escape.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from pdwire_conformance.conform.events import CaseEvent, Event, counts

from .gather import Tested, by_family, by_level, closing, gather, is_clean

__all__ = ["SCHEMA", "as_json", "render"]

SCHEMA: Final = "pdwire.conform-report/1"
_CASE: Final = (
    "slug",
    "level",
    "role",
    "backend",
    "family",
    "message",
    "layout",
    "purpose",
    "expectation",
    "clauses",
    "reports",
    "origin",
)
_RESULT: Final = (
    "target",
    "release",
    "verdict",
    "seconds",
    "expected",
    "came",
    "reason",
    "link",
    "rerun",
)


def render(events: Sequence[Event]) -> str:
    """The document on one line: it may hold a hundred thousand results."""
    text = json.dumps(as_json(events), ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n"


def as_json(events: Sequence[Event]) -> dict[str, Any]:
    """The document as an object."""
    tested = gather(events)
    return {
        "schema": SCHEMA,
        "clean": is_clean(tested),
        "summary": closing(tested),
        "testees": [_testee(each) for each in tested],
        "cases": _cases([case for each in tested for case in each.cases]),
    }


def _testee(tested: Tested) -> dict[str, Any]:
    last = tested.starts[-1] if tested.starts else None
    return {
        "target": tested.target,
        "name": last.name if last else "",
        "version": last.version if last else "",
        "pdwire": last.pdwire if last else "",
        "started": [start.started for start in tested.starts],
        "filters": [start.filters for start in tested.starts],
        "roles": list(dict.fromkeys(role for start in tested.starts for role in start.roles)),
        "releases": list(tested.releases),
        "seconds": tested.seconds,
        "counts": counts(tested.cases),
        "by_level": by_level(tested.cases),
        "by_family": by_family(tested.cases),
        "problems": list(tested.problems),
    }


def _cases(cases: Sequence[CaseEvent]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for case in cases:
        about = found.get(case.slug)
        if about is None:
            about = found[case.slug] = {**{name: getattr(case, name) for name in _CASE}}
            about["results"] = []
        result = {name: getattr(case, name) for name in _RESULT}
        about["results"].append({**result, "trace": [asdict(line) for line in case.trace]})
    return list(found.values())
