"""The report for a terminal: counts, every kind of failure once in full, one last sentence.

Rules:

* Failures of one kind (verdict, level, message, origin, and wording but for numbers) are
  told once, with the frames; the others of the kind are listed by slug, and counted where
  they are many. MUST comes first, and within a level what is most frequent.
* A line per frame: position, name, length, text where it is ASCII, hex as far as it fits;
  long ASCII has no hex.
* With several testees a table compares them; with more than :data:`DETAILED`, that is all
  the counting there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pdwire_conformance.conform.events import CaseEvent, Event, TraceLine, Verdict, counts

from .gather import LEVELS, Tested, by_family, by_level, closing, gather, is_clean, span
from .text import cut, frame_text, kind_of, printable

__all__ = ["STYLES", "render", "show"]

STYLES: Final[Mapping[str, str]] = {
    Verdict.PASSED: "green",
    Verdict.FAILED: "bold red",
    Verdict.SKIPPED: "dim",
    Verdict.ERROR: "bold magenta",
    Verdict.KNOWN: "yellow",
    Verdict.UNEXPECTED: "bold cyan",
    Verdict.FLAKY: "yellow",
}
DETAILED: Final = 3
KINDS: Final = 20
"""Kinds of failure told in full, per testee; of many testees :data:`FEW`."""
FEW: Final = 3
LIKE: Final = 5
"""Slugs listed beside the one told in full, per kind."""
FRAMES: Final = 24
"""Frames shown, per trace line."""
_WORDS: Final = 32
_Counted = Mapping[str, dict[str, int]]


def render(events: Sequence[Event], *, width: int = 100) -> str:
    """The whole report as plain text, ``width`` columns wide."""
    page = StringIO()
    show(events, Console(file=page, width=width, markup=False, highlight=False, emoji=False))
    return page.getvalue()


def show(events: Sequence[Event], screen: Console) -> None:
    """Write the report, in colour where ``screen`` has it."""
    tested = gather(events)
    if len(tested) > 1:
        screen.print(_overview(tested))
    for each in tested:
        if len(tested) <= DETAILED:
            _summary(each, screen)
        _failures(each, screen, KINDS if len(tested) <= DETAILED else FEW)
        for problem in each.problems:
            screen.print(Text(f"problem: {each.target}: {printable(problem)}", "bold red"))
    colour = "bold green" if is_clean(tested) else "bold red"
    screen.print(Text(closing(tested), colour), soft_wrap=True)


def _overview(tested: Sequence[Tested]) -> Table:
    rows = {each.title: counts(each.cases) for each in tested}
    return _table("testee", rows, total="")


def _summary(tested: Tested, screen: Console) -> None:
    about = f"{span(tested.releases)}, {tested.seconds:.1f} s"
    screen.print(Text.assemble((printable(tested.title), "bold"), f": {about}"), soft_wrap=True)
    if tested.cases:
        screen.print(_table("level", by_level(tested.cases), total="all"))
        families = by_family(tested.cases)
        if len(families) > 1:
            screen.print(_table("family", families, total=""))


def _table(what: str, rows: _Counted, *, total: str) -> Table:
    found = [verdict for verdict in Verdict if any(row.get(verdict) for row in rows.values())]
    table = Table(what)
    for each in ("all", *found):
        table.add_column(each, style=STYLES.get(each, ""), justify="right")
    shown = list(rows.items())
    if total and len(rows) > 1:
        whole = {str(each): sum(row.get(each, 0) for row in rows.values()) for each in found}
        shown.append((total, whole))
    for name, row in shown:
        numbers = (_number(row.get(each, 0)) for each in found)
        table.add_row(printable(name), _number(sum(row.values())), *numbers)
    return table


def _number(value: int) -> str:
    return f"{value:,}" if value else "–"


def _failures(tested: Tested, screen: Console, most: int) -> None:
    kinds: dict[str, list[CaseEvent]] = {}
    for case in tested.bad:
        kinds.setdefault(_kind(case), []).append(case)
    ordered = sorted(kinds.values(), key=lambda cases: (_rank(cases[0].level), -len(cases)))
    for cases in ordered[:most]:
        _kind_in_full(cases, screen)
    if rest := ordered[most:]:
        many = sum(len(cases) for cases in rest)
        screen.print(f"… and {many:,} more of {len(rest)} other kinds, see --events\n")


def _rank(level: str) -> int:
    return LEVELS.index(level) if level in LEVELS else len(LEVELS)


def _kind(case: CaseEvent) -> str:
    wording = kind_of((case.expected, case.came, case.reason))
    return f"{case.verdict}|{case.level}|{case.family}|{case.message}|{case.origin}|{wording}"


def _kind_in_full(cases: Sequence[CaseEvent], screen: Console) -> None:
    first, *others = cases
    releases = [case.release for case in cases if case.slug == first.slug]
    slugs = list(dict.fromkeys(case.slug for case in others if case.slug != first.slug))
    for line in _told(first, releases, screen.width):
        screen.print(line, soft_wrap=True)
    if slugs:
        screen.print("  the same in:")
    for slug in slugs[:LIKE]:
        screen.print(f"    {printable(slug)}", soft_wrap=True)
    if len(slugs) > LIKE:
        screen.print(f"    … and {len(slugs) - LIKE:,} more, see --events")
    screen.print()


def _told(case: CaseEvent, releases: Sequence[str], width: int) -> Iterator[Text]:
    yield Text.assemble(
        (case.verdict.upper(), STYLES[case.verdict]),
        (f" {printable(case.slug)}", "bold"),
        (f"  {case.level}, {_span(releases)}, {case.role}", "dim"),
    )
    yield Text(f"  {cut(case.purpose, width - 2)}")
    for line in case.trace:
        yield from _traced(line, width)
    for name, said in (("expected", case.expected), ("came", case.came), ("reason", case.reason)):
        if said:
            yield Text(f"  {name + ':':<9} {printable(said)}")
    if case.link:
        yield Text(f"  {'see:':<9} {printable(case.link)}")
    if case.rerun:
        yield Text(f"  {'rerun:':<9} {printable(case.rerun)}")


def _span(releases: Sequence[str]) -> str:
    unique = list(dict.fromkeys(filter(None, releases)))
    if len(unique) <= 2:
        return " and ".join(unique) or "no release"
    return f"{unique[0]} and {len(unique) - 1} other releases"


def _traced(line: TraceLine, width: int) -> Iterator[Text]:
    mark = {"sent": "→", "came": "←"}.get(line.way, "·")
    words = f" {line.text}" if line.text else ""
    count = f" {len(line.frames)} {_plural('frame', line.frames)}" if line.frames else ""
    at = f" at {line.at_s:.3f} s" if line.at_s else ""
    yield Text("  " + cut(f"{mark} {line.way}{count}{at}{words}", width - 2), "dim")
    space = max((len(name) for name in line.names), default=0)
    for position, frame in enumerate(line.frames[:FRAMES]):
        name = line.names[position] if position < len(line.names) else ""
        yield Text(_frame(position, name[:28].ljust(min(space, 28)), frame, width))
    if len(line.frames) > FRAMES:
        yield Text(f"      … and {len(line.frames) - FRAMES} more frames, see --events")


def _plural(word: str, many: Sequence[object]) -> str:
    return word if len(many) == 1 else f"{word}s"


def _frame(position: int, name: str, frame: str, width: int) -> str:
    size = len(frame) // 2
    head = f"    {position:>3} {printable(name)} {size:>4} B  "
    text = frame_text(frame)
    if len(text) > _WORDS:  # long ASCII is a body: its hex would tell less
        return head + cut(text, width - len(head))
    return head + (cut(f"{text} {frame}".lstrip(), width - len(head)) if frame else "(empty)")
