"""What a run found, as a table or as JSON (``pdwire.fuzz/1``, ``docs/schema/fuzz.schema.json``).

Rules: what the run had no time for is named, and then nobody says only that nothing was
found. The JSON of several parts of one run merges into the JSON of the run; a cause that
two parts found is told once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from .findings import Finding, replay_command
from .hunt import Tally
from .run import Result

__all__ = ["SCHEMA", "as_json", "merge", "show"]

SCHEMA: Final = "pdwire.fuzz/1"
Json = dict[str, Any]


def as_json(result: Result, paths: Sequence[Path]) -> Json:
    """A result; ``paths`` are the findings' files, in their order."""
    return {
        "schema": SCHEMA,
        "target": result.target,
        "seed": result.seed,
        "seconds": round(result.seconds, 2),
        "cells": result.cells,
        "turns": result.turns,
        "interrupted": result.interrupted,
        "properties": [
            {**_tally(name, tally), "places": len(result.places[name])}
            for name, tally in sorted(result.tallies.items())
        ],
        "messages": [_tally(name, tally) for name, tally in sorted(result.messages.items())],
        "not_reached": _not_reached(result.places),
        "findings": [
            _finding(finding, path) for finding, path in zip(result.findings, paths, strict=True)
        ],
    }


def _not_reached(places: Mapping[str, Mapping[str, int]]) -> list[Json]:
    """Properties with the places that no example was tried at."""
    lacking = {
        prop: sorted(place for place, examples in each.items() if not examples)
        for prop, each in places.items()
    }
    return [{"property": prop, "places": found} for prop, found in sorted(lacking.items()) if found]


def _tally(name: str, tally: Tally) -> Json:
    return {
        "name": name,
        "examples": tally.examples,
        "wall_s": round(tally.wall_s, 3),
        "check_s": round(tally.seconds, 4),
        "examples_per_s": _rate(tally.examples, tally.wall_s),
        "checks_per_s": _rate(tally.examples, tally.seconds),
    }


def _rate(count: int, seconds: float) -> int:
    return round(count / seconds) if seconds > 0 else 0


def _finding(finding: Finding, path: Path) -> Json:
    names = ("backend", "message", "layout", "release", "cause", "expected", "came")
    return {
        "property": finding.prop,
        **{name: getattr(finding, name) for name in names},
        "found_s": finding.minimal_s,
        "file": str(path),
        "replay": replay_command(path),
    }


def merge(parts: Sequence[Json]) -> Json:
    """The parts of one run, tried at once, as one."""
    first = parts[0]
    found: dict[tuple[str, str], Json] = {}
    for part in parts:
        for finding in part["findings"]:
            found.setdefault((finding["property"], finding["cause"]), finding)
    return {
        **{name: first[name] for name in ("schema", "target", "seed")},
        "seconds": max(part["seconds"] for part in parts),
        "cells": sum(part["cells"] for part in parts),
        "turns": sum(part["turns"] for part in parts),
        "interrupted": any(part["interrupted"] for part in parts),
        "properties": [
            {**each, "places": sum(_places(part, each["name"]) for part in parts)}
            for each in _summed([each for part in parts for each in part["properties"]])
        ],
        "messages": _summed([each for part in parts for each in part["messages"]]),
        "not_reached": _merged(parts),
        "findings": list(found.values()),
    }


def _places(part: Json, prop: str) -> int:
    return sum(each["places"] for each in part["properties"] if each["name"] == prop)


def _merged(parts: Sequence[Json]) -> list[Json]:
    """Parts have different cells: what one did not reach no other was to."""
    found: dict[str, Json] = {}
    for each in (each for part in parts for each in part["not_reached"]):
        name = each["property"]
        sofar = found.setdefault(name, {"property": name, "places": []})
        sofar["places"] = sorted([*sofar["places"], *each["places"]])
    return [found[name] for name in sorted(found)]


def _summed(tallies: Sequence[Mapping[str, Any]]) -> list[Json]:
    sums: dict[str, Tally] = {}
    for each in tallies:
        one = Tally(examples=each["examples"], seconds=each["check_s"], wall_s=each["wall_s"])
        sums.setdefault(each["name"], Tally()).add(one)
    return [_tally(name, tally) for name, tally in sorted(sums.items())]


def show(told: Json, to: Console) -> None:
    """The run for people: rates, then every finding with the line that tries it again."""
    table = Table(title=f"{told['target']}, seed {told['seed']}, {told['seconds']:.0f} s")
    table.add_column("property")
    for heading in ("examples", "per second", "per second without drawing", "findings"):
        table.add_column(heading, justify="right")
    for each in told["properties"]:
        bad = sum(finding["property"] == each["name"] for finding in told["findings"])
        rates = (each["examples"], each["examples_per_s"], each["checks_per_s"])
        table.add_row(each["name"], *(f"{rate:,}" for rate in rates), str(bad or ""))
    to.print(table)
    _show_messages(told, to)
    for finding in told["findings"]:
        to.print()
        to.print(f"{finding['property']}: {finding['cause']} ({_where(finding)})")
        to.print(f"  expected {finding['expected']}", soft_wrap=True)
        to.print(f"  came     {finding['came']}", soft_wrap=True)
        to.print(f"  {finding['replay']}", soft_wrap=True)
    to.print()
    _show_end(told, to)


def _show_end(told: Json, to: Console) -> None:
    """One line for what was found, one for what was never tried."""
    count, lacking = len(told["findings"]), told["not_reached"]
    said = f"{count} finding{'s' if count > 1 else ''}" if count else "nothing found"
    if lacking and not count:
        said += " in what was reached"
    until = "Interrupted; until then: " if told["interrupted"] else ""
    to.print(f"{until}{said}." if until else f"{said[0].upper()}{said[1:]}.")
    if lacking:
        named = "; ".join(_lacking(each, _places(told, each["property"])) for each in lacking)
        to.print(f"Not reached: {named}.", soft_wrap=True)


def _lacking(each: Json, of: int) -> str:
    """``rooms``, or of a property that was tried somewhere ``differential at 14 of 62``."""
    missing = len(each["places"])
    if missing == of:
        return str(each["property"])
    named = ", ".join(each["places"][:2]) + (", …" if missing > 2 else "")
    return f"{each['property']} at {missing} of {of} ({named})"


def _show_messages(told: Json, to: Console) -> None:
    """The slowest messages: what a registration costs, not what an acknowledgement does."""
    slow = sorted(told["messages"], key=lambda each: each["checks_per_s"])[:4]
    if slow:
        rates = ", ".join(f"{each['name']} {each['checks_per_s']:,}" for each in slow)
        to.print(f"Round trips a second without drawing, the slowest: {rates}", soft_wrap=True)


def _where(finding: Json) -> str:
    named = (finding["backend"], finding["layout"], finding["release"])
    return " ".join(part for part in named if part)
