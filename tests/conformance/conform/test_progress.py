from __future__ import annotations

from collections.abc import Callable
from io import StringIO

from rich.console import Console

from pdwire_conformance.conform.events import Event
from pdwire_conformance.conform.progress import telling
from pdwire_conformance.suite.case import Case

MakeCase = Callable[..., Case]
Events = Callable[..., list[Event]]


def shown(events: list[Event], *, terminal: bool) -> str:
    page = StringIO()
    screen = Console(file=page, force_terminal=terminal, width=100, color_system=None)
    assert list(telling(events, screen)) == events
    return page.getvalue()


def test_nothing_is_shown_off_a_terminal(a_case: MakeCase, events: Events) -> None:
    assert shown(events([a_case("x")]), terminal=False) == ""


def test_a_terminal_shows_whom_how_far_and_how_many_are_bad(
    a_case: MakeCase, events: Events
) -> None:
    ran = events([a_case("x/1"), a_case("x/2", "fail"), a_case("x/3")], target="cmd:[mine]")
    told = shown(ran[:-1], terminal=True)
    assert "cmd:[mine]" in told  # no markup
    assert "3/3" in told
    assert "1 bad" in told
