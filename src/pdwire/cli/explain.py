"""``pdwire explain``: what captured frames are, frame by frame."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pdwire.cli.captures import Capture, CaptureError, parse
from pdwire.cli.console import (
    FOUND,
    Format,
    Formatted,
    choose,
    console,
    did_you_mean,
    fail,
    print_json,
    remark,
)
from pdwire.cli.render_explain import print_verdict
from pdwire.cli.verdict import judge, verdict_json
from pdwire.reading.export import packaged_spec
from pdwire.reading.interpret import Reading
from pdwire.reading.match import Candidate, candidates
from pdwire.reading.spec import Spec


def command(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="Captured frames; '-' or nothing reads stdin."),
    ] = None,
    *,
    backend: Annotated[
        str | None, typer.Option("--backend", "-b", help="The backend that they came from.")
    ] = None,
    message: Annotated[
        str | None, typer.Option("--message", "-m", help="The message that they should be.")
    ] = None,
    release: Annotated[
        str | None, typer.Option("--release", "-r", help="The release that sent them.")
    ] = None,
    layout: Annotated[
        str | None, typer.Option("--layout", "-l", help="The layout that they should have.")
    ] = None,
    format_: Formatted = Format.TABLE,
) -> None:
    """Explain captured frames: which message and layouts they fit, every field, every fault.

    Input is one frame a line in hex, or as "text" in quotes ("" is the empty frame), with a
    blank line or --- between messages and # for comments; or JSON: a list of hex strings, a
    list of such lists, or one {"frames": [...]} per line. A frame before frame 0 that the
    backend wants (its guard) is part of the message.

    Exits 0 when every message fits one reading exactly, 1 when not, 2 when the input cannot
    be read.
    """
    spec = packaged_spec()
    among = _among(spec, backend, message, release, layout)
    captures = _captures(file)
    reading = Reading(spec)
    verdicts = [
        judge(reading, number, capture, among, named=message is not None)
        for number, capture in enumerate(captures, 1)
    ]
    if format_ is Format.JSON:
        print_json([verdict_json(verdict) for verdict in verdicts])
    else:
        out = console()
        for verdict in verdicts:
            print_verdict(out, verdict, spec.releases)
    if any(verdict.kind != "exact" for verdict in verdicts):
        raise typer.Exit(FOUND)


def _among(
    spec: Spec,
    backend: str | None,
    message: str | None,
    release: str | None,
    layout: str | None,
) -> list[Candidate]:
    choose("backend", backend, [each.name for each in spec.backends])
    choose("release", release, spec.releases)
    if message is not None and not list(spec.find(message)):
        known = sorted({each.name for each in spec.messages})
        fail(f"no message {message!r}{did_you_mean(message, known)} (known: {', '.join(known)})")
    among = candidates(spec, backend=backend, message=message, release=release, layout=layout)
    if not among:
        given = (
            ("backend", backend),
            ("message", message),
            ("release", release),
            ("layout", layout),
        )
        told = ", ".join(f"{word} {value}" for word, value in given if value is not None)
        fail(f"no layout with {told}; `pdwire show` lists what there is")
    return among


def _captures(file: Path | None) -> list[Capture]:
    from_stdin = file is None or str(file) == "-"
    if from_stdin and sys.stdin.isatty():
        remark("pdwire: reading frames from the terminal; an empty line ends a message, Ctrl-D all")
    try:
        raw = sys.stdin.buffer.read() if from_stdin else Path(file or "").read_bytes()
    except OSError as error:
        fail(f"{file}: {error.strerror}")
    try:
        found = parse(raw)
    except CaptureError as error:
        fail(f"{'stdin' if from_stdin else file}: {error}")
    if not found:
        fail(f"{'stdin' if from_stdin else file}: no frames in it")
    return found
