"""``pdwire conform``: run the suite against a backend, and tell where it departs.

Exit 0 when every run is clean, 1 when it is not, 2 for wrong usage. Progress goes to
stderr, and only on a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from pdwire.cli.console import (
    FOUND,
    Format,
    Formatted,
    choose,
    console,
    fail,
    print_json,
    remark,
)
from pdwire_conformance.reports import RENDERERS, terminal
from pdwire_conformance.reports.gather import gather, is_clean
from pdwire_conformance.suite.case import Case
from pdwire_conformance.suite.coverage import coverage as coverage_of
from pdwire_conformance.suite.load import cases as whole_suite
from pdwire_conformance.testees.find import DEADLINE_S, FORMS, find_testee
from pdwire_conformance.testees.inprocess import InProcess
from pdwire_conformance.testees.protocol import Testee, TesteeError

from . import covering, listing
from .asked import AskedError, filters_of
from .contradictions import contradictions
from .events import CaseEvent, Event, StartEvent, write_event
from .known import KnownError, elsewhere, load, packaged
from .known_file import Entry
from .plan import RESTARTS, Plan
from .progress import telling
from .run import run
from .select import Filters, Item, selection
from .skeleton import skeleton
from .unclaimed import sentence
from .usable import unusable
from .watched import Watched

__all__ = ["command"]

_Words = list[str] | None


def command(
    context: typer.Context,
    targets: Annotated[
        _Words, typer.Argument(help="Whom to test: pdwire, sglang==0.5.23, cmd:./mine …")
    ] = None,
    *,
    case: Annotated[_Words, typer.Option(help="Only cases of this slug or glob.")] = None,
    level: Annotated[_Words, typer.Option(help="Only MUST, SHOULD or MAY.")] = None,
    role: Annotated[
        _Words, typer.Option(help="codec, prefill, decode, bootstrap or all; default: codec.")
    ] = None,
    backend: Annotated[_Words, typer.Option(help="Only this backend.")] = None,
    release: Annotated[
        _Words, typer.Option(help="Only at this release; default: the newest that fits.")
    ] = None,
    message: Annotated[_Words, typer.Option(help="Only cases about this message.")] = None,
    every_release: Annotated[
        bool, typer.Option("--every-release", help="A case at each release that it fits.")
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="Say what would run, run nothing.")] = False,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Say which clauses of the spec no case exercises.")
    ] = False,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="End after the first bad case.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Testees of a target at a time.")] = 1,
    deadline: Annotated[
        float, typer.Option(min=0.001, help="Seconds that a request may take.")
    ] = DEADLINE_S,
    repeat: Annotated[int, typer.Option(min=1, help="Ask each case so often; all count.")] = 1,
    restarts: Annotated[
        int, typer.Option(min=0, help="How often a testee that breaks is started anew.")
    ] = RESTARTS,
    known: Annotated[
        list[Path] | None, typer.Option(help="A list of known failures, beside those shipped.")
    ] = None,
    no_known: Annotated[
        bool, typer.Option("--no-known", help="Leave the shipped lists of known failures out.")
    ] = False,
    write_known: Annotated[
        Path | None, typer.Option(help="Write what failed as a list, to be explained and kept.")
    ] = None,
    events: Annotated[Path | None, typer.Option(help="Keep the event stream (JSON lines).")] = None,
    report: Annotated[
        _Words, typer.Option(metavar="FORM=PATH", help=f"Write a report: {', '.join(RENDERERS)}.")
    ] = None,
    traces: Annotated[
        bool, typer.Option("--traces", help="Keep the frames of passed cases, too.")
    ] = False,
    format_: Formatted = Format.TABLE,
) -> None:
    """Run the conformance suite against a backend."""
    reports = [_report(each) for each in report or ()]
    for contradiction in contradictions(_given(context), _paths(events, write_known, reports)):
        fail(contradiction)
    _spare(write_known)
    suite = whole_suite()
    if coverage:
        _cover(suite, format_)
        return
    chosen = _chosen(
        {
            "case": case,
            "level": level,
            "role": role,
            "backend": backend,
            "release": release,
            "message": message,
        },
        suite,
        every_release=every_release,
    )
    lists = _lists(known or [], targets or [], shipped=not no_known)
    plans = [
        Plan(
            target=target,
            make=_maker(target, deadline),
            cases=suite,
            filters=_playing(chosen, target, role),
            known=lists,
            jobs=jobs,
            repeat=repeat,
            fail_fast=fail_fast,
            deadline_s=deadline,
            restarts=restarts,
            traces=traces,
        )
        for target in dict.fromkeys(targets or ())
    ]
    if list_:
        _list(plans, suite, chosen, format_)
        return
    if not plans:
        fail(f"whom to test? A target is one of: {', '.join(FORMS)}")
    told = list(telling(_kept(plans, events)))
    if write_known is not None:
        _write(write_known, skeleton(told))
    for form, path in reports:
        _write(path, RENDERERS[form](told))
    if format_ is Format.JSON:
        typer.echo(RENDERERS["json"](told), nl=False)
    else:
        _show(told)
    if not is_clean(gather(told)):
        raise typer.Exit(FOUND)


def _given(context: typer.Context) -> list[str]:
    """The options that stand on the command line, and ``a target`` where there is one."""
    sources = {
        each: context.get_parameter_source(str(each.name)) for each in context.command.params
    }
    return [
        parameter.opts[0] if parameter.param_type_name == "option" else "a target"
        for parameter, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    ]


def _paths(
    events: Path | None, write_known: Path | None, reports: Sequence[tuple[str, Path]]
) -> list[tuple[str, Path]]:
    """What is to be written, and by which option."""
    told = [("--events", events), ("--write-known", write_known)]
    told += [(f"--report {form}", path) for form, path in reports]
    return [(option, path) for option, path in told if path is not None]


def _spare(path: Path | None) -> None:
    """Never write a skeleton over a list: its reasons are a person's work."""
    if path is not None and path.is_file():
        fail(
            f"--write-known: {path} is there already, and its reasons would be lost: name "
            "a new file, and move what you want from it into your list"
        )


