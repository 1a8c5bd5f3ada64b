"""``docs/interop.md``: what was measured, written from the kept results and never by hand.

Rules:

* The kept results (``measured.json`` beside this file) hold one verdict per pair, topology
  and case; a new run of a pair replaces what was kept of it.
* A cell of the page says both directions; a reason stands once, with all it holds for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from pdwire.wire.table import ORDER

from .cases import CASES
from .options import BACKENDS, OURS
from .results import Result
from .topologies import TOPOLOGIES

MEASURED = Path("conformance/pdwire_conformance/interop/measured.json")
PAGE = Path("docs/interop.md")

_HEAD = """\
# Interoperation with real SGLang releases

Written by `pdwire interop --write` from what was measured; do not edit.

`pdwire interop sglang==VERSION --backend mooncake|nixl` runs the real, unmodified manager of a
release and ours, each in its own process on its real engine, hands KV over in both directions
and compares every byte by digest. A release's manager needs no GPU for that: what it reads from
the rest of SGLang is answered by plain values, the memory is the host's. Where a release asks
the hardware for something, the engine underneath is told otherwise, and nothing else changes:
Mooncake up to 0.5.8 asks for RDMA and gets TCP; NIXL up to 0.5.14, and later ones for other
topologies than one rank each, say `VRAM` and get `DRAM`.

| case | what has to hold |
|---|---|
"""

_AFTER = """
Results: ✓ both directions passed, every byte equal; ↓ only theirs → ours; ↑ only ours → theirs;
✗ failed; – not run, for the reason below; empty: not tried. Real releases are also run against
themselves (`--theirs`): what fails there is not asked of ours.
"""


def keep(root: Path, results: Sequence[Result]) -> None:
    """Merge results into the kept ones and write the page."""
    kept = read(root / MEASURED)
    renewed = {(row.backend, row.prefill, row.decode, row.topology) for row in results}
    merged = [row for row in kept if _pair(row) not in renewed] + list(results)
    merged.sort(key=_order)
    lines = ",\n".join(json.dumps(asdict(row), ensure_ascii=False) for row in merged)
    (root / MEASURED).write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    (root / PAGE).write_text(page(merged), encoding="utf-8")


def read(path: Path) -> list[Result]:
    """The kept results; none when there is no file."""
    if not path.is_file():
        return []
    return [Result(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


def page(results: Sequence[Result]) -> str:
    """The whole page."""
    cases = "".join(f"| {name} | {_first_line(case.__doc__)} |\n" for name, case in CASES.items())
    parts = [_HEAD, cases, "\n| ranks | what they are |\n|---|---|\n"]
    parts += [f"| {each.name} | {each.doc} |\n" for each in TOPOLOGIES]
    parts.append(_AFTER)
    for backend in BACKENDS:
        own = [row for row in results if row.backend == backend and "+" not in row.decode]
        parts += [f"\n## {backend.capitalize()}\n\n", _matrix(own), _reasons(own)]
    parts += ["\n## Mixed fleets\n\n", _fleets(results)]
    return "".join(parts)


def _matrix(rows: Sequence[Result]) -> str:
    names = [each.name for each in TOPOLOGIES]
    told = [f"| release | {' | '.join(names)} |\n", f"|---|{'---|' * len(names)}\n"]
    for release in reversed(ORDER):
        cells = [_cell(rows, release, name) for name in names]
        if any(cells):
            told.append(f"| {release} | {' | '.join(cells)} |\n")
    return "".join(told)


def _cell(rows: Sequence[Result], release: str, topology: str) -> str:
    own = [row for row in rows if row.topology == topology]
    down = _verdict(row for row in own if (row.prefill, row.decode) == (release, OURS))
    up = _verdict(row for row in own if (row.prefill, row.decode) == (OURS, release))
    if "failed" in {down, up}:
        return {("passed", "failed"): "↓", ("failed", "passed"): "↑"}.get((down, up), "✗")
    return {"passed": "✓", "not run": "–", "": ""}[down or up]


def _verdict(rows: Iterable[Result]) -> str:
    verdicts = {row.verdict for row in rows}
    for verdict in ("failed", "passed", "not run"):
        if verdict in verdicts:
            return verdict
    return ""


def _reasons(rows: Sequence[Result]) -> str:
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.reason and OURS in {row.prefill, row.decode}:
            release = row.decode if row.prefill == OURS else row.prefill
            what = row.topology if row.case in {"all", "start"} else row.case
            reasons.setdefault(f"{what}: {row.reason}", []).append(release)
    told = [f"- {text} ({_span(releases)})\n" for text, releases in reasons.items()]
    return "\n" + "".join(told) if told else ""


def _span(releases: Sequence[str]) -> str:
    found = sorted(set(releases), key=ORDER.index)
    known = ORDER[ORDER.index(found[0]) : ORDER.index(found[-1]) + 1]
    whole = len(found) > 1 and list(known) == found
    return f"{found[0]}–{found[-1]}" if whole else ", ".join(found)


def _fleets(results: Sequence[Result]) -> str:
    told = ["One prefill of ours serves decode sides of several releases at once.\n\n"]
    told += ["| engine | decode sides | case | result |\n|---|---|---|---|\n"]
    for row in results:
        if "+" in row.decode:
            sides = row.decode.replace("+", ", ")
            result = "passed" if row.verdict == "passed" else f"{row.verdict}: {row.reason}"
            told.append(f"| {row.backend} | {sides} | {row.case} | {result} |\n")
    return "".join(told)


def _pair(row: Result) -> tuple[str, str, str, str]:
    return row.backend, row.prefill, row.decode, row.topology


def _order(row: Result) -> tuple[str, int, int, int, int, str]:
    names = [each.name for each in TOPOLOGIES]
    first = row.decode.partition("+")[0]
    return (
        row.backend,
        _index(row.prefill),
        _index(first),
        row.decode.count("+"),
        names.index(row.topology),
        row.case,
    )


def _index(release: str) -> int:
    return ORDER.index(release) if release in ORDER else len(ORDER)


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]
