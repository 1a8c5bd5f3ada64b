"""The results for people: one line per pair and topology, then every reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .results import Result

_MARKS = {"passed": ("passed", "green"), "failed": ("FAILED", "bold red"), "not run": ("–", "dim")}


def show(results: Sequence[Result], screen: Console) -> None:
    """Write the table, the reasons, and the verdict as the last line."""
    table = Table("engine", "prefill → decode", "ranks", "cases", "KB compared", "s", "verdict")
    for column in table.columns[3:6]:
        column.justify = "right"
    for key, rows in _grouped(results):
        backend, prefill, decode, topology = key
        passed = [row for row in rows if row.verdict == "passed"]
        worst = _worst(rows)
        table.add_row(
            backend,
            f"{prefill} → {decode}",
            topology,
            f"{len(passed)} of {len(rows)}",
            f"{sum(row.bytes for row in rows) / 1024:.0f}",
            f"{sum(row.seconds for row in rows):.2f}",
            Text(*_MARKS[worst]),
        )
    screen.print(table)
    for text in dict.fromkeys(_reasons(results)):
        screen.print(text, soft_wrap=True)
    failed = sum(result.failed for result in results)
    moved = sum(result.bytes for result in results)
    held = sum(result.verdict == "passed" for result in results)
    verdict = f"{held} cases passed, {moved:,} bytes compared, all equal"
    whole = verdict + "." if held and not failed else f"{failed} failed; {verdict} in the others."
    screen.print(Text(whole, "bold green" if held and not failed else "bold red"), soft_wrap=True)


def _worst(rows: Sequence[Result]) -> str:
    verdicts = {row.verdict for row in rows}
    return "failed" if "failed" in verdicts else "passed" if "passed" in verdicts else "not run"


def _grouped(
    results: Sequence[Result],
) -> Iterator[tuple[tuple[str, str, str, str], list[Result]]]:
    groups: dict[tuple[str, str, str, str], list[Result]] = {}
    for row in results:
        groups.setdefault((row.backend, row.prefill, row.decode, row.topology), []).append(row)
    yield from groups.items()


def _reasons(results: Sequence[Result]) -> Iterator[str]:
    for row in results:
        if row.reason:
            where = f"{row.backend} {row.prefill} → {row.decode} {row.topology}, {row.case}"
            yield f"{where}: {row.verdict}: {row.reason}"
