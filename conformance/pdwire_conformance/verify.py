"""``pdwire verify``: the proof against real releases, as a command.

Exit 0 when everything compared is equal, 1 when something differs or a release could
not be run, 2 for wrong usage. Progress goes to stderr, and only on a terminal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from pdwire.wire.table import ORDER
from pdwire_conformance.peers.client import Peer
from pdwire_conformance.peers.errors import PeerUnavailable
from pdwire_conformance.peers.wheels import fetch
from pdwire_conformance.proof.check import check_release
from pdwire_conformance.proof.page import page
from pdwire_conformance.proof.record import record_release, write_vectors
from pdwire_conformance.proof.results import Proof, Result, read_proof, write_proof

__all__ = ["command"]

_NOTE = Console(stderr=True)


class Format(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"


def command(
    releases: Annotated[
        list[str] | None, typer.Argument(help="Releases, 0.5.19 …; default: the newest.")
    ] = None,
    *,
    all_releases: Annotated[bool, typer.Option("--all", help="Every release.")] = False,
    values: Annotated[int, typer.Option(min=1, help="Values per message and direction.")] = 200,
    seed: Annotated[int, typer.Option(help="Another seed draws other values.")] = 0,
    message: Annotated[str | None, typer.Option(help="Only this message.")] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Write docs/verified.md and src/pdwire/wire_proof.json.")
    ] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Write the recorded vectors instead of comparing.")
    ] = False,
    root: Annotated[Path, typer.Option(help="The project's root, for --write.")] = Path(),
    format_: Annotated[Format, typer.Option("--format", help="Text or JSON.")] = Format.TABLE,
) -> None:
    """Run real SGLang releases against the generated codecs, both directions."""
    chosen = _chosen(releases or [], everything=all_releases)
    if write and message is not None:
        _usage("--write takes whole releases, not one --message")
    if record:
        raise typer.Exit(_record(chosen, seed))
    kept = root / "src" / "pdwire" / "wire_proof.json"
    proof = read_proof(kept) if write else Proof()
    failed, unavailable = 0, list[str]()
    for release in chosen:
        try:
            results, sha256 = _verify(release, values, seed, message)
        except PeerUnavailable as reason:
            unavailable.append(f"{release}: {reason}")
            continue
        proof.replace(release, results, sha256)
        failed += sum(result.failed for result in results)
    if write:
        write_proof(kept, proof, list(ORDER))
        (root / "docs" / "verified.md").write_text(page(proof, ORDER), encoding="utf-8")
    shown = [result for result in proof.results if result.release in chosen]
    _show(shown, unavailable, format_)
    raise typer.Exit(1 if failed or unavailable else 0)


def _chosen(releases: list[str], *, everything: bool) -> list[str]:
    if everything:
        return list(ORDER)
    for release in releases:
        if release not in ORDER:
            _usage(f"unknown release {release!r} (known: {', '.join(ORDER)})")
    return releases or [ORDER[-1]]


def _usage(text: str) -> None:
    _NOTE.print(f"pdwire verify: {text}", markup=False)
    raise typer.Exit(2)


def _verify(release: str, values: int, seed: int, message: str | None) -> tuple[list[Result], str]:
    wheel = fetch(release)
    with Peer(release) as peer:
        return list(_told(release, check_release(peer, values=values, seed=seed, only=message))), (
            wheel.sha256
        )


def _told(release: str, results: Iterator[Result]) -> Iterator[Result]:
    """Say on a terminal what is being compared."""
    if not _NOTE.is_terminal:
        yield from results
        return
    with _NOTE.status(f"{release} …") as status:
        for result in results:
            status.update(f"{release} {result.backend} {result.message}")
            yield result


def _record(releases: list[str], seed: int) -> int:
    missing = 0
    for release in releases:
        try:
            wheel = fetch(release)
            with Peer(release) as peer:
                vectors = list(record_release(peer, seed + 1))
        except PeerUnavailable as reason:
            _NOTE.print(f"{release}: {reason}", markup=False)
            missing += 1
            continue
        path = write_vectors(release, wheel.sha256, vectors)
        _NOTE.print(f"{path.name}: {len(vectors)} vectors, {path.stat().st_size:,} bytes")
    return 1 if missing else 0


def _show(results: list[Result], unavailable: list[str], format_: Format) -> None:
    if format_ is Format.JSON:
        rows = [asdict(result) for result in results]
        body = {"schema": "pdwire.verify/1", "results": rows, "unavailable": unavailable}
        typer.echo(json.dumps(body, indent=1, ensure_ascii=False))
        return
    table = Table("release", "messages", "values", "differed", "not run")
    for release in dict.fromkeys(result.release for result in results):
        own = [result for result in results if result.release == release]
        table.add_row(
            release,
            str(len({(r.backend, r.message) for r in own if r.values})),
            f"{sum(r.values for r in own):,}",
            str(sum(r.failed for r in own)),
            str(sum(1 for r in own if r.reason)),
        )
    out = Console()
    out.print(table)
    for result in results:
        for fault in result.faults:
            where = f"{result.release} {result.backend} {result.message} {result.layout}"
            out.print(f"{where} {result.direction}: {fault}", markup=False)
    for reason in unavailable:
        out.print(f"not run: {reason}", markup=False)
