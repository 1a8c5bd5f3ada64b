"""Markdown tables that read well as text."""

from __future__ import annotations

from collections.abc import Sequence

_PADDED = 32
"""Columns up to this width are padded; wider ones would only push the rest away."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table's lines; a column without any content is left out."""
    used = [index for index in range(len(head)) if any(row[index] for row in rows)]
    if not used:
        return []
    cells = [[_cell(row[index]) for index in used] for row in (head, *rows)]
    widths = [max(3, *(len(row[place]) for row in cells)) for place in range(len(used))]
    padded = [width if width <= _PADDED else 0 for width in widths]
    lines = [_line(row, padded) for row in cells]
    rule = [["-" * (width or 3) for width in padded]]
    return [lines[0], _line(rule[0], padded), *lines[1:]]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
    return f"| {' | '.join(padded).rstrip()} |"


def paragraph(text: str) -> list[str]:
    """A text with a blank line behind it; nothing for an empty one."""
    return [text, ""] if text else []


def bullets(items: Sequence[str]) -> list[str]:
    """A list with a blank line behind it; nothing for none."""
    return [*(f"- {' '.join(item.split())}" for item in items), ""] if items else []


def section(heading: str, body: Sequence[str]) -> list[str]:
    """A heading with its body; nothing when the body is empty."""
    return [f"## {heading}", "", *body] if any(body) else []
