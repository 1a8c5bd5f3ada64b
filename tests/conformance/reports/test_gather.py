"""What the streams add up to: clean or not, and what is missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pdwire_conformance.conform.events import EndEvent, StartEvent, Verdict
from pdwire_conformance.reports.gather import by_level, closing, gather, group_of, is_clean, span

from .conftest import CASE, FAILED, run_of


def test_an_empty_stream_is_not_clean() -> None:
    assert not is_clean(gather([]))
    assert closing(gather([])) == "Not clean: the stream has no testee."


def test_a_run_of_passed_and_known_cases_is_clean() -> None:
    known = replace(CASE, slug="b", verdict=Verdict.KNOWN)
    tested = gather(run_of(CASE, known, replace(CASE, slug="c", verdict=Verdict.FLAKY)))
    assert is_clean(tested)
    assert closing(tested) == "Clean: 1 passed, 1 known, 1 flaky."


@pytest.mark.parametrize("verdict", [Verdict.FAILED, Verdict.ERROR, Verdict.UNEXPECTED])
def test_one_bad_case_makes_it_unclean(verdict: Verdict) -> None:
    tested = gather(run_of(CASE, replace(CASE, slug="b", verdict=verdict)))
    assert not is_clean(tested)
    assert closing(tested) == f"Not clean: 1 passed, 1 {verdict}."


def test_a_problem_of_the_lists_makes_it_unclean() -> None:
    tested = gather(run_of(CASE, problems=("x matches nothing",)))
    assert not is_clean(tested)
    assert closing(tested) == "Not clean: 1 passed; 1 problem."


def test_a_run_in_which_all_was_skipped_says_that_nothing_was_judged() -> None:
    tested = gather(run_of(replace(CASE, verdict=Verdict.SKIPPED)))
    assert closing(tested) == "Clean, but nothing was judged: 1 skipped."


def test_a_stream_without_its_end_was_cut_short() -> None:
    events = [each for each in run_of(CASE) if not isinstance(each, EndEvent)]
    (tested,) = gather(events)
    assert tested.problems == (
        "the stream ends before the run did: results that came: 1, cases selected: 1",
    )


def test_a_stream_without_its_start_lacks_its_first_lines() -> None:
    events = [each for each in run_of(CASE) if not isinstance(each, StartEvent)]
    assert "no start" in gather(events)[0].problems[0]


def test_a_line_lost_in_the_middle_is_noticed() -> None:
    start, first, _, end = run_of(CASE, replace(CASE, slug="b"))
    (tested,) = gather([start, first, end])
    assert tested.problems == ("the run counted 2 results, the stream has 1: lines are missing",)


def test_a_later_run_of_a_case_replaces_the_earlier_one() -> None:
    tested = gather([*run_of(FAILED), *run_of(CASE)])
    assert [case.verdict for case in tested[0].cases] == [Verdict.PASSED]
    assert is_clean(tested)


def test_one_case_in_two_releases_counts_twice() -> None:
    older = replace(CASE, release="0.5.19")
    (tested,) = gather(run_of(CASE, older))
    assert by_level(tested.cases) == {"MUST": {"passed": 2}}
    assert tested.releases == ("0.5.19", "0.5.23")


def test_derived_cases_group_by_backend_and_message() -> None:
    derived = replace(CASE, slug="nixl/ABORT/r1/count-3", family="spec")
    assert (group_of(CASE), group_of(derived)) == ("registration", "nixl/ABORT")


def test_many_releases_are_told_by_the_first_and_the_last() -> None:
    assert span(["0.5.6", "0.5.7"]) == "0.5.6, 0.5.7"
    assert span(["0.5.6", "0.5.7", "0.5.8"]) == "0.5.6 to 0.5.8 (3 releases)"
