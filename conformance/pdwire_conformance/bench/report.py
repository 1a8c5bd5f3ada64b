"""What ``pdwire bench codec`` shows: a table, what it stands on, and one line at the end.

Rules: the JSON form (``pdwire.bench.codec/1``, ``docs/schema/bench-codec.schema.json``) is
stable; the tables are for people. A ratio says how many times as long as pdwire a side
takes: above 1 pdwire is the faster one.
"""

from __future__ import annotations

import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from pdwire_conformance.bench.measure import Spread, Timing, ratio
from pdwire_conformance.bench.run import PEER, Bench, Row

__all__ = ["SCHEMA", "as_json", "show", "standing", "verdict"]

SCHEMA = "pdwire.bench.codec/1"
_OURS = "pdwire"
_OTHERS = ("construct", "msgpack", "msgpack-raw")


def as_json(bench: Bench) -> dict[str, Any]:
    """The run as one JSON object."""
    return {
        "schema": SCHEMA,
        "release": bench.release,
        "peer_reason": bench.peer_reason,
        "wheel_sha256": bench.wheel_sha256,
        "machine": _machine(),
        "plan": asdict(bench.plan),
        "rows": [_row_json(row) for row in bench.rows],
        "skipped": [asdict(each) for each in bench.skipped],
        "memory": [asdict(each) for each in bench.memory],
        "slower": [_name(row) for row in standing(bench)["slower"]],
        "undecided": [_name(row) for row in standing(bench)["undecided"]],
        "verdict": verdict(bench),
    }


def _machine() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpu": _cpu(),
        "cores": os.cpu_count() or 0,
    }


def _cpu() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())


def _row_json(row: Row) -> dict[str, Any]:
    return {
        "case": row.case.name,
        "backend": row.backend,
        "message": row.case.message,
        "layout": row.layout,
        "direction": row.direction,
        "frame_bytes": row.frame_bytes,
        "peer_runs": row.peer_runs,
        "same_frames": row.same_frames,
        "sides": [_side_json(timing, row.timings[_OURS]) for timing in row.timings.values()],
    }


def _side_json(timing: Timing, ours: Timing) -> dict[str, Any]:
    return {
        "name": timing.name,
        "turns": len(timing.turns),
        "calls": timing.calls,
        "overhead_ns": round(timing.overhead, 1),
        "ns": _rounded(timing.spread, 1),
        "ratio": _rounded(ratio(timing, ours), 3) | {"best": round(timing.best / ours.best, 3)},
    }


def _rounded(spread: Spread, digits: int) -> dict[str, float]:
    return {name: round(value, digits) for name, value in asdict(spread).items()}


def standing(bench: Bench) -> dict[str, list[Row]]:
    """Rows with a peer: ``faster``, ``slower`` or, where median and best differ, ``undecided``."""
    found: dict[str, list[Row]] = {"faster": [], "slower": [], "undecided": []}
    for row in bench.rows:
        if (theirs := row.timings.get(PEER)) is None:
            continue
        ours = row.timings[_OURS]
        ahead = {ratio(theirs, ours).median >= 1, theirs.best >= ours.best}
        found["undecided" if len(ahead) > 1 else "faster" if True in ahead else "slower"].append(
            row
        )
    return found


def _name(row: Row) -> str:
    return f"{row.backend} {row.case.name} {row.direction}"


def verdict(bench: Bench) -> str:
    """The last line."""
    found = standing(bench)
    total = sum(map(len, found.values()))
    if not total:
        return f"No peer to compare with: {bench.peer_reason or 'it took part in no row'}."
    told = [f"Faster than SGLang {bench.release} in {len(found['faster'])} of {total} rows"]
    told += [
        f"{word} in {', '.join(map(_name, found[word]))}"
        for word in ("slower", "undecided")
        if found[word]
    ]
    decoded = [
        f"{row.backend} {row.timings[PEER].best / row.timings[_OURS].best:.1f}x"
        for rows in found.values()
        for row in rows
        if (row.case.name, row.direction) == ("registration-160", "decode")
    ]
    return (
        "; ".join(told + ([f"registration decoded: {', '.join(decoded)}"] if decoded else [])) + "."
    )


def show(bench: Bench, console: Console) -> None:
    """Write the run for a person."""
    machine = _machine()
    console.print(
        f"Python {machine['python']}, {machine['cpu'] or machine['system']}, "
        f"{machine['cores']} cores; {bench.plan.turns} turns of "
        f"{bench.plan.seconds * 1e3:g} ms a side. Microseconds a call, medians; ratio: SGLang's "
        "time to ours, median, lowest and highest turn, and of both sides' best turns; msgpack "
        "with arrays as lists, and raw, as bytes."
    )
    if bench.peer_reason:
        console.print(f"Without SGLang {bench.release}: {bench.peer_reason}.")
    for backend in dict.fromkeys(row.backend for row in bench.rows):
        console.print(_table(bench, backend))
    for each in bench.skipped:
        console.print(f"Left out: {each.backend} {each.case}: {each.reason}.")
    for seen in bench.memory:
        how = "a view of the frame" if seen.shares_memory else "a copy"
        console.print(
            f"{seen.backend}: 131,072 decoded indices are {how}; decoding their "
            f"{seen.array_bytes:,} bytes allocated {seen.peak_bytes:,}."
        )
    console.print(verdict(bench))


def _table(bench: Bench, backend: str) -> Table:
    table = Table(title=f"{backend}, SGLang {bench.release}", title_justify="left")
    table.add_column("", no_wrap=True)
    for heading in (_OURS, "SGLang", "ratio", "low–high", "best", "construct", "msgpack", "raw"):
        table.add_column(heading, justify="right", no_wrap=True)
    for direction in ("decode", "encode"):
        table.add_row(direction, style="bold")
        for row in bench.rows:
            if row.backend == backend and row.direction == direction:
                table.add_row(*_cells(row))
        table.add_section()
    return table


def _cells(row: Row) -> list[str]:
    ours, theirs = row.timings[_OURS], row.timings.get(PEER)
    compared = ["", "", "", ""]
    if theirs is not None:
        spread = ratio(theirs, ours)
        compared = [
            _micro(theirs),
            f"{spread.median:.2f}",
            f"{spread.low:.2f}–{spread.high:.2f}",
            f"{theirs.best / ours.best:.2f}",
        ]
    others = [_micro(row.timings[name]) for name in _OTHERS]
    return [f" {row.case.title}", _micro(ours), *compared, *others]


def _micro(timing: Timing) -> str:
    micro = timing.spread.median / 1e3
    return f"{micro:,.0f}" if micro >= 100 else f"{micro:.2f}"
