"""The verb ``pdwire bench``: what it takes and how it answers. Exit 0, 2 for wrong usage.

A slow row is a finding for whoever reads it, not an exit code: time is never a test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Annotated

import typer
from rich.console import Console

from pdwire.cli.console import Format, Formatted, choose, console, print_json
from pdwire.wire import releases
from pdwire_conformance.bench.measure import Plan
from pdwire_conformance.bench.report import as_json, show
from pdwire_conformance.bench.run import measure
from pdwire_conformance.bench.sick import Turn, measure_sick, sick_json
from pdwire_conformance.bench.staging import TOKENS, measure_staging, ratio
from pdwire_conformance.bench.transfer import Measured, measure_case, sizes
from pdwire_conformance.bench.transfer_report import transfer_json, transfer_show

__all__ = ["command"]

RELEASES = releases("mooncake")
_FULL = Plan(turns=101, seconds=0.001)
_QUICK = Plan(turns=5, seconds=0.0005)

command = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@command.callback()
def bench() -> None:
    """Side-by-side measurements."""


@command.command("codec")
def codec(
    *,
    release: Annotated[str, typer.Option(help="The SGLang release to measure against.")] = "0.5.19",
    quick: Annotated[
        bool, typer.Option("--quick", help="A few seconds; too short for conclusions.")
    ] = False,
    format_: Formatted = Format.TABLE,
) -> None:
    """Encode and decode beside a real SGLang release, construct and msgpack, in turns."""
    choose("release", release, RELEASES)
    with _progress() as tell:
        result = measure(release, _QUICK if quick else _FULL, tell=tell)
    if format_ is Format.JSON:
        print_json(as_json(result))
    else:
        show(result, console())


@command.command("transfer")
def transfer(
    *,
    backend: Annotated[
        list[str] | None, typer.Option(help="mooncake, nixl; default: both.")
    ] = None,
    release: Annotated[str, typer.Option(help="The SGLang release to measure against.")] = RELEASES[
        -1
    ],
    turns: Annotated[int, typer.Option(min=1, help="Turns that count.")] = 5,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and smaller cases.")] = False,
    format_: Formatted = Format.TABLE,
) -> None:
    """Move KV cache beside a real release's managers and the bare engine, in turns."""
    choose("release", release, RELEASES)
    chosen = backend or ["mooncake", "nixl"]
    for name in chosen:
        choose("backend", name, ("mooncake", "nixl"))
    measured: dict[str, list[Measured]] = {}
    with _progress() as tell:
        for name in chosen:
            measured[name] = [
                measure_case(name, case, release=release, turns=turns, say=tell)
                for case in sizes(quick=quick)
            ]
    if format_ is Format.JSON:
        print_json(transfer_json(release, measured))
    else:
        transfer_show(release, measured, console())


@command.command("staging")
def staging(
    *,
    backend: Annotated[
        list[str] | None, typer.Option(help="mooncake, nixl; default: both.")
    ] = None,
    turns: Annotated[int, typer.Option(min=1, help="Turns that count.")] = 5,
    format_: Formatted = Format.TABLE,
) -> None:
    """Hand over TP 2 to 1 with pages of one token, through the staging ring and by slices."""
    found: dict[str, dict[str, list[float]]] = {}
    with _progress() as tell:
        for name in backend or ["mooncake", "nixl"]:
            choose("backend", name, ("mooncake", "nixl"))
            found[name] = measure_staging(name, turns=turns, say=tell)
    if format_ is Format.JSON:
        print_json({"schema": "pdwire.bench.staging/1", "tokens": TOKENS, "seconds": found})
        return
    for name, seconds in found.items():
        told = ", ".join(f"{side} {median(each):.3f} s" for side, each in seconds.items())
        console().print(f"{name}: {told}; slices take {ratio(seconds):.1f} times as long")


@command.command("sick")
def sick(
    *,
    backend: Annotated[
        list[str] | None, typer.Option(help="mooncake, nixl; default: both.")
    ] = None,
    turns: Annotated[int, typer.Option(min=1, help="Turns that count.")] = 5,
    seconds: Annotated[float, typer.Option(min=0.5, help="Of each half of a turn.")] = 5.0,
    healthy: Annotated[int, typer.Option(min=1, help="Decode ranks beside the sick one.")] = 8,
    silent: Annotated[
        bool, typer.Option(help="They ask a bootstrap server that never answers, too.")
    ] = True,
    format_: Formatted = Format.TABLE,
) -> None:
    """What one stopped decode rank of nine costs the other eight, in turns."""
    chosen = backend or ["mooncake", "nixl"]
    for name in chosen:
        choose("backend", name, ("mooncake", "nixl"))
    measured: dict[str, list[Turn]] = {}
    with _progress() as tell:
        for name in chosen:
            measured[name] = measure_sick(
                name, turns=turns, seconds=seconds, healthy=healthy, silent=silent, say=tell
            )
    told = sick_json(measured)
    if format_ is Format.JSON:
        print_json(told)
        return
    for row in told["rows"]:
        console().print(
            f"{row['backend']}: beside a stopped decode rank {healthy} others keep "
            f"{row['rate_kept']:.0%} of their requests per second and {row['p99_kept']:.0%} of "
            f"their 99th percentile; {row['failed']} failed"
        )


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """A spinner on stderr, on a terminal only."""
    screen = Console(stderr=True)
    if not screen.is_terminal:
        yield lambda _: None
        return
    with screen.status("Starting …") as status:
        yield status.update
