"""``pdwire report``: make reports of the streams that ``pdwire conform --events`` kept.

Exit 0 when the runs are clean, 1 when they are not, 2 for a stream that is none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from pdwire.cli.console import FOUND, Format, Formatted, console, fail, remark
from pdwire_conformance.conform.events import Event, read_events

from . import RENDERERS, terminal
from .gather import gather, is_clean

__all__ = ["command", "read_streams"]

_STDIN = "-"


def command(
    streams: Annotated[list[str], typer.Argument(help="Event streams; - is standard input.")],
    *,
    html: Annotated[Path | None, typer.Option(help="Write the matrix as one HTML page.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write GitHub Markdown.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the JSON report.")] = None,
    badge: Annotated[Path | None, typer.Option(help="Write an SVG badge.")] = None,
    format_: Formatted = Format.TABLE,
) -> None:
    """Make reports of event streams; several streams make one report."""
    events = list(read_streams(streams))
    paths = {"html": html, "junit": junit, "markdown": markdown, "json": json, "badge": badge}
    wanted = {form: path for form, path in paths.items() if path is not None}
    for form, path in wanted.items():
        _write(path, _rendered(form, events))
    if format_ is Format.JSON:
        typer.echo(RENDERERS["json"](events), nl=False)
    elif not wanted:
        terminal.show(events, console())
    if not is_clean(gather(events)):
        raise typer.Exit(FOUND)


def read_streams(names: list[str]) -> Iterator[Event]:
    """The events of all streams, in order; a stream that is none ends the command."""
    if len(names) != len(set(names)):
        fail("a stream is named twice: its results would be counted twice")
    for name in names:
        try:
            yield from read_events(_lines(name))
        except OSError as fault:
            fail(f"cannot read {name}: {fault.strerror or fault}; keep one with --events PATH")
        except ValueError as fault:
            fail(f"{_placed(name, str(fault))}")


def _lines(name: str) -> Iterator[str]:
    if name == _STDIN:
        yield from sys.stdin
        return
    with Path(name).open(encoding="utf-8") as lines:
        yield from lines


def _placed(name: str, fault: str) -> str:
    """``file:line: what is wrong``; the reader says ``line 3 is no … event: …``."""
    shown = "<stdin>" if name == _STDIN else name
    number, space, rest = fault.removeprefix("line ").partition(" ")
    if fault.startswith("line ") and number.isdigit() and space:
        return f"{shown}:{number}: the line {rest}"
    return f"{shown}: {fault}"


def _rendered(form: str, events: Sequence[Event]) -> str:
    try:
        return RENDERERS[form](events)
    except ModuleNotFoundError as fault:
        fail(str(fault))


def _write(path: Path, text: str) -> None:
    try:
        path.write_bytes(text.encode("utf-8", "backslashreplace"))
    except OSError as fault:
        fail(f"cannot write {path}: {fault.strerror or fault}")
    remark(f"wrote {path}")
