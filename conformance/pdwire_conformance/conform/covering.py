"""``pdwire conform --coverage``: which clauses of the spec the cases exercise."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from pdwire_conformance.suite.coverage import CoverageReport

__all__ = ["SCHEMA", "as_json", "show"]

SCHEMA: Final = "pdwire.conform-coverage/1"


def as_json(report: CoverageReport) -> dict[str, Any]:
    """The document of ``docs/schema/conform-coverage.schema.json``."""
    return {"schema": SCHEMA, "complete": report.complete, **asdict(report)}


def show(report: CoverageReport, screen: Console) -> None:
    """A line a message, then every gap."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("message", overflow="fold")
    for name in ("layouts", "clauses", "exercised", "cases"):
        table.add_column(name, justify="right")
    for each in report.messages:
        numbers = (each.layouts, each.clauses, each.exercised, each.cases)
        table.add_row(each.message, *(f"{number:,}" for number in numbers))
    screen.print(table)
    for gap in report.gaps:
        screen.print(f"no case exercises {gap}", soft_wrap=True)
    for unknown in report.unknown:
        screen.print(f"no such clause: {unknown}", soft_wrap=True)
    told = f"{report.exercised:,} of {report.clauses:,} clauses are exercised"
    screen.print(f"{told}, by {report.cases:,} cases.")
