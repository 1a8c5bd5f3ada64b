"""What a person reads on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from io import StringIO

from rich.console import Console

from pdwire_conformance.conform.events import Event, TraceLine, Verdict
from pdwire_conformance.reports import terminal

from .conftest import CASE, FAILED, run_of


def test_a_clean_run_is_counts_and_a_sentence() -> None:
    page = terminal.render(run_of(CASE, replace(CASE, slug="b", level="MAY")))
    assert "│ MUST  │   1 │      1 │" in page
    assert "│ all   │   2 │      2 │" in page
    assert page.endswith("Clean: 2 passed.\n")


def test_a_failure_is_told_in_full() -> None:
    lines = [line.rstrip() for line in terminal.render(run_of(FAILED)).splitlines()]
    at = lines.index("FAILED registration/staging-frame-14-width  MUST, 0.5.23, codec")
    assert lines[at + 1 : at + 9] == [
        "  The staging pointer is eight bytes; seven or nine are no pointer.",
        "  → sent 3 frames decode KVArgsRegisterInfo",
        '      0 room                4 B  "None" 4e6f6e65',
        '      1 endpoint            8 B  "10.0.0.2" 31302e302e302e32',
        "      2 staging_base_ptr    7 B  00000000000000",
        "  expected: an error frame-value at frame 14 (staging_base_ptr)",
        '  came:     {"room": 7, "staging_base_ptr": 0}',
        f"  rerun:    {FAILED.rerun}",
    ]


def test_failures_of_one_kind_are_told_once_and_counted() -> None:
    cases = [replace(FAILED, slug=f"x/frame-{n}", came=f'{{"room": {n}}}') for n in range(43)]
    page = terminal.render(run_of(*cases))
    assert page.count("FAILED") == 1
    assert "    x/frame-5\n" in page
    assert "    … and 37 more, see --events\n" in page


def test_must_comes_before_may_and_the_frequent_before_the_rare() -> None:
    cases = [
        replace(FAILED, slug="a/may", level="MAY"),
        replace(FAILED, slug="b/rare", came="an error other: no"),
        replace(FAILED, slug="c/often-1"),
        replace(FAILED, slug="c/often-2"),
    ]
    page = terminal.render(run_of(*cases))
    told = [line.split()[1] for line in page.splitlines() if line.startswith("FAILED")]
    assert told == ["c/often-1", "b/rare", "a/may"]


def test_a_case_that_fails_in_many_releases_is_told_once() -> None:
    releases = ("0.5.19", "0.5.20", "0.5.21", "0.5.22")
    page = terminal.render(run_of(*(replace(FAILED, release=each) for each in releases)))
    assert "MUST, 0.5.19 and 3 other releases, codec" in page
    assert "the same in" not in page


def test_a_long_frame_is_cut_to_the_width_and_says_its_length() -> None:
    trace = (TraceLine(way="came", frames=("ab" * 4000,) * 30, names=()),)
    page = terminal.render(run_of(replace(FAILED, trace=trace)))
    (first,) = (line for line in page.splitlines() if line.startswith("      0 "))
    assert "4000 B  abab" in first
    assert first.endswith("…")
    assert len(first) <= 100
    assert "… and 6 more frames, see --events" in page


def test_a_peer_cannot_move_the_cursor() -> None:
    page = terminal.render(run_of(replace(FAILED, came="\x1b[2Jgone [red]x[/red]")))
    assert "\x1b" not in page
    assert "came:     \\x1b[2Jgone [red]x[/red]" in page


def test_colour_is_for_a_screen_that_has_it() -> None:
    paper = StringIO()
    screen = Console(file=paper, force_terminal=True, color_system="standard", width=100)
    terminal.show(run_of(FAILED), screen)
    assert "\x1b[1;31mFAILED" in paper.getvalue()
    assert "\x1b" not in terminal.render(run_of(FAILED))


def test_several_testees_are_compared_first(
    realistic: Callable[[Sequence[str], int], list[Event]],
) -> None:
    page = terminal.render(realistic(["pdwire", "sglang==0.5.19", "sglang==0.5.23", "cmd:./m"], 50))
    assert page.splitlines()[1].startswith("┃ testee ")
    assert "┃ level" not in page
    assert max(map(len, page.splitlines()[:8])) <= 100


def test_problems_are_said_with_their_testee() -> None:
    page = terminal.render(run_of(CASE, problems=("the entry a/* matches nothing",)))
    assert "problem: pdwire: the entry a/* matches nothing" in page
    assert Verdict.PASSED in page
