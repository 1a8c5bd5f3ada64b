"""Draws the tables of ``tables.py`` as Markdown: ``python -m pdwire.rooms.drawing``.

``docs/rooms.md`` holds what this prints; a test compares them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Final

from pdwire.rooms.tables import DECODE, MEANING, PREFILL, Event, Phase, Table

__all__ = ["draw"]

_TABLES: Final[Mapping[str, Table]] = {"prefill": PREFILL, "decode": DECODE}


def draw(role: str) -> str:
    """Diagram and table of one role.

    Args:
        role: ``"prefill"`` or ``"decode"``.
    """
    return "\n".join([*_diagram(_TABLES[role]), "", *_events(role), ""])


def _diagram(table: Table) -> Iterator[str]:
    yield "```mermaid"
    yield "stateDiagram-v2"
    for phase, after in table.items():
        yield from (f"    {_node(phase)} --> {_node(to)}: {event}" for event, to in after.items())
    yield "```"


def _node(phase: Phase) -> str:
    return "[*]" if phase is Phase.ABSENT else str(phase)


def _events(role: str) -> Iterator[str]:
    yield "| event | what has happened | from → to |"
    yield "|---|---|---|"
    for event, meaning in MEANING[role].items():
        yield f"| {event} | {meaning} | {_steps(_TABLES[role], event)} |"


def _steps(table: Table, event: Event) -> str:
    steps = [(phase, after[event]) for phase, after in table.items() if event in after]
    return ", ".join(f"{phase} → {target}" for phase, target in steps)


if __name__ == "__main__":
    sys.stdout.write(draw("prefill") + "\n" + draw("decode"))
