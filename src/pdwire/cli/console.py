"""Where output goes, and how a verb gives up.

Rules: what a verb was asked for is on stdout, everything else on stderr. Off a terminal
tables are 100 columns wide unless ``COLUMNS`` says otherwise.
"""

from __future__ import annotations

import difflib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Annotated, NoReturn

import typer
from rich.console import Console

WIDTH = 100
FOUND, USAGE = 1, 2
"""Exit codes beside 0: something was found, wrong usage."""


class Format(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"


Formatted = Annotated[Format, typer.Option("--format", help="Tables for people, or JSON.")]


def console() -> Console:
    """Stdout; data is never read as markup."""
    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH
    return Console(width=wide, markup=False, highlight=False, emoji=False)


def print_json(value: object) -> None:
    """``value`` as JSON on stdout."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def fail(text: str) -> NoReturn:
    """Say on stderr why nothing can be done, and exit 2."""
    typer.echo(f"pdwire: {text}", err=True)
    raise typer.Exit(USAGE)


def remark(text: str) -> None:
    """A remark on stderr."""
    typer.echo(text, err=True)


def choose(what: str, came: str | None, known: Sequence[str]) -> None:
    """Exit 2 unless ``came`` is one of ``known`` or was not given; says which there are."""
    if came is None or came in known:
        return
    fail(f"no {what} {came!r}{did_you_mean(came, known)} (known: {', '.join(known)})")


def did_you_mean(came: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` where something comes close."""
    spellings = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(came.casefold(), spellings, n=1, cutoff=0.5)
    return f"; did you mean {spellings[near[0]]!r}?" if near else ""
