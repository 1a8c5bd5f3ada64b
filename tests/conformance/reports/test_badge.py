"""The badge says what it counts, and its colour says the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from pdwire_conformance.conform.events import CaseEvent, Event, Verdict
from pdwire_conformance.reports.badge import render

from .conftest import CASE, FAILED, run_of

KNOWN = replace(CASE, slug="k", verdict=Verdict.KNOWN)
SHOULD = replace(KNOWN, level="SHOULD")
SVG = "{http://www.w3.org/2000/svg}"


def _said(events: Sequence[Event]) -> tuple[str, str]:
    root = ET.fromstring(render(events))  # noqa: S314 (ours)
    words = root.findall(f".//{SVG}text")
    fills = [each.get("fill", "") for each in root.findall(f".//{SVG}rect") if each.get("fill")]
    return words[1].text or "", fills[1]


@pytest.mark.parametrize(
    ("cases", "words", "colour"),
    [
        ([CASE], "0.5.23: 1 of 1 MUST", "#2a7d3f"),
        ([CASE, SHOULD], "0.5.23: 1 of 1 MUST", "#2a7d3f"),
        ([CASE, KNOWN], "0.5.23: 1 of 2 MUST", "#8f6400"),
        ([CASE, replace(FAILED, slug="f")], "0.5.23: 1 of 2 MUST", "#b3261e"),
        ([replace(CASE, verdict=Verdict.SKIPPED)], "0.5.23: nothing judged", "#5f6368"),
        (
            [CASE, replace(CASE, slug="b", release="0.5.19")],
            "0.5.19–0.5.23: 2 of 2 MUST",
            "#2a7d3f",
        ),
    ],
)
def test_words_and_colour(cases: list[CaseEvent], words: str, colour: str) -> None:
    assert _said(run_of(*cases)) == (words, colour)


def test_a_stream_cut_short_is_red_and_says_why() -> None:
    assert _said(run_of(CASE)[:-1]) == ("0.5.23: 1 of 1 MUST, 1 problem", "#b3261e")


def test_a_target_cannot_bring_markup() -> None:
    events = run_of(replace(CASE, release=""), target="<script>")
    assert "<script>" not in render(events)
    assert _said(events)[0] == "<script>: 1 of 1 MUST"
