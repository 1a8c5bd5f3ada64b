"""The matrix of testee × case, packed small enough for one page.

Rules:

* What repeats is stored once and referred to by number: texts, frames, trace lines,
  outcomes, and whole cells. Twenty-five releases that fail a case alike cost one outcome.
* What was expected and what came is kept of what did not pass and was not merely skipped.
* Traces are those of the stream. When they are too much, those of what passed go first;
  then frames are cut at the first of :data:`CUTS` that is enough, and the page says so.
* Words of a case and a testee are shown, never interpreted: they are made printable here.

The page's script reads this form and nothing else does; it may change with the page.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pdwire_conformance.conform.events import CaseEvent, TraceLine, Verdict

from .gather import LEVELS, Tested, group_of, worst
from .text import cut_hex, printable

__all__ = ["CUTS", "Grid", "Row", "build_grid", "pack", "pack_within"]

CUTS: Final = (512, 128, 32, 8)
"""Bytes shown of one frame."""
_NOTHING: Final = frozenset({Verdict.PASSED, Verdict.SKIPPED, Verdict.FLAKY})
_NUMBERS: Final = {verdict: number for number, verdict in enumerate(Verdict)}
_DIGITS: Final = re.compile(r"([0-9]+)")
_SLUG, _TARGET, _RELEASE = "\x01", "\x02", "\x03"
"""Stand for what differs between rerun lines and trace lines that are otherwise one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One case: its words, and per testee its results (one per release; empty: not run)."""

    case: CaseEvent
    group: str
    cells: tuple[tuple[CaseEvent, ...], ...]

    @property
    def verdicts(self) -> tuple[Verdict | None, ...]:
        """Per testee the worst verdict; ``None`` where the case was not run."""
        return tuple(worst(e.verdict for e in cell) if cell else None for cell in self.cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Testees as columns, cases as rows, rows of one group together."""

    tested: tuple[Tested, ...]
    rows: tuple[Row, ...]


def build_grid(tested: Sequence[Tested]) -> Grid:
    """Rows by group, written families first, and by slug within a group."""
    cells: dict[str, list[list[CaseEvent]]] = {}
    for column, each in enumerate(tested):
        for case in each.cases:
            if case.slug not in cells:
                cells[case.slug] = [[] for _ in tested]
            cells[case.slug][column].append(case)
    rows = [_row(row) for row in cells.values()]
    rows.sort(key=lambda row: (row.case.family == "spec", row.group, _natural(row.case.slug)))
    return Grid(tested=tuple(tested), rows=tuple(rows))


def _natural(slug: str) -> list[tuple[int, str]]:
    """Numbers in a slug by their value: r2 comes before r10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(slug)]


def _row(cells: Sequence[Sequence[CaseEvent]]) -> Row:
    first = next(case for cell in cells for case in cell)
    return Row(case=first, group=group_of(first), cells=tuple(tuple(cell) for cell in cells))


def pack_within(grid: Grid, budget: int) -> tuple[str, int]:
    """The grid as gzipped JSON in Base64, and the bytes shown of a frame.

    It has at most ``budget`` characters, or no traces.
    """
    for most, fine in ((CUTS[0], True), *((each, False) for each in CUTS)):
        text = _squeezed(pack(grid, most, fine=fine))
        if len(text) <= budget:
            return text, most
    return _squeezed(pack(grid, 0)), 0


def _squeezed(packed: dict[str, Any]) -> str:
    octets = json.dumps(packed, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(octets, mtime=0)).decode()


class _Pool:
    """Texts, or tuples that JSON can hold, by number: each is kept once."""

    def __init__(self) -> None:
        self._known: dict[Hashable, int] = {}

    def add(self, value: Hashable) -> int:
        return self._known.setdefault(value, len(self._known))

    @property
    def kept(self) -> list[Hashable]:
        return list(self._known)


class _Packing:
    def __init__(self, most: int, *, fine: bool) -> None:
        self.most = most
        self.fine = fine
        self.texts, self.spans, self.cells = _Pool(), _Pool(), _Pool()
        self.frames, self.names, self.lines, self.outcomes = _Pool(), _Pool(), _Pool(), _Pool()
        self.text("")
        self.cells.add(())

    def text(self, value: str) -> int:
        return self.texts.add(printable(value))

    def cell(self, results: Sequence[CaseEvent]) -> int:
        """The number of a cell: pairs of outcome and releases, those of one outcome joined."""
        found: dict[int, list[str]] = {}
        for case in results:
            found.setdefault(self._outcome(case), []).append(printable(case.release))
        pairs = ((key, self.spans.add(tuple(span))) for key, span in found.items())
        return self.cells.add(tuple(pairs))

    def _outcome(self, case: CaseEvent) -> int:
        traced = self.most and (self.fine or case.verdict not in _NOTHING)
        trace = self._trace(case) if traced else ()
        differs = ("", "") if case.verdict in _NOTHING else (case.expected, case.came)
        words = [self.text(each) for each in (*differs, case.reason, case.link)]
        rerun = self.texts.add(_template(case))
        return self.outcomes.add((_NUMBERS[case.verdict], *words, rerun, trace))

    def _trace(self, case: CaseEvent) -> tuple[tuple[int, float], ...]:
        # One answer to one question: when it came says nothing, and would tell equals apart.
        timed = case.role != "codec"
        lines = ((self._line(line, case.release), line.at_s) for line in case.trace)
        return tuple((line, round(at_s, 3) if timed else 0) for line, at_s in lines)

    def _line(self, line: TraceLine, release: str) -> int:
        frames = tuple(self.frames.add(cut_hex(printable(each), self.most)) for each in line.frames)
        names = self.names.add(tuple(printable(name) for name in line.names))
        words = printable(line.text)
        words = words.replace(release, _RELEASE) if release else words
        return self.lines.add((line.way, self.texts.add(words), frames, names))

    def case(self, row: Row) -> list[Any]:
        case = row.case
        level = LEVELS.index(case.level) if case.level in LEVELS else case.level
        words = (case.role, case.backend, row.group, case.message, case.layout)
        long = (case.purpose, case.expectation, case.origin)
        return [
            printable(case.slug),
            level,
            *(self.text(each) for each in (*words, *long)),
            [self.text(each) for each in case.clauses],
            [self.text(each) for each in case.reports],
        ]


def _template(case: CaseEvent) -> str:
    program, space, rest = printable(case.rerun).partition(" ")
    pairs = ((case.slug, _SLUG), (case.target, _TARGET), (case.release, _RELEASE))
    for value, mark in pairs:
        rest = rest.replace(printable(value), mark) if value else rest
    return program + space + rest


def pack(grid: Grid, most: int, *, fine: bool = False) -> dict[str, Any]:
    """The object that the page's script reads.

    ``most`` bytes of a frame are shown, of 0 there are no traces at all; ``fine``: traces
    of what passed are kept, too.
    """
    packing = _Packing(most, fine=fine)
    columns = range(len(grid.tested))
    return {
        "verdicts": [str(each) for each in Verdict],
        "levels": list(LEVELS),
        "testees": [
            {"target": printable(each.target), "title": printable(each.title)}
            for each in grid.tested
        ],
        "cases": [packing.case(row) for row in grid.rows],
        "grid": [[packing.cell(row.cells[each]) for row in grid.rows] for each in columns],
        "cells": packing.cells.kept,
        "spans": packing.spans.kept,
        "outcomes": packing.outcomes.kept,
        "lines": packing.lines.kept,
        "names": packing.names.kept,
        "frames": packing.frames.kept,
        "texts": packing.texts.kept,
    }
