"""The report as one HTML page that needs nothing else: no network, no framework.

Rules:

* Everything that came from a stream is escaped by the template, or is JSON that the script
  puts on the page as text. A policy in the page itself forbids every other source.
* The matrix is readable without scripts: whole where it is small, else its groups and the
  cases that somebody did not pass. Filters and the page of a case need scripts.
* A verdict is a sign and a colour, never a colour alone.
* The page stays small: see :mod:`.pack`.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from itertools import groupby
from typing import Any, Final

from pdwire_conformance.conform.events import Event, Verdict, counts

from .gather import LEVELS, Tested, by_level, closing, gather, is_clean, span, worst
from .pack import Grid, Row, build_grid, pack_within
from .text import printable

__all__ = ["BUDGET", "SIGNS", "render"]

SIGNS: Final = {
    Verdict.PASSED: "✓",
    Verdict.FAILED: "✗",
    Verdict.SKIPPED: "–",
    Verdict.ERROR: "!",
    Verdict.KNOWN: "◆",
    Verdict.UNEXPECTED: "▲",
    Verdict.FLAKY: "~",
}
_MEANING: Final = {
    Verdict.PASSED: "as expected",
    Verdict.FAILED: "not as expected",
    Verdict.SKIPPED: "does not apply",
    Verdict.ERROR: "broke the protocol or a deadline",
    Verdict.KNOWN: "fails, and is listed as known to",
    Verdict.UNEXPECTED: "passes, but is listed as known to fail",
    Verdict.FLAKY: "listed as flaky; passed when repeated",
}
_BAR: Final = (
    Verdict.PASSED,
    Verdict.FLAKY,
    Verdict.KNOWN,
    Verdict.UNEXPECTED,
    Verdict.FAILED,
    Verdict.ERROR,
    Verdict.SKIPPED,
)
"""The order of a testee's bar and counts: what holds at the left."""
BUDGET: Final = 3_500_000
"""Characters of the packed matrix."""
STATIC: Final = 60_000
"""Cells of the table that stands in the page as such, about 25 characters each."""
_NAME: Final = 6
"""Cells that the name of a case is as long as."""
_HOLDS: Final = frozenset({None, Verdict.PASSED, Verdict.SKIPPED})
_EARLY: Final = 'document.documentElement.classList.add("js")'
"""Runs before the table is laid out: folded rows then cost nothing."""
_JOINT: Final = re.compile(r"(?<=[/_:@])|(?<===)")
_WIDE, _MEDIUM = 4, 12
"""Up to so many testees a cell has room for words, or for numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """A cell of the matrix; ``kind`` is its class, empty where nothing was run.

    In a group's row: ``number`` of its ``judged`` cases ended as the sign says.
    """

    kind: str
    sign: str
    number: int = 0
    judged: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    slug: str
    label: str
    level: str
    cells: tuple[_Cell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    name: str
    size: int
    cells: tuple[_Cell, ...]
    lines: tuple[_Line, ...]


def render(events: Sequence[Event]) -> str:
    """The whole page. ``ModuleNotFoundError`` without Jinja2, naming the extra that has it."""
    tested = gather(events)
    grid = build_grid(tested)
    data, most = pack_within(grid, BUDGET)
    whole = len(grid.rows) * (len(tested) + _NAME) <= STATIC
    scripts = {"early": _EARLY, "script": _asset("report.js")}
    page: str = _template().render(
        clean=is_clean(tested),
        closing=closing(tested),
        testees=[_testee(each) for each in tested],
        problems=[(printable(t.target), printable(p)) for t in tested for p in t.problems],
        groups=list(_groups(grid, whole=whole)),
        whole=whole,
        legend=[(str(each), SIGNS[each], _MEANING[each]) for each in Verdict],
        found=[str(each) for each in counts(case for t in tested for case in t.cases)],
        levels=_unique(row.case.level for row in grid.rows),
        backends=sorted(_unique(row.case.backend for row in grid.rows)),
        roles=sorted(_unique(row.case.role for row in grid.rows)),
        many=len(grid.rows),
        width="wide" if len(tested) <= _WIDE else "medium" if len(tested) <= _MEDIUM else "narrow",
        most=most,
        style=_asset("report.css"),
        **scripts,
        allowed=" ".join(map(_source, scripts.values())),
        data=data,
    )
    return page


def _source(script: str) -> str:
    """The word with which the page's policy lets one script run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return (files(__package__) / "templates" / name).read_text(encoding="utf-8")


