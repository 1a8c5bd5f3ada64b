"""Verbs that other packages bring: entry points of the group ``pdwire.commands``.

Rules: a verb is imported when it is called or listed, not before, so that ``pdwire show``
waits for nothing it does not use. One that cannot be imported is still a verb: it says
why, and exits 2.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from pdwire.cli.console import fail

GROUP = "pdwire.commands"


def found() -> dict[str, EntryPoint]:
    """The verbs that are installed, by name."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def load(entry: EntryPoint) -> Any:  # noqa: ANN401 - a command of Typer, which has no public type
    """The verb, or one in its place that says why there is none."""
    try:
        thing = entry.load()
        app = thing if isinstance(thing, typer.Typer) else _app(entry.name, thing)
        command = get_command(app)
    except Exception as error:  # noqa: BLE001 - whatever keeps a plugin from loading is its reason
        command = get_command(_app(entry.name, _excuse(entry, error)))
    command.name = entry.name
    return command


def _app(name: str, function: Callable[..., Any]) -> typer.Typer:
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(name)(function)
    return app


def _excuse(entry: EntryPoint, error: Exception) -> Callable[[], None]:
    reason = f"{type(error).__name__}: {error}"

    def command() -> None:
        fail(f"{entry.name} is not available: {entry.value} cannot be loaded ({reason})")

    command.__doc__ = f"Not available: {reason}"
    return command


class Verbs(TyperGroup):
    """Our own verbs and those of the entry points, in alphabetical order."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - Typer's context
        """Every verb's name."""
        return sorted({*super().list_commands(ctx), *found()})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - as above
        """The verb of that name, ours before anyone's; ``None`` when there is none."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        entry = found().get(cmd_name)
        return None if entry is None else load(entry)
