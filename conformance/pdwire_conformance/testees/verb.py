"""``pdwire testee``: check a testee of one's own, serve one, print the protocol."""

from __future__ import annotations

import sys
from enum import StrEnum
from importlib.resources import files
from typing import Annotated

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from pdwire.cli.console import FOUND, Format, Formatted, console, fail, print_json

from .check import Finding, Unstartable, as_json, check
from .conversation import Breach
from .find import FORMS, find_testee
from .protocol import TesteeError
from .serve import serve_testee

command = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Testees: programs that speak the testee protocol, and those that the suite can find.",
)


class Lines(StrEnum):
    """Which lines of the protocol."""

    REQUEST = "request"
    ANSWER = "answer"


@command.command("check")
def check_(
    words: Annotated[list[str], typer.Argument(metavar="-- COMMAND…", help="What starts it.")],
    format_: Formatted = Format.TABLE,
    start_s: Annotated[
        float, typer.Option("--start", min=0.1, help="Seconds that it has to say hello.")
    ] = 30.0,
    deadline_s: Annotated[
        float, typer.Option("--deadline", min=0.1, help="Seconds that an answer may take.")
    ] = 20.0,
) -> None:
    """Find every place where a testee breaks the protocol."""
    found: list[Finding] = []
    try:
        for finding in check(words, start_s=start_s, deadline_s=deadline_s):
            found.append(finding)
            _progress(f"{finding.check} …")
    except Unstartable as fault:
        fail(f"{words[0]} {fault}")
    finally:
        _progress("")
    if format_ is Format.JSON:
        print_json(as_json(words, found))
    else:
        _show(found)
    raise typer.Exit(FOUND if any(finding.breaches for finding in found) else 0)


@command.command("serve")
def serve_(
    target: Annotated[str, typer.Argument(help=f"One of: {', '.join(FORMS)}.")],
) -> None:
    """Answer the testee protocol on standard input and output for any target."""
    try:
        serve_testee(find_testee(target))
    except TesteeError as fault:
        fail(str(fault))


@command.command("schema")
def schema(
    lines: Annotated[Lines, typer.Argument(help="Requests or answers.")],
) -> None:
    """Print the JSON Schema of the protocol's lines."""
    folder = files("pdwire_conformance.testees") / "schema"
    typer.echo((folder / f"{lines}.schema.json").read_text(encoding="utf-8"), nl=False)


@command.command("spec")
def spec() -> None:
    """Print the JSON export of the spec, all that a testee in another language needs."""
    text = (files("pdwire.wire") / "spec.json").read_text(encoding="utf-8")
    typer.echo(text, nl=not text.endswith("\n"))


def _progress(what: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{what}")
        sys.stderr.flush()


def _show(found: list[Finding]) -> None:
    screen = console()
    table = Table("check", "", "what is right", "seen")
    for finding in found:
        bad = len(finding.breaches) + finding.more
        verdict = Text(f"{bad} found", "bold red") if bad else Text("ok", "green")
        table.add_row(finding.check, verdict, finding.purpose, finding.saw)
    screen.print(table)
    for finding in found:
        for breach in finding.breaches:
            screen.print()
            screen.print(_breach(finding.check, breach))
        if finding.more:
            screen.print(f"\n{finding.check}: {finding.more} more like these")
    screen.print()
    screen.print(_last(found))


def _breach(check: str, breach: Breach) -> Group:
    fault = breach.fault
    place = f", at {fault.pointer}" if fault.pointer else ""
    words = {"expected": fault.expected, "came": fault.came, "asked": breach.asked}
    told = Table.grid(padding=(0, 2))
    for name, text in (words | {"to do": fault.advice}).items():
        if text:
            told.add_row(f"  {name}", Text(text, overflow="fold"))
    return Group(Text(f"{check}: line {breach.line}{place}", "bold"), told)


def _last(found: list[Finding]) -> str:
    bad = [finding.check for finding in found if finding.breaches]
    if bad:
        return f"The protocol is broken in {', '.join(bad)}."
    return f"It keeps the protocol: {len(found)} checks."
