"""``pdwire conform --list``: the cases that the filters take, and what would run where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from pdwire_conformance.suite.case import Case

from .select import Item

__all__ = ["SCHEMA", "as_json", "show"]

SCHEMA: Final = "pdwire.conform-list/1"
Runs = Mapping[str, Sequence[Item]]
"""Target -> what would run against it."""


def as_json(cases: Sequence[Case], runs: Runs) -> dict[str, Any]:
    """The document of ``docs/schema/conform-list.schema.json``."""
    where = _where(runs)
    return {
        "schema": SCHEMA,
        "cases": [
            {
                "slug": case.slug,
                "level": case.level,
                "role": case.role,
                "backend": case.backend,
                "message": case.message,
                "layout": case.layout,
                "family": case.family,
                "releases": list(case.releases),
                "purpose": case.purpose,
                "expectation": case.expectation,
                "clauses": list(case.clauses),
                "reports": list(case.reports),
                "tags": list(case.tags),
                "runs": where.get(case.slug, {}),
            }
            for case in cases
        ],
    }


def _where(runs: Runs) -> dict[str, dict[str, list[str]]]:
    """Slug -> target -> releases."""
    found: dict[str, dict[str, list[str]]] = {}
    for target, items in runs.items():
        for item in items:
            found.setdefault(item.case.slug, {}).setdefault(target, []).append(item.release)
    return found


def show(cases: Sequence[Case], runs: Runs, screen: Console) -> None:
    """One line a case, then how many there are."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("case", overflow="fold")
    for name in ("level", "role", "releases"):
        table.add_column(name, no_wrap=True)
    where = _where(runs)
    for case in cases:
        releases = list(_ran(where[case.slug])) if runs else [span(case.releases)]
        table.add_row(case.slug, case.level, case.role, "\n".join(releases))
    screen.print(table)
    screen.print(f"{len(cases)} case{'' if len(cases) == 1 else 's'}")


def _ran(where: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for target, releases in where.items():
        alone = target.removeprefix("sglang==") == releases[0]
        yield target if alone else f"{target} {span(releases)}"


def span(releases: Sequence[str]) -> str:
    """First and last of some releases, oldest first."""
    return releases[0] if len(releases) == 1 else f"{releases[0]}–{releases[-1]}"
