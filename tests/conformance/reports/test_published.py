"""The page of docs/ says what the streams say."""

from __future__ import annotations

from dataclasses import replace

from pdwire_conformance.conform.events import Verdict
from pdwire_conformance.reports.published import page

from .conftest import CASE, FAILED, run_of

KNOWN = replace(FAILED, verdict=Verdict.KNOWN, reason="no range is looked at")


def test_codecs_are_counted_by_level_and_only_what_was_asked() -> None:
    told = page(
        run_of(CASE, replace(KNOWN, slug="b"), replace(CASE, slug="c", verdict=Verdict.SKIPPED))
    )
    assert "| `pdwire` | 1 of 2 | – | – | 1 | 1 |" in told


def test_a_running_rank_has_a_row_for_each_role_and_backend() -> None:
    decode = replace(CASE, role="decode", slug="rooms/failed-is-final/nixl", backend="nixl")
    told = page(run_of(CASE, decode, replace(decode, slug="x", verdict=Verdict.ERROR)))
    assert "| `pdwire` | decode | nixl | 1 | 0 | 1 | 0 |" in told
    assert "| `pdwire` | codec |" not in told


def test_what_nobody_could_be_asked_of_a_role_is_no_row() -> None:
    decode = replace(CASE, role="decode", verdict=Verdict.SKIPPED)
    assert "## Running ranks" not in page(run_of(CASE, decode))


def test_a_difference_stands_once_with_its_cases_and_releases() -> None:
    old = replace(KNOWN, release="0.5.6", slug="ascend/x")
    new = replace(KNOWN, release="0.5.10", level="SHOULD", slug="mooncake/x")
    told = page([*run_of(old, target="sglang==0.5.6"), *run_of(new, target="sglang==0.5.10")])
    line = "| no range is looked at | MUST, SHOULD | 2 | 0.5.6–0.5.10 | `mooncake/x` |"
    assert told.count(line) == 1
