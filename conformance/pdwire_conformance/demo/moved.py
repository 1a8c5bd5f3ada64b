"""The hand-over part of the demo for people and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pdwire_conformance.demo.chaos import Story, chaos
from pdwire_conformance.demo.handover import LAYOUTS, Row, Shape, engines, hand_over, raw_speed

__all__ = ["Moved", "move", "moved_json", "show_moved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What moved over which engine, which engine is missing, and what was killed."""

    shape: Shape
    rows: tuple[Row, ...]
    missing: dict[str, str]
    stories: dict[str, Story]

    @property
    def holds(self) -> bool:
        """Every page is equal and every victim has a reason."""
        told = [good for story in self.stories.values() for _, good in story]
        return all(row.holds for row in self.rows) and all(told)

    @property
    def verdict(self) -> str:
        """The last line."""
        if not self.rows:
            return "Nothing moved: no engine is installed. " + " ".join(self.missing.values())
        requests = sum(row.requests for row in self.rows)
        size = sum(row.bytes for row in self.rows) / 1e6
        names = " and ".join(dict.fromkeys(row.backend for row in self.rows))
        done = f"{requests} requests, {size:.0f} MB of KV cache over {names}"
        return f"Proved: {done}, every page equal." if self.holds else f"Not proved: {done}."


def move(shape: Shape, say: Callable[[str], None], *, with_chaos: bool) -> Moved:
    """Run every layout over every engine that is installed."""
    known = engines()
    rows: list[Row] = []
    stories: dict[str, Story] = {}
    for backend in (name for name, why in known.items() if not why):
        say(f"{backend}: the engine alone")
        raw = raw_speed(backend, shape)
        rows += [hand_over(backend, layout, shape, say, raw=raw) for layout in LAYOUTS]
        if with_chaos:
            stories[backend] = chaos(backend, shape, say)
    missing = {name: why for name, why in known.items() if why}
    return Moved(shape=shape, rows=tuple(rows), missing=missing, stories=stories)


def moved_json(moved: Moved) -> dict[str, Any]:
    """The part's JSON."""
    return {
        "rows": [
            {**asdict(row), "speed": row.speed, "holds": row.holds, "faults": list(row.faults)}
            for row in moved.rows
        ],
        "missing": moved.missing,
        "chaos": {
            name: [{"text": text, "holds": good} for text, good in story]
            for name, story in moved.stories.items()
        },
        "holds": moved.holds,
        "verdict": moved.verdict,
    }


def show_moved(moved: Moved, console: Console) -> None:
    """Write the part for a person."""
    shape = moved.shape
    console.print()
    console.print(
        f"Hand-over: {shape.layers} layers, {shape.heads} KV heads of {shape.head_dim}, bf16, "
        f"pages of {shape.page_size} tokens; a process per rank."
    )
    if moved.rows:
        console.print(_table(moved))
        for line in _messages(moved):
            console.print(line, soft_wrap=True)
    for row in moved.rows:
        for fault in row.faults[:4]:
            console.print(Text(f"{row.backend} {row.layout}: {fault}", "red"), soft_wrap=True)
    for name, story in moved.stories.items():
        for text, good in story:
            mark = Text("✓ " if good else "✗ ", "green" if good else "bold red")
            console.print(mark.append(f"{name}: {text}", "default"), soft_wrap=True)
    for name, why in moved.missing.items():
        console.print(f"{name}: not run, {why}", soft_wrap=True)
    style = "bold green" if moved.holds and moved.rows else "bold yellow"
    style = style if moved.holds else "bold red"
    console.print(Text(moved.verdict, style), soft_wrap=True)


def _table(moved: Moved) -> Table:
    table = Table("engine", "ranks", "requests", "MB", "GB/s", "engine alone", "messages", "pages")
    for column in table.columns[2:7]:
        column.justify = "right"
    for row in moved.rows:
        table.add_row(
            row.backend,
            row.layout,
            str(row.requests),
            f"{row.bytes / 1e6:.0f}",
            f"{row.speed:.2f}",
            f"{row.raw:.2f}",
            str(sum(row.messages.values())),
            Text("equal", "green") if row.holds else Text("DIFFER", "bold red"),
        )
    return table


def _messages(moved: Moved) -> list[str]:
    """Control messages that arrived, by kind, one line per engine."""
    lines = []
    for backend in dict.fromkeys(row.backend for row in moved.rows):
        counted: Counter[str] = Counter()
        for row in moved.rows:
            if row.backend == backend:
                counted.update(row.messages)
        told = ", ".join(f"{count} {_short(kind)}" for kind, count in sorted(counted.items()))
        lines.append(f"{backend} control messages: {told}.")
    return lines


def _short(kind: str) -> str:
    return {"KVArgsRegisterInfo": "registration", "TransferInfo": "metadata"}.get(kind, kind)
