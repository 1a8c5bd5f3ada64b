"""``pdwire fuzz TARGET``: properties, for as long as one says.

Rules: exit 0 where nothing was found, 1 where something was, 2 for wrong usage or a target
that cannot be started; a run that Ctrl-C ended early tells what it found and ends alike.
Progress is on stderr and only on a terminal. With ``--jobs`` the cells are dealt out to
processes, each of which is this verb with a part of them.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from pdwire.cli.console import FOUND, Format, Formatted, choose, console, fail, print_json, remark
from pdwire.errors import UnknownLayoutError
from pdwire.wire import layout, releases
from pdwire_conformance.proof.spec import load_spec
from pdwire_conformance.testees.protocol import TesteeError

from .findings import Finding, FindingError, check_folder, save
from .interrupts import end, interrupts
from .machines import machines
from .plan import Cell, Choice, cells, cells_of_machines
from .properties import PROPERTIES
from .report import as_json, merge, show
from .run import Result, fuzz, open_sides

__all__ = ["How", "command", "seconds_of"]

_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600}
_BACKENDS: Final = tuple(each["name"] for each in load_spec()["backends"])
_RELEASES: Final = tuple(load_spec()["releases"])
_WHOLE: Final = (0, 1)
"""The one part of a run in one process."""
_PROPERTIES: Final = (*PROPERTIES, *machines().names)


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """What the command line said."""

    target: str
    choice: Choice
    time_s: float
    seed: int
    examples: int
    fail_fast: bool
    out: Path


def command(
    target: Annotated[str, typer.Argument(help="pdwire, sglang==0.5.23, python:…, cmd:…")],
    *,
    time: Annotated[str, typer.Option(help="How long: 90s, 10m, 2h.")] = "1m",
    backend: Annotated[str, typer.Option(help="Only layouts of this backend.")] = "",
    message: Annotated[str, typer.Option(help="Only this message.")] = "",
    property_: Annotated[
        list[str] | None, typer.Option("--property", help="Only this property; repeatable.")
    ] = None,
    release: Annotated[str, typer.Option(help="Only layouts of this release.")] = "",
    against: Annotated[str, typer.Option(help="Compare with this target, sglang==0.5.23.")] = "",
    seed: Annotated[int, typer.Option(help="The same seed draws the same samples.")] = 0,
    examples: Annotated[
        int, typer.Option(min=0, help="At most so many of each property and layout; 0: no limit.")
    ] = 0,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="End with the first finding.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Processes at once.")] = 1,
    out: Annotated[Path, typer.Option(help="Where findings are kept.")] = Path("pdwire-findings"),
    part: Annotated[str, typer.Option(hidden=True)] = "0/1",
    format_: Formatted = Format.TABLE,
) -> None:
    """Try a codec with drawn messages, faults and mutations, and keep what breaks it."""
    how = How(
        target=target,
        choice=_choice(backend, message, release, property_ or [], against),
        time_s=seconds_of(time),
        seed=seed,
        examples=examples,
        fail_fast=fail_fast,
        out=out,
    )
    chosen = _part(part)
    if chosen == _WHOLE:  # of a part the run has seen to it
        _writable(out)
    if jobs > 1:
        told = _dealt(jobs, _words(how))
    else:
        with _progress() as say:
            told = _here(how, chosen, say)
    if format_ is Format.JSON:
        print_json(told)
    else:
        show(told, console())
    raise typer.Exit(FOUND if told["findings"] else 0)


def seconds_of(told: str) -> float:
    """``90``, ``90s``, ``10m`` or ``2h`` in seconds; exits 2 for anything else."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", told)
    if found is None or not float(found[1]):
        fail(f"--time {told!r} is no time; say 90s, 10m or 2h")
    return float(found[1]) * _UNITS[found[2]]


def _choice(
    backend: str, message: str, release: str, properties: Sequence[str], against: str
) -> Choice:
    choose("backend", backend or None, _BACKENDS)
    choose("release", release or None, _RELEASES)
    for each in properties:
        choose("property", each, _PROPERTIES)
    if message:
        _message(backend, message, release)
    if "against" in properties and not against:
        fail("--property against compares with another target; name it with --against")
    return Choice(
        backend=backend,
        message=message,
        release=release,
        properties=tuple(properties),
        against=against,
    )


