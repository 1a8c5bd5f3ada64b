"""``pdwire interop``: hand KV over between our managers and a release's real ones.

Exit 0 when every byte compared was equal, 1 when something failed or could not be run, 2
for wrong usage. Progress goes to stderr, and only on a terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pdwire.cli.console import FOUND, Format, Formatted, choose, console, fail, print_json
from pdwire.wire.table import ORDER

from .cases import CASES, QUICK
from .fleet import run_fleet
from .options import BACKENDS, OURS
from .page import keep
from .report import show
from .results import Result, as_json
from .run import Pair, run_pair
from .topologies import BY_NAME, EQUAL

__all__ = ["command"]

_NOTE = Console(stderr=True)
_ALL = "all"


def command(
    targets: Annotated[
        list[str] | None, typer.Argument(help="Releases: sglang==0.5.19 …; default: the newest.")
    ] = None,
    *,
    backend: Annotated[
        list[str] | None, typer.Option(help="mooncake or nixl; default: both.")
    ] = None,
    topology: Annotated[
        list[str] | None, typer.Option(help=f"Layouts of ranks, or 'all'; default: {EQUAL.name}.")
    ] = None,
    case: Annotated[
        list[str] | None, typer.Option(help="Only these cases, or 'all', kills too.")
    ] = None,
    all_releases: Annotated[bool, typer.Option("--all", help="Every release.")] = False,
    fleet: Annotated[
        bool, typer.Option("--fleet", help="One prefill of ours serves all targets at once.")
    ] = False,
    theirs: Annotated[
        bool, typer.Option("--theirs", help="Both sides theirs: what the release itself can do.")
    ] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Keep the results and write docs/interop.md.")
    ] = False,
    root: Annotated[Path, typer.Option(help="The project's root, for --write.")] = Path(),
    format_: Formatted = Format.TABLE,
) -> None:
    """Hand KV cache over between our managers and a real SGLang release's, both directions."""
    releases = list(ORDER) if all_releases else [_release(each) for each in targets or [ORDER[-1]]]
    backends = _chosen("backend", backend, BACKENDS, BACKENDS)
    topologies = _chosen("topology", topology, tuple(BY_NAME), (EQUAL.name,))
    cases = _chosen("case", case, tuple(CASES), QUICK)
    if fleet and theirs:
        fail("--fleet has a prefill of ours, --theirs has none")
    pairs = [
        Pair(backend=engine, prefill=prefill, decodes=(decode,), topology=BY_NAME[name])
        for engine in backends
        for release in releases
        for prefill, decode in _directions(release, theirs=theirs)
        for name in topologies
    ]
    running = _fleets(backends, releases) if fleet else _pairs(pairs, cases)
    results = list(running)
    if write:
        keep(root, results)
    if format_ is Format.JSON:
        print_json(as_json(results))
    else:
        show(results, console())
    if any(result.failed for result in results):
        raise typer.Exit(FOUND)


def _release(target: str) -> str:
    name = target.removeprefix("sglang==")
    choose("release", name, ORDER)
    return name


def _chosen(
    what: str, came: list[str] | None, known: tuple[str, ...], default: tuple[str, ...]
) -> tuple[str, ...]:
    if came is None:
        return default
    if came == [_ALL]:
        return known
    for each in came:
        choose(what, each, known)
    return tuple(dict.fromkeys(came))


def _directions(release: str, *, theirs: bool) -> list[tuple[str, str]]:
    return [(release, release)] if theirs else [(release, OURS), (OURS, release)]


def _pairs(pairs: list[Pair], cases: tuple[str, ...]) -> Iterator[Result]:
    for pair in pairs:
        said = f"{pair.backend}: {pair.prefill} → {', '.join(pair.decodes)}, {pair.topology.name}"
        yield from _telling(said, run_pair(pair, cases))


def _fleets(backends: tuple[str, ...], releases: list[str]) -> Iterator[Result]:
    for backend in backends:
        said = f"{backend}: one prefill, decode sides {', '.join(releases)}"
        yield from _telling(said, run_fleet(backend, releases))


def _telling(what: str, results: Iterator[Result]) -> Iterator[Result]:
    """Say on a terminal what is running."""
    if not _NOTE.is_terminal:
        yield from results
        return
    with _NOTE.status(f"{what} …") as status:
        for result in results:
            status.update(f"{what}: {result.case} {result.verdict}")
            yield result
