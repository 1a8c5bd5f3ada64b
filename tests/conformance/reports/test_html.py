"""The page, as text and in a real browser."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pdwire_conformance.conform.events import CaseEvent, Event, Verdict
from pdwire_conformance.reports.html import STATIC, render

from .conftest import CASE, FAILED, run_of

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
OWN = "document.title='owned'"
EVIL = f'</script><script>{OWN}</script><img src=x onerror="{OWN}">'


def _dom(page: str, folder: Path, fragment: str = "") -> str:
    """What the page became in a browser, at ``#fragment``."""
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    assert CHROMIUM is not None
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    profile = [f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=5000"]
    address = path.as_uri() + fragment
    done = subprocess.run(
        [*command, *profile, address], capture_output=True, timeout=120, check=True
    )
    return done.stdout.decode("utf-8")


def _rows(dom: str) -> int:
    table = dom[dom.index("<thead") : dom.index("</table>")]
    return len(re.findall(r"<tr(?! class=\"g\")[^>]*><th scope=\"row\"", table))


def test_the_matrix_stands_in_the_page_without_scripts() -> None:
    page = render([*run_of(CASE, replace(FAILED, slug="rooms/a", family="rooms"))])
    assert page.count('<th scope="row">') == 2
    assert '<td class="passed">✓' in page
    assert '<td class="failed">✗' in page


def test_the_page_asks_nothing_of_the_network() -> None:
    page = render(run_of(replace(CASE, link="https://x.test/1")))
    assert "default-src 'none'" in page
    assert re.findall(r"(?:src|href)=\"(?!#|data:,)", page) == []
    assert "https://" not in page


def test_words_of_a_peer_are_escaped() -> None:
    page = render(run_of(replace(FAILED, slug=EVIL, family=EVIL, level="MUST"), target=EVIL))
    assert "owned'</script>" not in page
    assert "<img" not in page


def test_a_large_matrix_lists_only_what_somebody_did_not_pass() -> None:
    many = [replace(CASE, slug=f"x/{n}") for n in range(STATIC // 7 + 1)]
    page = render(run_of(*many[:-1], replace(FAILED, slug="x/last")))
    assert page.count('<th scope="row">') == 1
    assert "only cases that not every testee passed are listed" in page
    assert len(page) < 300_000


def test_a_stream_cut_short_is_said_on_the_page() -> None:
    page = render(run_of(CASE)[:-1])
    assert "Not clean: 1 passed; 1 problem." in page
    assert "the stream ends before the run did" in page


def test_an_empty_stream_has_a_page() -> None:
    assert "Not clean: the stream has no testee." in render([])


@browser
def test_scripts_make_the_rows_and_the_filters_of_the_address_choose_them(
    tmp_path: Path, realistic: Callable[[Sequence[str], int], list[Event]]
) -> None:
    events = realistic(["pdwire", "sglang==0.5.23"], 200)
    cases = [each for each in events if isinstance(each, CaseEvent)]
    failing = {case.slug for case in cases if case.verdict is Verdict.FAILED}
    dom = _dom(render(events), tmp_path, "#/?verdict=failed")
    assert 0 < len(failing) < 200
    assert _rows(dom) == len(failing)
    assert f"{len(failing)} of 200 cases</output>" in dom


@browser
def test_a_case_has_a_page_with_its_wire_and_its_command(tmp_path: Path) -> None:
    events = [*run_of(CASE), *run_of(FAILED, target="cmd:./mine")]
    dom = _dom(render(events), tmp_path, f"#/case/{CASE.slug}")
    article = dom[dom.index("<article") : dom.index("</article>")]
    shown = html.unescape(re.sub(r"<[^>]+>", " ", article))
    words = " ".join(shown.split())
    assert "expected an error frame-value at frame 14 (staging_base_ptr)" in words
    assert 'came {"room": 7, "staging_base_ptr": 0}' in words
    assert '0 room 4 "None" 4e6f6e65' in words
    assert "2 staging_base_ptr 7 00000000 000000" in words
    assert CASE.rerun in words
    assert "✗ failed cmd:./mine" in words
    assert "✓ passed pdwire" in words
    assert "hidden" not in article[: article.index(">")]


@browser
def test_nothing_that_a_peer_said_runs(tmp_path: Path) -> None:
    case = replace(
        FAILED,
        slug=EVIL,
        purpose=EVIL,
        came=EVIL,
        reason=EVIL,
        rerun=EVIL,
        link=f"javascript:{OWN}",
    )
    dom = _dom(render(run_of(case, target=EVIL)), tmp_path, "#/case/" + EVIL.replace("/", "%2F"))
    article = dom[dom.index("<article") : dom.index("</article>")]
    assert html.escape(EVIL, quote=False) in article
    assert "<title>owned</title>" not in dom
    assert "<img" not in dom
    assert 'href="javascript' not in dom


@browser
def test_a_large_group_is_shown_piece_by_piece(tmp_path: Path) -> None:
    dom = _dom(render(run_of(*(replace(CASE, slug=f"x/{n}") for n in range(1000)))), tmp_path)
    assert _rows(dom) == 300
    assert "300 more of 700" in dom
