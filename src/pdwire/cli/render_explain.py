"""How ``explain`` looks: what fits, every frame, the bad one pointed at.

Rules: a bad row is marked in its first column too, so that it stands out without colour.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from pdwire.cli.render_show import Cell, filled
from pdwire.cli.verdict import Verdict, differences
from pdwire.reading.causes import speakers
from pdwire.reading.errors import shorten, shorten_value
from pdwire.reading.frames import count_text
from pdwire.reading.match import Fit
from pdwire.reading.result import Fault, Row
from pdwire.reading.spec import Value

_STYLES = {"exact": "green", "ambiguous": "yellow", "faulty": "red", "unknown": "red"}


def print_verdict(console: Console, verdict: Verdict, order: Sequence[str]) -> None:
    """One message: verdict, causes, frames, what else it may be."""
    console.print(_head(verdict, order))
    for line in verdict.causes:
        _say(console, f"likely: {line}", "yellow")
    if verdict.best is None or verdict.kind == "unknown":
        _raw(console, verdict.capture.frames)
        return
    _rows(console, verdict.best)
    for fault in verdict.best.annotation.faults:
        if fault.kind == "invariant":
            _say(console, f"rule {fault.rule}: {_fault(fault)}", "red")
    for fit in verdict.others:
        count = len(fit.annotation.faults)
        faults = f"{count} fault{'' if count == 1 else 's'}"
        _say(console, f"also near: {_name(fit)} ({speakers(fit.layout, order)}), {faults}", "dim")
    console.print()


def _say(console: Console, text: str, style: str) -> None:
    console.print(Padding(Text(text, style=style), (0, 0, 0, 2)))


def _name(fit: Fit) -> str:
    return f"{fit.message.key} {fit.layout.id}"


def _head(verdict: Verdict, order: Sequence[str]) -> Text:
    count = count_text(len(verdict.capture.frames))
    head = Text(f"message {verdict.number} (line {verdict.capture.line}, {count}): ")
    head.append(_says(verdict), style=f"bold {_STYLES[verdict.kind]}")
    for family in verdict.families:
        for fit in family:
            head.append(f"\n  fits {_name(fit)}   ")
            head.append(speakers(fit.layout, order), style="cyan")
    if verdict.kind == "ambiguous":
        head.append("\n  ambiguous: no byte tells which", style="yellow")
        for field, fits in differences(verdict).items():
            told = [
                f"{fit.layout.id} {value_text(fit.annotation.values.get(field))}" for fit in fits
            ]
            head.append(f"\n  {field}: {', '.join(told)}", style="yellow")
    elif verdict.families and len(verdict.families[0]) > 1:
        head.append("\n  these layouts read the same values from it")
    return head


def _says(verdict: Verdict) -> str:
    best = verdict.best
    if best is None:
        return "no layout is left to try"
    match verdict.kind:
        case "exact":
            return best.message.name
        case "ambiguous":
            return f"{len(verdict.families)} readings fit"
        case "faulty":
            return f"{_name(best)}, but not quite"
        case "unknown":
            return "no message that is known"


def _raw(console: Console, frames: Sequence[bytes]) -> None:
    rows: list[list[Cell]] = [[str(place), shorten(raw)] for place, raw in enumerate(frames)]
    console.print(filled([("frame", "cyan"), ("came", "")], rows))


def _rows(console: Console, fit: Fit) -> None:
    columns = [("", "bold red"), ("frame", "cyan"), ("field", "bold"), ("type", ""), ("value", "")]
    blamed = {fault.position: fault for fault in fit.annotation.faults if fault.kind == "invariant"}
    rows = [_row(row, blamed) for row in fit.annotation.rows]
    rows += [_count(fault) for fault in fit.annotation.faults if fault.kind == "count"]
    console.print(filled(columns, rows))


def _count(fault: Fault) -> list[Cell]:
    return [">", "", Text("count", style="red"), "", Text(_fault(fault), style="red")]


def _row(row: Row, blamed: dict[int | None, Fault]) -> list[Cell]:
    place = "guard" if row.name == "guard" and row.position is None else row.position
    marker = "" if row.status in {"ok", "default"} else ">"
    field = row.name if row.field in {None, row.name} else f"{row.name} ({row.field})"
    if marker:
        shown = {"missing": "missing", "extra": "too many"}.get(row.status, field)
        name = f"{field} {shown}".strip() if row.status in {"missing", "extra"} else field
        told = Text(_fault(row.fault) if row.fault else "", style="red")
        return [marker, _place(place, row), Text(name, style="red"), row.type, told]
    value = Text(_value(row))
    if (
        row.position in blamed
        and row.position is not None
        and blamed[row.position].field == row.field
    ):
        marker = "~"
    return [marker, _place(place, row), field, row.type, value]


def _place(place: object, row: Row) -> str:
    return (
        f"{'+' + str(row.sent) if row.status == 'extra' else '' if place is None else place!s:>5}"
    )


def _fault(fault: Fault) -> str:
    return f"expected {fault.expected}; came {fault.came}"


def _value(row: Row) -> str:
    if row.type == "const":
        return f'"{row.raw.decode("ascii", "replace")}"' if row.raw else "(empty)"
    told = value_text(row.value) if row.known else ""
    if row.status == "default":
        return f"{told}  (not sent)"
    return f"{told}  (empty frame)" if row.raw == b"" and row.value not in ([], b"") else told


def value_text(value: Value) -> str:
    """A value in one short line."""
    if isinstance(value, list):
        shown = ", ".join(value_text(item) for item in value[:6])
        more = f", … ({len(value)} in all)" if len(value) > 6 else ""
        return f"[{shown}{more}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if value is None:
        return "none"
    return shorten(value) if isinstance(value, bytes) else shorten_value(value)
