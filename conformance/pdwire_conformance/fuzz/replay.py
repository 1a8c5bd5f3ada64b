"""``pdwire replay FILE…``: does a finding still show?

Rules: FIXED when the property holds for the file's sample, FAILED when it does not, ERROR
when the file is no finding or its target cannot be asked. Exit 0 when all are FIXED, 1 when
one FAILED, 2 when one is an ERROR.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from pdwire.cli.console import FOUND, USAGE, Format, Formatted, console, print_json
from pdwire.errors import UnknownLayoutError
from pdwire.strategies.subjects import subject
from pdwire_conformance.testees.protocol import TesteeError

from .findings import Finding, FindingError, read_finding
from .machines import machines
from .plan import Cell
from .properties import PROPERTIES
from .run import context_of, open_sides
from .samples import Problem

__all__ = ["Replayed", "Verdict", "command", "replay"]

SCHEMA: Final = "pdwire.replay/1"
_TIMES: Final = 3
"""How often a script is played on live managers: what it shows may depend on timing."""


class Verdict(StrEnum):
    """What became of a finding."""

    FIXED = "FIXED"
    FAILED = "FAILED"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A finding tried again; ``text`` says why it is no longer FIXED."""

    file: Path
    verdict: Verdict
    text: str = ""


def command(
    files: Annotated[list[Path], typer.Argument(help="Files that pdwire fuzz wrote.")],
    *,
    target: Annotated[str, typer.Option(help="Ask this target instead of the file's.")] = "",
    format_: Formatted = Format.TABLE,
) -> None:
    """Try findings of pdwire fuzz again."""
    results = [replay(file, target) for file in files]
    if format_ is Format.JSON:
        print_json({"schema": SCHEMA, "replayed": [_as_json(each) for each in results]})
    else:
        for each in results:
            console().print(f"{each.verdict:6} {each.file}", soft_wrap=True)
            if each.text:
                console().print(f"       {each.text}", soft_wrap=True)
    raise typer.Exit(_code(results))


def _as_json(each: Replayed) -> dict[str, Any]:
    return {"file": str(each.file), "verdict": each.verdict, "text": each.text}


def _code(results: Sequence[Replayed]) -> int:
    verdicts = {each.verdict for each in results}
    if Verdict.ERROR in verdicts:
        return USAGE
    return FOUND if Verdict.FAILED in verdicts else 0


def replay(file: Path, target: str = "") -> Replayed:
    """Try one finding again; ``target`` is asked instead of the file's."""
    try:
        _try(read_finding(file), target)
    except Problem as problem:
        return Replayed(file=file, verdict=Verdict.FAILED, text=str(problem))
    except (FindingError, TesteeError, UnknownLayoutError) as fault:
        return Replayed(file=file, verdict=Verdict.ERROR, text=str(fault))
    return Replayed(file=file, verdict=Verdict.FIXED)


def _try(finding: Finding, target: str) -> None:
    """Hold the property against the sample.

    Raises:
        Problem: it does not hold.
        FindingError: there is no such property.
    """
    live = machines()
    if finding.prop in live.names:
        for _ in range(_TIMES):
            live.check(Cell(prop=finding.prop, backend=finding.backend), finding.sample)
        return
    if finding.prop not in PROPERTIES:
        told = ", ".join((*PROPERTIES, *live.names))
        raise FindingError(f"no property {finding.prop!r} (known: {told})")
    chosen = subject(finding.backend, finding.message, revision=finding.layout)
    cell = Cell(prop=finding.prop, backend=finding.backend, release=finding.release, subject=chosen)
    with ExitStack() as stack:
        sides = open_sides(stack, target or finding.target, finding.against)
        PROPERTIES[finding.prop].check(context_of(cell, sides), finding.sample)
