"""``python -m pdwire_conformance.reports.published``: run everything, and write the pages of docs/.

Rules:

* Codecs: ours, the second reading, the JavaScript testee, every release. Running ranks: ours
  and the releases of :data:`LIVE`, over every engine that is installed.
* Each target runs in a process of its own and leaves its stream in ``build/conformance``;
  streams that are there already are used again, so that a run that was cut short goes on.
* ``docs/conformance.md`` says what the streams say, and no more: the numbers, and every known
  difference once, with its reason and the cases and releases that it holds for.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from pdwire.cli.console import fail, remark
from pdwire.wire.table import ORDER
from pdwire_conformance.conform.events import CaseEvent, Event, Verdict, counts

from . import badge, html
from .gather import LEVELS, Tested, by_level, closing, gather, ordered
from .verb import read_streams

__all__ = ["LIVE", "main", "page"]

LIVE: Final = ("0.5.23", "0.5.19")
"""The releases whose whole managers are run."""
_ROLES: Final = ("prefill", "decode", "bootstrap")
_NODE: Final = "cmd:node examples/node/testee.mjs src/pdwire/wire/spec.json"
_STREAMS: Final = Path("build/conformance")
_DOCS: Final = Path("docs")
_HEAD: Final = """\
# What the suite says

Written by `make conformance` from what was run; do not edit. Every case, with the frames that
were sent and what came back, is on one page that needs no network:
[conformance.html](conformance.html) (download it, then open it).
[How to hold a backend of your own to it](conformance-guide.md).

The suite holds every reader to the strict reading of the spec: one spelling of each value, exact
frame counts, ranges, no bytes left over. The releases were never meant to be that strict, and
little of what is listed here can occur between healthy peers of one release. It is a map: where a
foreign, older or broken message is taken for something else, and where it is refused.
"""


def main() -> None:
    """Run what has no stream yet, then write the pages."""
    _STREAMS.mkdir(parents=True, exist_ok=True)
    paths = [_ran(name, words) for name, words in _runs()]
    events = list(read_streams([str(path) for path in paths]))
    _DOCS.joinpath("conformance.html").write_text(html.render(events), encoding="utf-8")
    _DOCS.joinpath("conformance.svg").write_text(
        badge.render([event for event in events if event.target == "pdwire"]), encoding="utf-8"
    )
    _DOCS.joinpath("conformance.md").write_text(page(events), encoding="utf-8")
    remark("wrote docs/conformance.md, docs/conformance.html and docs/conformance.svg")


def _runs() -> Iterator[tuple[str, list[str]]]:
    """Name of the stream, and the words behind ``pdwire conform``."""
    yield "pdwire", ["pdwire"]
    yield "pdwire-live", ["pdwire", *_live()]
    yield "reading", ["pdwire:reading"]
    if shutil.which("node") is not None:
        yield "node", [_NODE]
    for release in reversed(ORDER):
        yield f"sglang-{release}", [f"sglang=={release}"]
        if release in LIVE:
            yield f"sglang-{release}-live", [f"sglang=={release}", *_live()]


def _live() -> list[str]:
    return [word for role in _ROLES for word in ("--role", role)]


def _ran(name: str, words: Sequence[str]) -> Path:
    """The stream of one run; made under another name, so that half of one is never kept."""
    path, half = _STREAMS / f"{name}.jsonl", _STREAMS / f"{name}.half"
    if not path.exists():
        remark(f"pdwire conform {' '.join(words)}")
        command = [sys.executable, "-m", "pdwire.cli", "conform", *words, "--events", str(half)]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if done.returncode not in {0, 1}:
            fail(f"pdwire conform {' '.join(words)} ended with status {done.returncode}")
        half.rename(path)
    return path


def page(events: Iterable[Event]) -> str:
    """The Markdown of ``docs/conformance.md``."""
    tested = gather(events)
    lines = [_HEAD, f"**{closing(tested)}**", "", *_codecs(tested), *_running(tested)]
    return "\n".join((*lines, *_differences(tested))) + "\n"


def _codecs(tested: Sequence[Tested]) -> Iterator[str]:
    yield "## Codecs"
    yield ""
    yield "Passed of those that could be asked, by level; the rest is listed below with its reason."
    yield ""
    yield "| target | MUST | SHOULD | MAY | known | could not be asked |"
    yield "|---|--:|--:|--:|--:|--:|"
    for each in tested:
        cases = [case for case in each.cases if case.role == "codec"]
        if cases:
            yield f"| `{each.target}` | " + " | ".join(_numbers(cases)) + " |"
    yield ""


def _numbers(cases: Sequence[CaseEvent]) -> Iterator[str]:
    levels, whole = by_level(cases), counts(cases)
    for level in LEVELS:
        found = levels.get(level, {})
        asked = sum(found.values()) - found.get(Verdict.SKIPPED, 0)
        yield f"{found.get(Verdict.PASSED, 0):,} of {asked:,}" if asked else "–"
    yield f"{whole.get(Verdict.KNOWN, 0):,}"
    yield f"{whole.get(Verdict.SKIPPED, 0):,}"


def _running(tested: Sequence[Tested]) -> Iterator[str]:
    rows = list(_rows(tested))
    if not rows:
        return
    yield "## Running ranks"
    yield ""
    yield "Whole managers, unmodified; the suite is the other side, over ZMQ, HTTP and the engine."
    yield ""
    yield "| target | role | backend | passed | known | failed | could not be asked |"
    yield "|---|---|---|--:|--:|--:|--:|"
    yield from rows
    yield ""


def _rows(tested: Sequence[Tested]) -> Iterator[str]:
    for each in tested:
        live = [case for case in each.cases if case.role != "codec"]
        for role, backend in dict.fromkeys((case.role, case.backend) for case in live):
            found = counts(case for case in live if (case.role, case.backend) == (role, backend))
            bad = sum(number for verdict, number in found.items() if Verdict(verdict).is_bad)
            passed = found.get(Verdict.PASSED, 0) + found.get(Verdict.FLAKY, 0)
            if passed + bad + found.get(Verdict.KNOWN, 0):
                numbers = (passed, found.get(Verdict.KNOWN, 0), bad, found.get(Verdict.SKIPPED, 0))
                told = " | ".join(str(number) for number in numbers)
                yield f"| `{each.target}` | {role} | {backend} | {told} |"


def _differences(tested: Sequence[Tested]) -> Iterator[str]:
    """Every reason once, the one that holds for most cases first."""
    found: dict[str, list[CaseEvent]] = {}
    for each in tested:
        for case in each.cases:
            if case.verdict is Verdict.KNOWN:
                found.setdefault(case.reason, []).append(case)
    if not found:
        return
    yield "## Where releases differ from the strict reading"
    yield ""
    yield "| what they do | level | cases | releases | for instance |"
    yield "|---|---|--:|---|---|"
    for reason, cases in sorted(found.items(), key=_size):
        levels = ", ".join(name for name in LEVELS if any(case.level == name for case in cases))
        slugs = sorted({case.slug for case in cases})
        example = next((slug for slug in slugs if not slug.startswith("ascend/")), slugs[0])
        yield f"| {reason} | {levels} | {len(slugs):,} | {_span(cases)} | `{example}` |"


def _size(entry: tuple[str, list[CaseEvent]]) -> tuple[int, str]:
    return -len({case.slug for case in entry[1]}), entry[0]


def _span(cases: Iterable[CaseEvent]) -> str:
    """From the oldest to the newest; a hole in between is not told."""
    known = ordered(case.release for case in cases)
    return known[0] if len(known) == 1 else f"{known[0]}–{known[-1]}"


if __name__ == "__main__":
    main()