def _template() -> Any:  # noqa: ANN401 - Jinja2's template; its types come with the extra
    try:
        import jinja2  # noqa: PLC0415 - an extra, needed for this report alone
    except ModuleNotFoundError as fault:
        raise ModuleNotFoundError(
            "the HTML report needs Jinja2: pip install 'pdwire[conform]'", name=fault.name
        ) from fault
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    # A long name breaks behind its own joints before it breaks anywhere.
    environment.filters["parts"] = _JOINT.split
    return environment.from_string(_asset("report.html.jinja"))


def _unique(values: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, map(printable, values))))


def _testee(tested: Tested) -> dict[str, Any]:
    found = counts(tested.cases)
    must = by_level(tested.cases).get(LEVELS[0], {})
    judged = sum(must.values()) - must.get(Verdict.SKIPPED, 0)
    held = must.get(Verdict.PASSED, 0) + must.get(Verdict.FLAKY, 0)
    return {
        "target": printable(tested.target),
        "title": printable(tested.title),
        "releases": printable(span(tested.releases, none="")),
        "started": _when(tested.starts[-1].started) if tested.starts else "",
        "seconds": tested.seconds,
        "must": f"{held:,} of {judged:,} MUST" if judged else "no MUST judged",
        "counts": [(str(each), SIGNS[each], found[each]) for each in _BAR if each in found],
        "bad": bool(tested.bad or tested.problems),
    }


def _when(started: str) -> str:
    """A time for people; as it came where it is none."""
    try:
        return f"{datetime.fromisoformat(started):%Y-%m-%d %H:%M} UTC"
    except ValueError:
        return printable(started)


def _groups(grid: Grid, *, whole: bool) -> Iterator[_Group]:
    room = STATIC // (len(grid.tested) + _NAME)
    for name, members in groupby(grid.rows, key=lambda row: row.group):
        rows = list(members)
        shown = printable(name)
        told = [row for row in rows if whole or not _HOLDS.issuperset(row.verdicts)]
        lines = tuple(_line(row, shown) for row in told[: max(room, 0)])
        yield _Group(
            name=shown,
            size=len(rows),
            cells=tuple(
                _joined(each) for each in zip(*(row.verdicts for row in rows), strict=True)
            ),
            lines=lines,
        )
        room -= len(lines)


def _joined(verdicts: Sequence[Verdict | None]) -> _Cell:
    """What a group's cell says: the worst there is, and how many of how many."""
    ran = [each for each in verdicts if each is not None]
    if not ran:
        return _Cell(kind="", sign="")
    judged = [each for each in ran if each is not Verdict.SKIPPED]
    verdict = worst(ran)
    if not judged:
        return _Cell(kind=verdict, sign=SIGNS[verdict], number=len(ran), judged=len(ran))
    same = sum(each is verdict for each in judged)
    kind = verdict if same == len(judged) else f"{verdict} part"
    return _Cell(kind=kind, sign=SIGNS[verdict], number=same, judged=len(judged))


def _line(row: Row, group: str) -> _Line:
    slug = printable(row.case.slug)
    cells = (_Cell(kind=v or "", sign=SIGNS[v] if v else "") for v in row.verdicts)
    return _Line(
        slug=slug,
        label=slug.removeprefix(f"{group}/"),
        level=printable(row.case.level),
        cells=tuple(cells),
    )