def _show(told: Sequence[Event]) -> None:
    screen = console()
    for start in told:
        if isinstance(start, StartEvent) and start.unclaimed:
            screen.print(f"{start.target}: {sentence(start.unclaimed)}", soft_wrap=True)
    terminal.show(told, screen)


def _cover(suite: Sequence[Case], format_: Format) -> None:
    report = coverage_of(suite)
    if format_ is Format.JSON:
        print_json(covering.as_json(report))
    else:
        covering.show(report, console())
    if not report.complete:
        raise typer.Exit(FOUND)


def _maker(target: str, deadline_s: float) -> Callable[[], Testee]:
    def make() -> Testee:
        found = find_testee(target, deadline_s=deadline_s)
        return Watched(found, deadline_s) if isinstance(found, InProcess) else found

    try:
        make()
    except TesteeError as fault:
        fail(str(fault))
    if why := unusable(target, deadline_s):
        fail(why)
    return make


def _chosen(asked: Mapping[str, _Words], suite: Sequence[Case], *, every_release: bool) -> Filters:
    words = {option: came or () for option, came in asked.items()}
    try:
        return filters_of(words, suite, every_release=every_release)
    except AskedError as fault:
        fail(str(fault))


def _playing(chosen: Filters, target: str, role: list[str] | None) -> Filters:
    """A live target is asked for what it plays; all others for codecs, unless said."""
    if role is not None or not target.startswith("live:"):
        return chosen
    return replace(chosen, roles=find_testee(target).hello().roles)


def _report(told: str) -> tuple[str, Path]:
    form, sign, path = told.partition("=")
    if not sign or not path:
        fail(f"--report {told!r}: expected FORM=PATH, for instance junit=conform.xml")
    choose("report form", form, tuple(RENDERERS))
    return form, Path(path)


def _lists(paths: list[Path], targets: Sequence[str], *, shipped: bool) -> tuple[Entry, ...]:
    try:
        added = load(paths)
        entries = (*(packaged() if shipped else ()), *added)
    except KnownError as fault:
        fail(f"the list of known failures cannot be used\n{fault}")
    for unused in elsewhere(added, targets) if targets else ():
        remark(f"--known: {unused}")
    return entries


def _kept(plans: Sequence[Plan], path: Path | None) -> Iterator[Event]:
    """All runs' events, written to the stream as they come."""
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(path.open("w", encoding="utf-8")) if path else None
        except OSError as fault:
            fail(f"cannot write {path}: {fault.strerror or fault}")
        for plan in plans:
            bad = 0
            for event in run(plan):
                bad += isinstance(event, CaseEvent) and event.verdict.is_bad
                if stream is not None:
                    write_event(stream, event)
                yield event
            if plan.fail_fast and bad:
                return


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as fault:
        fail(f"cannot write {path}: {fault.strerror or fault}")
    remark(f"wrote {path}")


def _list(plans: Sequence[Plan], suite: Sequence[Case], chosen: Filters, format_: Format) -> None:
    runs = {plan.target: _would_run(plan) for plan in plans}
    named = {item.case.slug for items in runs.values() for item in items}
    cases = [each for each in suite if (each.slug in named if plans else chosen.take(each))]
    if format_ is Format.JSON:
        print_json(listing.as_json(cases, runs))
    else:
        listing.show(cases, runs, console())


def _would_run(plan: Plan) -> tuple[Item, ...]:
    try:
        with plan.make() as testee:
            return selection(plan.cases, testee.hello(), plan.filters).items
    except TesteeError as fault:
        fail(f"{plan.target} does not start: {fault}")
