"""How far a run is, on stderr and only on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .events import CaseEvent, EndEvent, Event, StartEvent

__all__ = ["telling"]

_NOTE = Console(stderr=True)


def telling(events: Iterable[Event], screen: Console = _NOTE) -> Iterator[Event]:
    """The same events; a bar per testee while they pass."""
    if not screen.is_terminal:
        yield from events
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[bad]} bad", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=screen, transient=True) as bar:
        task, bad = bar.add_task("starting …", total=None, bad=0), 0
        for event in events:
            match event:
                case StartEvent():
                    bad = 0
                    bar.reset(task, description=event.target, total=event.selected, bad=0)
                case CaseEvent():
                    bad += event.verdict.is_bad
                    bar.update(task, advance=1, bad=bad)
                case EndEvent():
                    bar.update(task, description="starting …", total=None)
            yield event
