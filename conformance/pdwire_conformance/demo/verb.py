"""The verb: what it takes, how it answers, and its exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console

from pdwire.cli.console import FOUND, Format, Formatted, choose, console, fail, print_json, remark
from pdwire.wire import releases
from pdwire_conformance.demo.report import as_json, show
from pdwire_conformance.demo.run import record, run
from pdwire_conformance.peers.errors import PeerUnavailable

RELEASES = releases("mooncake")


def command(
    *,
    release: Annotated[str, typer.Option(help="The SGLang release to run as the peer.")] = RELEASES[
        -1
    ],
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Use the recorded frames; start no release.")
    ] = False,
    record_: Annotated[
        bool, typer.Option("--record", help="Run every release and record what it says.")
    ] = False,
    format_: Formatted = Format.TABLE,
) -> None:
    """Exchange registrations and metadata with a real SGLang release, both ways."""
    choose("release", release, RELEASES)
    if recorded and record_:
        fail("--recorded reads what --record writes; choose one")
    try:
        with _progress(f"Fetching and starting SGLang {release} …"):
            if record_:
                raise typer.Exit(_record())
            report = run(release, live=not recorded)
    except PeerUnavailable as error:
        fail(f"SGLang {release} can neither be run nor was it recorded: {error}")
    if format_ is Format.JSON:
        print_json(as_json(report))
    else:
        show(report, console())
    raise typer.Exit(0 if report.holds else FOUND)


def _record() -> int:
    broken = record(RELEASES, remark)
    for trial in broken:
        remark(f"{trial.codec.backend} {trial.codec.message} {trial.codec.layout} does not hold")
    return FOUND if broken else 0


@contextmanager
def _progress(what: str) -> Iterator[None]:
    """A spinner on stderr, on a terminal only."""
    screen = Console(stderr=True)
    if not screen.is_terminal:
        yield
        return
    with screen.status(what):
        yield
