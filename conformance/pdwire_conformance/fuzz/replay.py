"""``pdwire replay FILE…``: does a finding still show?

Rules: FIXED when the property holds for the file's sample, FAILED when it does not, ERROR
when the file is no finding or its target cannot be asked: it cannot be started, it has no
such message in that release, or it skips the question. What was not asked is never FIXED.
Exit 0 when all are FIXED, 1 when one FAILED, 2 when one is an ERROR.
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
from .sides import Asked, Side

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
        FindingError: there is no such property, or the target cannot be asked.
    """
    if finding.prop in machines().names:
        _play(finding, target or finding.target)
        return
    if finding.prop not in PROPERTIES:
        told = ", ".join((*PROPERTIES, *machines().names))
        raise FindingError(f"no property {finding.prop!r} (known: {told})")
    chosen = subject(finding.backend, finding.message, revision=finding.layout)
    cell = Cell(prop=finding.prop, backend=finding.backend, release=finding.release, subject=chosen)
    with ExitStack() as stack:
        sides = open_sides(stack, target or finding.target, finding.against)
        needs = PROPERTIES[finding.prop].needs
        _has(sides.target, finding, needs)
        if sides.against is not None:
            _has(sides.against, finding, ("decode",))
        PROPERTIES[finding.prop].check(context_of(cell, sides), finding.sample)
        if isinstance(sides.target, Asked) and sides.target.skipped:
            raise FindingError(f"{sides.target.target} was not asked: {sides.target.skipped}")


def _play(finding: Finding, target: str) -> None:
    """The same for a script, which only our own managers play."""
    if target != "pdwire":
        raise FindingError(
            f"{finding.prop} plays live managers, which only the target pdwire has; came {target!r}"
        )
    cell = Cell(prop=finding.prop, backend=finding.backend)
    for _ in range(_TIMES):
        machines().check(cell, finding.sample)


def _has(side: Side, finding: Finding, needs: Sequence[str]) -> None:
    """Whether the question can be put at all.

    Raises:
        FindingError: the side does not claim the release, the message or what is asked of it.
    """
    hello, backend, message = side.hello, finding.backend, finding.message
    spoken = hello.releases.get(backend, ())
    if finding.release not in spoken:
        known = f"its {backend} releases: {', '.join(spoken)}" if spoken else f"it has no {backend}"
        raise FindingError(
            f"{side.target} has no {backend} {message} of release {finding.release}; {known}"
        )
    for op in needs:
        has = op in hello.features if op == "recognise" else hello.can(backend, message, op)
        if not has:
            known = ", ".join(hello.messages.get(backend, {}).get(message, ())) or "none"
            raise FindingError(
                f"{side.target} does not {op} {backend} {message} of release {finding.release}"
                f" (operations that it has of it: {known})"
            )
