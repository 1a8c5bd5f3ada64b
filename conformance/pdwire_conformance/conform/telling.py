"""One failed case as plain text: what a test's report shows.

Rules:

* Everything that a person needs is there: why the case exists, the frames with their names,
  what was expected, what came, and a line that runs it again.
* Long frames are cut; the line that runs the case again has them whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from pdwire_conformance.reports.text import cut_hex, frame_text, printable

from .events import CaseEvent, TraceLine

__all__ = ["tell"]

_MOST = 48
"""Bytes of a frame that are shown."""
_WAYS = {"sent": "→", "came": "←"}


def tell(event: CaseEvent) -> str:
    """The failure, a few lines of text."""
    return "\n".join(_lines(event))


def _lines(event: CaseEvent) -> Iterator[str]:
    about = ", ".join(filter(None, (event.level, event.backend, event.release, event.role)))
    yield f"{event.verdict.upper()} {event.slug}  ({about})"
    yield f"  {event.purpose}"
    yield f"  {event.expectation}"
    for line in event.trace:
        yield from _trace(line)
    told = {
        "expected": event.expected,
        "came": event.came,
        "reason": event.reason,
        "reports": ", ".join(event.reports),
        "rerun": event.rerun,
    }
    for name, text in told.items():
        if text:
            yield f"  {f'{name}:':9} {printable(text)}"


def _trace(line: TraceLine) -> Iterator[str]:
    yield f"  {_WAYS.get(line.way, '·')} {line.way}: {printable(line.text)}"
    width = max(map(len, line.names), default=0)
    for at, (frame, name) in enumerate(zip_longest(line.frames, line.names, fillvalue="")):
        shown = " ".join(filter(None, (cut_hex(frame, _MOST), frame_text(frame)[:_MOST])))
        yield f"    {at:>3} {name:{width}} {shown or '(empty)'}"