def _message(backend: str, message: str, release: str) -> None:
    """Exit 2 unless some backend that is wanted has the message."""
    reasons = []
    for each in [backend] if backend else _BACKENDS:
        try:
            spoken = not release or release in releases(each)
            layout(each, message, release=release or None if spoken else None)
        except UnknownLayoutError as fault:
            reasons.append(str(fault))
        else:
            return
    fail(reasons[0])


def _writable(out: Path) -> None:
    try:
        check_folder(out)
    except FindingError as fault:
        fail(f"--out: {fault}")


def _part(told: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/([1-9]\d*)", told)
    if found is None or int(found[1]) >= int(found[2]):
        fail(f"--part {told!r} is no part; say 0/4")
    return int(found[1]), int(found[2])


Say = Callable[[str], None]


def _here(how: How, part: tuple[int, int], say: Say) -> dict[str, Any]:
    """The run in this process."""

    def told(result: Result, cell: Cell) -> None:
        tried = sum(tally.examples for tally in result.tallies.values())
        say(f"{tried:,} examples, {len(result.findings)} findings, now {cell.name}")

    paths: list[Path] = []
    live = machines() if how.target == "pdwire" and not how.choice.message else None
    try:
        with ExitStack() as stack:
            sides = open_sides(stack, how.target, how.choice.against)
            known = cells(sides.target.hello, how.choice)
            if live is not None:
                known += cells_of_machines(live.names, how.choice, live.backends)
            if not known:
                fail(f"{how.target} has nothing of what was chosen")
            with interrupts(second=end if part == _WHOLE else _nothing) as interrupted:
                result = fuzz(
                    sides,
                    how.choice,
                    seed=how.seed,
                    time_s=how.time_s,
                    part=part,
                    examples=how.examples,
                    fail_fast=how.fail_fast,
                    machines=live,
                    told=told,
                    keep=lambda finding: paths.append(_kept(finding, how.out)),
                    interrupted=interrupted,
                )
    except TesteeError as fault:
        fail(str(fault))
    return as_json(result, paths)


def _kept(finding: Finding, folder: Path) -> Path:
    """Where the finding is; one that cannot be written (a full disk) is told all the same."""
    try:
        return save(finding, folder)
    except OSError as fault:
        path = folder / finding.file_name
        remark(f"pdwire: {path} could not be written: {fault.strerror or fault}")
        return path


def _nothing() -> None:
    """A part hears of one Ctrl-C twice, from the terminal and from the run: once is enough."""


@contextmanager
def _progress() -> Iterator[Say]:
    """A line on stderr that is written over, on a terminal; nothing elsewhere."""
    to = Console(stderr=True, markup=False, highlight=False)
    if not to.is_terminal:
        yield lambda _: None
        return
    with to.status("Starting …") as status:
        yield status.update


def _words(how: How) -> list[str]:
    """The command line of one part, but for which part it is."""
    chosen = {
        "--backend": how.choice.backend,
        "--message": how.choice.message,
        "--release": how.choice.release,
        "--against": how.choice.against,
    }
    words = [word for pair in chosen.items() if pair[1] for word in pair]
    words += [word for each in how.choice.properties for word in ("--property", each)]
    words += ["--fail-fast"] if how.fail_fast else []
    numbers = {"--seed": how.seed, "--examples": how.examples, "--time": f"{how.time_s:g}s"}
    words += [str(word) for pair in numbers.items() for word in pair]
    return ["fuzz", how.target, *words, "--out", str(how.out), "--format", "json"]


def _dealt(jobs: int, words: Sequence[str]) -> dict[str, Any]:
    """The run in several processes, their results merged."""
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "pdwire.cli", *words, "--part", f"{n}/{jobs}"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(jobs)
    ]

    def every(number: signal.Signals) -> None:
        for process in started:
            process.send_signal(number)

    def second() -> None:
        every(signal.SIGKILL)
        end()

    try:
        with interrupts(lambda: every(signal.SIGINT), second) as interrupted:
            said = [process.communicate()[0] for process in started]
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.wait()
    told = [
        json.loads(text)
        for process, text in zip(started, said, strict=True)
        if process.returncode in {0, FOUND} and text
    ]
    if len(told) < jobs:
        if not interrupted():
            fail("a part of the run could not be made; its reason is above")
        remark(f"pdwire: {jobs - len(told)} of {jobs} parts ended before they could tell anything")
    if not told:
        raise KeyboardInterrupt
    return merge(told)
