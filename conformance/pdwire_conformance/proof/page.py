"""The results page: ``docs/verified.md``, written from the results alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from .results import Proof, Result

__all__ = ["page"]

_HEAD = """# What was proved against real releases

Written by `pdwire verify --all --write`; do not edit. For each published SGLang release its own,
unmodified encoders and decoders ran in a process of their own, against the generated codecs:

* **peer → ours**: the release encodes drawn values; our decoder reads the same values, our encoder
  gives back the same bytes, and where the release has a decoder it reads what ours reads;
* **ours → peer**: our encoder encodes drawn values; the release's decoder reads what ours reads.

Values are compared field by field. Among them are empty lists, numbers at both ends of their range,
pointers with bit 63 set, room 0 and 2^63-1, IPv6 with and without scope, and index arrays of
131,072 items. A cell says how many values were compared, and how many differed if any did; `-`
means that the release has no such code or that it could not be run, and the notes below say why.
"""


def page(proof: Proof, releases: Iterable[str]) -> str:
    """The page's Markdown."""
    parts = [_HEAD, _summary(proof, list(releases))]
    for backend in dict.fromkeys(result.backend for result in proof.results):
        rows = [result for result in proof.results if result.backend == backend]
        parts.append(_backend(backend, rows, list(releases)))
    return "\n".join(parts)


def _summary(proof: Proof, releases: list[str]) -> str:
    lines = ["## Releases", "", "| release | values | differed | SHA-256 of the wheel |"]
    lines.append("|---|--:|--:|---|")
    for release in releases:
        rows = [result for result in proof.results if result.release == release]
        if rows:
            values, failed = sum(r.values for r in rows), sum(r.failed for r in rows)
            lines.append(f"| {release} | {values:,} | {failed} | `{proof.wheels[release][:16]}…` |")
        else:
            lines.append(f"| {release} | not run | | |")
    return "\n".join([*lines, ""])


def _backend(backend: str, rows: list[Result], releases: list[str]) -> str:
    lines = [f"## {backend}", ""]
    for message in dict.fromkeys(row.message for row in rows):
        own = [row for row in rows if row.message == message]
        lines += [
            f"### {backend} {message}",
            "",
            "| release | layout | peer → ours | ours → peer |",
        ]
        lines.append("|---|---|--:|--:|")
        by_release: dict[str, dict[str, Result]] = defaultdict(dict)
        for row in own:
            by_release[row.release][row.direction] = row
        for release in (r for r in releases if r in by_release):
            ways = by_release[release]
            layout = next(iter(ways.values())).layout
            cells = [_cell(ways.get(way)) for way in ("peer-to-ours", "ours-to-peer")]
            lines.append(f"| {release} | {layout} | {cells[0]} | {cells[1]} |")
        lines += ["", *_reasons(own)]
    return "\n".join(lines)


def _cell(result: Result | None) -> str:
    if result is None or result.reason is not None:
        return "-"
    return f"{result.values}" + (f", **{result.failed} differ**" if result.failed else "")


def _reasons(rows: list[Result]) -> list[str]:
    found: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.reason is not None:
            arrow = row.direction.replace("-to-", " → ")
            found[f"{arrow}: {row.reason.removeprefix(f'{row.release}: ')}"].append(row.release)
    lines = [f"* {reason} ({_span(releases)})" for reason, releases in found.items()]
    return [*lines, ""] if lines else []


def _span(releases: list[str]) -> str:
    return releases[0] if len(releases) == 1 else f"{releases[0]} … {releases[-1]}"
