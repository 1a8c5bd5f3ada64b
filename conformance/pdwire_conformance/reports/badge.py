"""The report as a badge: one SVG file that stands alone.

Rules:

* It counts MUST cases that were judged; a skipped one is not judged.
* Colour says the state and the words say it again: green, all MUST hold and the run is
  clean; amber, clean but with known failures; red, not clean; grey, nothing was judged.
* Words are drawn at a stated length, so that no font of the reader's shifts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from pdwire_conformance.conform.events import Event, Verdict

from .gather import Tested, gather, is_clean
from .text import cut

__all__ = ["render"]

_LABEL: Final = "pdwire"
_GREEN, _AMBER, _RED, _GREY = "#2a7d3f", "#8f6400", "#b3261e", "#5f6368"
_NARROW: Final = frozenset("ijl.,:;|'!()[] 1ftr-")
_WIDE: Final = frozenset("mwMW@%")
_PAGE: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" \
aria-label="{label}: {words}">
<title>{label}: {words}</title>
<clipPath id="r"><rect width="{width}" height="20" rx="3"/></clipPath>
<g clip-path="url(#r)">
<rect width="{left}" height="20" fill="#30363d"/>
<rect x="{left}" width="{right}" height="20" fill="{colour}"/>
</g>
<g fill="#fff" text-anchor="middle" font-size="11" \
font-family="Verdana,DejaVu Sans,Geneva,sans-serif">
<text x="{label_at}" y="14" textLength="{label_length}">{label}</text>
<text x="{words_at}" y="14" textLength="{words_length}">{words}</text>
</g>
</svg>
"""


def render(events: Sequence[Event]) -> str:
    """The SVG document."""
    tested = gather(events)
    words = cut(f"{_whom(tested)}: {_said(tested)}", 60)
    label_length, words_length = _length(_LABEL), _length(words)
    left, right = label_length + 12, words_length + 12
    return _PAGE.format(
        label=_LABEL,
        words=escape(words),
        colour=_colour(tested),
        width=left + right,
        left=left,
        right=right,
        label_at=left / 2,
        words_at=left + right / 2,
        label_length=label_length,
        words_length=words_length,
    )


def _whom(tested: Sequence[Tested]) -> str:
    if len(tested) != 1:
        return f"{len(tested)} testees"
    first, *others = tested[0].releases or (tested[0].target,)
    return f"{first}–{others[-1]}" if others else first


def _musts(tested: Sequence[Tested]) -> tuple[int, int]:
    judged = [
        case.verdict
        for each in tested
        for case in each.cases
        if case.level == "MUST" and case.verdict is not Verdict.SKIPPED
    ]
    passed = sum(verdict in {Verdict.PASSED, Verdict.FLAKY} for verdict in judged)
    return passed, len(judged)


def _said(tested: Sequence[Tested]) -> str:
    passed, judged = _musts(tested)
    if not judged:
        return "nothing judged"
    problems = sum(len(each.problems) for each in tested)
    fault = f", {problems} problem{'s' * (problems > 1)}" if problems else ""
    return f"{passed:,} of {judged:,} MUST{fault}"


def _colour(tested: Sequence[Tested]) -> str:
    passed, judged = _musts(tested)
    if not is_clean(tested):
        return _RED
    return _GREY if not judged else _GREEN if passed == judged else _AMBER


def _length(text: str) -> int:
    """Pixels that the words take in Verdana at 11, near enough to state them."""
    return round(sum(4.6 if each in _NARROW else 10 if each in _WIDE else 7 for each in text))
