"""Markdown that says what a peer said, and renders none of it."""

from __future__ import annotations

from dataclasses import replace

from pdwire_conformance.conform.events import Verdict
from pdwire_conformance.reports.markdown import MOST, render

from .conftest import CASE, FAILED, run_of


def test_the_table_counts_by_level_and_verdict() -> None:
    page = render(run_of(CASE, replace(FAILED, slug="b"), replace(CASE, slug="c", level="MAY")))
    assert "| testee | releases | MUST | MAY | passed | failed |" in page
    assert "| `pdwire` | 0.5.23 | 1 of 2 | 1 of 1 | 2 | 1 |" in page


def test_a_failure_is_a_fold_with_frames_and_command() -> None:
    page = render(run_of(FAILED))
    assert "<b>failed</b> <code>registration/staging-frame-14-width</code> 0.5.23, MUST" in page
    assert "- Expected: `an error frame-value at frame 14 (staging_base_ptr)`" in page
    assert "  2 staging_base_ptr         00000000000000\n" in page


def test_markup_of_a_peer_stays_text() -> None:
    case = replace(
        FAILED,
        slug="<script>alert(1)</script>",
        came="``` | <img src=x>`",
        reason="[x](http://evil) <b> @all | *y*",
        verdict=Verdict.ERROR,
    )
    page = render(run_of(case, target="cmd:a|b"))
    assert "<script>" not in page
    assert "<code>&lt;script&gt;alert(1)&lt;/script&gt;</code>" in page
    assert "- Came: ```` ``` | <img src=x>` ````" in page
    assert r"- Reason: \[x\]\(http://evil\) &lt;b\> \@all \| \*y\*" in page
    assert r"| `cmd:a\|b` |" in page


def test_a_page_that_would_be_cut_lists_the_rest_and_counts_it() -> None:
    cases = [replace(FAILED, slug=f"x/{n}") for n in range(500)]
    page = render(run_of(*cases))
    full = page.count("<details>")
    assert len(page) < MOST + 15_000
    assert page.rstrip().endswith(f"- … and {500 - full - 100:,} more")


def test_problems_have_a_section() -> None:
    page = render(run_of(CASE, problems=("the entry a/* has expired",)))
    assert r"- `pdwire`: the entry a/\* has expired" in page
