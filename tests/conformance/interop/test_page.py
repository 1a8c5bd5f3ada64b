from __future__ import annotations

from pathlib import Path
from typing import Any

from pdwire_conformance.interop.page import MEASURED, PAGE, keep, page, read
from pdwire_conformance.interop.results import Result, as_json

ROOT = Path(__file__).resolve().parents[3]


def row(**more: object) -> Result:
    told: dict[str, Any] = {
        "backend": "mooncake",
        "prefill": "0.5.19",
        "decode": "ours",
        "topology": "tp1-tp1",
        "case": "rooms",
        "verdict": "passed",
    }
    return Result(**(told | more))


def cell(*rows: Result) -> str:
    (line,) = [line for line in page(rows).splitlines() if line.startswith("| 0.5.19 |")]
    return line.split("|")[2].strip()


def test_the_page_is_what_the_kept_results_say() -> None:
    assert (ROOT / PAGE).read_text(encoding="utf-8") == page(read(ROOT / MEASURED))


def test_both_directions_make_one_cell() -> None:
    down, up = row(), row(prefill="ours", decode="0.5.19")
    failed = {"verdict": "failed", "reason": "it hung"}
    assert cell(down, up) == "✓"
    assert cell(down, row(prefill="ours", decode="0.5.19", **failed)) == "↓"
    assert cell(row(**failed), up) == "↑"
    assert cell(row(**failed), row(prefill="ours", decode="0.5.19", **failed)) == "✗"
    assert cell(row(verdict="not run", reason="none", case="all")) == "–"


def test_a_reason_stands_once_with_the_releases_it_holds_for() -> None:
    rows = [
        row(prefill=release, case="prefix", verdict="not run", reason="no such frame")
        for release in ("0.5.9", "0.5.10", "0.5.10.post1")
    ]
    assert "- prefix: no such frame (0.5.9–0.5.10.post1)\n" in page(rows)


def test_releases_that_are_no_range_are_listed() -> None:
    rows = [
        row(prefill=release, case="prefix", verdict="not run", reason="no such frame")
        for release in ("0.5.9", "0.5.11")
    ]
    assert "(0.5.9, 0.5.11)" in page(rows)


def test_a_new_run_replaces_what_was_kept_of_its_pair(tmp_path: Path) -> None:
    (tmp_path / MEASURED).parent.mkdir(parents=True)
    (tmp_path / PAGE).parent.mkdir(parents=True)
    keep(tmp_path, [row(case="rooms"), row(case="again"), row(backend="nixl")])
    keep(tmp_path, [row(case="rooms", verdict="failed", reason="it hung")])
    kept = [(each.backend, each.case, each.verdict) for each in read(tmp_path / MEASURED)]
    assert kept == [("mooncake", "rooms", "failed"), ("nixl", "rooms", "passed")]


def test_a_run_of_nothing_has_not_passed() -> None:
    assert as_json([])["passed"] is False
    assert as_json([row()])["passed"] is True
    assert as_json([row(), row(verdict="failed")])["passed"] is False
