"""The report as GitHub-flavoured Markdown: for a job's summary or a comment.

Rules:

* A table of the testees first, then what makes the run unclean, one fold per failure.
* Text of a peer stands in code, or with every character escaped that Markdown or HTML reads.
* GitHub cuts a comment at 65,536 characters: after :data:`MOST` of them failures are listed
  by slug only, then counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from pdwire_conformance.conform.events import CaseEvent, Event, Verdict, counts

from .gather import LEVELS, Tested, by_level, closing, gather, is_clean, span
from .text import cut_hex, printable

__all__ = ["MOST", "render"]

MOST: Final = 40_000
_LISTED: Final = 100
_BYTES: Final = 64
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]()#+!|~@<>&-])")


def render(events: Sequence[Event]) -> str:
    """The page; it ends in a newline."""
    tested = gather(events)
    return "\n".join((*_head(tested), *_problems(tested), *_failures(tested))) + "\n"


def _head(tested: Sequence[Tested]) -> Iterator[str]:
    yield "# pdwire conform"
    yield ""
    yield f"{'✅' if is_clean(tested) else '❌'} {closing(tested)}"
    if not tested:
        return
    whole = counts(case for each in tested for case in each.cases)
    levels = [level for level in LEVELS if any(level in by_level(each.cases) for each in tested)]
    yield ""
    yield "| testee | releases | " + " | ".join((*levels, *whole)) + " |"
    yield "|---|---|" + "---:|" * (len(levels) + len(whole))
    for each in tested:
        found = counts(each.cases)
        numbers = [str(found.get(verdict, 0) or "–") for verdict in whole]
        held = [_held(by_level(each.cases).get(level, {})) for level in levels]
        yield "| " + " | ".join((_cell(each.target), _releases(each), *held, *numbers)) + " |"


def _held(found: dict[str, int]) -> str:
    asked = sum(found.values()) - found.get(Verdict.SKIPPED, 0)
    passed = found.get(Verdict.PASSED, 0) + found.get(Verdict.FLAKY, 0)
    return f"{passed} of {asked}" if asked else "–"


def _releases(tested: Tested) -> str:
    return _words(span(tested.releases, none="–"))


def _problems(tested: Sequence[Tested]) -> Iterator[str]:
    said = [(each.target, problem) for each in tested for problem in each.problems]
    if said:
        yield "\n## Problems\n"
        yield from (f"- {_code(target)}: {_words(problem)}" for target, problem in said)


def _failures(tested: Sequence[Tested]) -> Iterator[str]:
    bad = [case for each in tested for case in each.bad]
    if not bad:
        return
    yield "\n## What is not clean\n"
    spent = full = 0
    for case in bad:
        text = "\n".join(_fold(case))
        spent += len(text)
        if spent > MOST:
            break
        full += 1
        yield text
    rest = bad[full:]
    yield from (
        f"- {case.verdict} {_code(case.target)} {_code(case.slug)}" for case in rest[:_LISTED]
    )
    if len(rest) > _LISTED:
        yield f"- … and {len(rest) - _LISTED:,} more"


def _fold(case: CaseEvent) -> Iterator[str]:
    where = f"{_html(case.slug)}</code> {_html(case.release)}"
    yield (
        f"<details><summary><b>{case.verdict}</b> <code>{where}, {_html(case.level)}, "
        f"<code>{_html(case.target)}</code></summary>\n"
    )
    yield f"{_words(case.purpose)} {_words(case.expectation)}\n"
    for name, said in (("Expected", case.expected), ("Came", case.came)):
        if said:
            yield f"- {name}: {_code(said)}"
    if case.reason:
        yield f"- Reason: {_words(case.reason)}"
    if case.rerun:
        yield f"- Rerun: {_code(case.rerun)}"
    if lines := [printable(line).replace("```", "'''") for line in _frames(case)]:
        yield "\n".join(("", "```text", *lines, "```"))
    yield "\n</details>\n"


def _frames(case: CaseEvent) -> Iterator[str]:
    for line in case.trace:
        yield f"{line.way} {line.text}".rstrip()
        for position, frame in enumerate(line.frames):
            name = line.names[position] if position < len(line.names) else ""
            yield f"{position:>3} {name:<24} {cut_hex(frame, _BYTES)}".rstrip()


def _words(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", printable(" ".join(text.split()))).replace("\\<", "&lt;")


def _html(text: str) -> str:
    line = printable(" ".join(text.split()))
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _code(text: str) -> str:
    """A code span: its fence is longer than any run of backticks inside."""
    line = printable(" ".join(text.split()))
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if "`" in line else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _cell(text: str) -> str:
    """A code span in a table, where a pipe ends a cell even in code."""
    return _code(text).replace("|", "\\|")
