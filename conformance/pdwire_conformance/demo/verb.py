"""The verb: what it takes, how it answers, and its exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console

from pdwire.cli.console import FOUND, Format, Formatted, choose, console, fail, print_json, remark
from pdwire.wire import releases
from pdwire_conformance.demo.handover import Shape
from pdwire_conformance.demo.moved import Moved, move, moved_json, show_moved
from pdwire_conformance.demo.report import Report, as_json, show
from pdwire_conformance.demo.run import record, run
from pdwire_conformance.peers.errors import PeerUnavailable

RELEASES = releases("mooncake")


class Part(StrEnum):
    """What of the demo to run."""

    CODECS = "codecs"
    HANDOVER = "handover"


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
    only: Annotated[
        Part | None, typer.Option(help="One part: codecs with a release, or the hand-over.")
    ] = None,
    requests: Annotated[int, typer.Option(min=1, max=64, help="Requests at once.")] = 8,
    chaos: Annotated[
        bool, typer.Option("--chaos", help="Kill and restart sides midway as well.")
    ] = False,
    format_: Formatted = Format.TABLE,
) -> None:
    """Exchange messages with a real SGLang release, then hand KV cache over on this machine."""
    choose("release", release, RELEASES)
    if chaos and only is Part.CODECS:
        fail("--chaos kills sides of the hand-over, which --only codecs leaves out")
    if recorded and record_:
        fail("--recorded reads what --record writes; choose one")
    if record_:
        with _progress("Recording every release …"):
            raise typer.Exit(_record())
    report = None if only is Part.HANDOVER else _codecs(release, live=not recorded)
    if report is not None and format_ is Format.TABLE:
        show(report, console())
    moved = None
    if only is not Part.CODECS:
        with _progress("Starting the hand-over …") as say:
            moved = move(Shape(requests=requests), say, with_chaos=chaos)
        if format_ is Format.TABLE:
            show_moved(moved, console())
    if format_ is Format.JSON:
        print_json(whole_json(report, moved))
    holds = (report is None or report.holds) and (moved is None or moved.holds)
    raise typer.Exit(0 if holds else FOUND)


def whole_json(report: Report | None, moved: Moved | None) -> dict[str, Any]:
    """Both parts as one object; a part that was left out is ``null``."""
    codecs = None if report is None else as_json(report)
    return {
        "schema": "pdwire.demo/2",
        "codecs": codecs,
        "handover": None if moved is None else moved_json(moved),
    }


def _codecs(release: str, *, live: bool) -> Report:
    try:
        with _progress(f"Fetching and starting SGLang {release} …"):
            return run(release, live=live)
    except PeerUnavailable as error:
        fail(f"SGLang {release} can neither be run nor was it recorded: {error}")


def _record() -> int:
    broken = record(RELEASES, remark)
    for trial in broken:
        remark(f"{trial.codec.backend} {trial.codec.message} {trial.codec.layout} does not hold")
    return FOUND if broken else 0


@contextmanager
def _progress(what: str) -> Iterator[Callable[[str], None]]:
    """A spinner on stderr, on a terminal only; gives a way to say what is going on."""
    screen = Console(stderr=True)
    if not screen.is_terminal:
        yield lambda _: None
        return
    with screen.status(what) as status:
        yield status.update
