"""The packed matrix: small, and all there."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pdwire_conformance.conform.events import Event, TraceLine, Verdict
from pdwire_conformance.reports.gather import gather
from pdwire_conformance.reports.pack import build_grid, pack, pack_within

from .conftest import CASE, FAILED, run_of


def _unpacked(events: Sequence[Event], budget: int) -> tuple[dict[str, Any], int, int]:
    text, most = pack_within(build_grid(gather(events)), budget)
    return json.loads(gzip.decompress(base64.b64decode(text))), most, len(text)


def test_rows_come_by_group_written_families_first_and_numbers_by_value() -> None:
    slugs = ["nixl/ABORT/r10/count-3", "nixl/ABORT/r2/count-10", "nixl/ABORT/r2/count-9"]
    derived = [replace(CASE, slug=slug, family="spec") for slug in slugs]
    grid = build_grid(gather(run_of(*derived, replace(CASE, slug="rooms/a", family="rooms"))))
    assert [row.case.slug for row in grid.rows] == ["rooms/a", slugs[2], slugs[1], slugs[0]]


def test_the_worst_release_is_what_a_cell_says() -> None:
    older = replace(FAILED, release="0.5.19")
    (row,) = build_grid(gather([*run_of(CASE, older), *run_of(target="cmd:./idle")])).rows
    assert row.verdicts == (Verdict.FAILED, None)


def test_releases_that_end_alike_share_one_outcome() -> None:
    events: list[Event] = []
    for at_s, release in enumerate(("0.5.19", "0.5.20", "0.5.21")):
        target = f"sglang=={release}"
        rerun = f"pdwire conform {target} --case {FAILED.slug} --release {release}"
        trace = (TraceLine(way="sent", text=f"decode, {release}", frames=("00",), at_s=at_s),)
        case = replace(FAILED, release=release, rerun=rerun, trace=trace)
        events += run_of(case, target=target)
    told = pack(build_grid(gather(events)), 512)
    assert len(told["outcomes"]) == 1
    assert told["texts"][told["outcomes"][0][5]] == "pdwire conform \x02 --case \x01 --release \x03"
    assert told["spans"] == [("0.5.19",), ("0.5.20",), ("0.5.21",)]


def test_what_passed_keeps_its_trace_only_where_there_is_room() -> None:
    events = run_of(replace(CASE, expected="x", came="x"), replace(FAILED, slug="b"))
    grid = build_grid(gather(events))
    told = pack(grid, 512)
    assert sorted(len(outcome[6]) for outcome in told["outcomes"]) == [0, 1]
    assert "x" not in told["texts"]
    told, _, size = _unpacked(events, 10**6)
    assert [len(outcome[6]) for outcome in told["outcomes"]] == [1, 1]
    other = [replace(CASE, slug=f"x/{n}", trace=(_line(n),)) for n in range(100)]
    _, most, size = _unpacked(run_of(*other), 10**6)
    told, cut_at, _ = _unpacked(run_of(*other), size - 1)
    assert (most, cut_at, told["lines"]) == (512, 512, [])


def _line(n: int) -> TraceLine:
    return TraceLine(way="sent", frames=(bytes([n, 255 - n] * 400).hex(),))


def test_frames_are_cut_until_the_page_keeps_its_budget() -> None:
    long = [replace(FAILED, slug=f"x/{n}", trace=(_line(n),)) for n in range(100)]
    whole, most, size = _unpacked(run_of(*long), 10**6)
    assert most == 512
    assert whole["frames"][0].endswith("… (800 bytes)")
    smaller, cut_at, less = _unpacked(run_of(*long), size - 1)
    assert cut_at == 128
    assert less < size
    assert len(smaller["frames"][0]) == 256 + len("… (800 bytes)")
    bare, cut_at, _ = _unpacked(run_of(*long), 10)
    assert (cut_at, bare["frames"]) == (0, [])


def test_a_large_matrix_is_small(
    realistic: Callable[[Sequence[str], int], list[Event]],
) -> None:
    targets = [f"sglang==0.5.{n}" for n in range(25)]
    told, most, size = _unpacked(realistic(targets, 400), 3_500_000)
    assert (len(told["grid"]), len(told["grid"][0])) == (25, 400)
    assert most == 512
    assert size < 100_000
