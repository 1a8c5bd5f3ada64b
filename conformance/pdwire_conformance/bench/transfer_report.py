"""Results of ``pdwire bench transfer`` for people and as JSON (``pdwire.bench.transfer/1``)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from pdwire_conformance.bench.transfer import Measured

__all__ = ["transfer_json", "transfer_show"]


def transfer_json(release: str, measured: dict[str, list[Measured]]) -> dict[str, Any]:
    """One object; seconds per turn of every side."""
    rows = [
        {
            "backend": backend,
            "case": asdict(row.case),
            "seconds": row.seconds,
            "gb_per_s": {side: row.speed(side) for side in row.seconds},
        }
        for backend, found in measured.items()
        for row in found
    ]
    return {"schema": "pdwire.bench.transfer/1", "release": release, "rows": rows}


def transfer_show(release: str, measured: dict[str, list[Measured]], console: Console) -> None:
    """One table per engine: GB/s of the median turn, and ours against the others."""
    theirs = f"SGLang {release}"
    for backend, found in measured.items():
        table = Table("case", "ours", theirs, "engine", "ours/SGLang", "ours/engine", title=backend)
        for column in table.columns[1:]:
            column.justify = "right"
        for row in found:
            ours, real, bare = (row.speed(side) for side in ("ours", theirs, "engine"))
            table.add_row(
                row.case.name,
                f"{ours:.2f}",
                f"{real:.2f}",
                f"{bare:.2f}",
                f"{ours / real:.2f}",
                f"{100 * ours / bare:.0f} %",
            )
        console.print(table)
    console.print("GB/s of the median turn; sides take turns in one run.")
