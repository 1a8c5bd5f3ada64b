from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pdwire_conformance.conform.events import CaseEvent, EndEvent, Event, Verdict
from pdwire_conformance.conform.known import KnownError
from pdwire_conformance.conform.known_file import read
from pdwire_conformance.conform.skeleton import skeleton
from pdwire_conformance.suite.case import Case

MakeCase = Callable[..., Case]
Events = Callable[..., list[Event]]


def tables(events: Sequence[Event]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(skeleton(events)).get("known", [])
    return found


def test_kin_that_all_fail_become_one_glob(a_case: MakeCase, events: Events) -> None:
    suite = [
        *(a_case(f"mooncake/A/r{n}/frame-{n}-plus", "fail") for n in range(1, 4)),
        a_case("mooncake/A/r1/frame-1-zeros"),
    ]
    (table,) = tables(events(suite))
    assert table == {"targets": ["fake"], "cases": ["*/*/*/frame-*-plus"], "reason": "TODO"}


def test_a_glob_takes_in_no_case_that_passes(a_case: MakeCase, events: Events) -> None:
    suite = [
        a_case("mooncake/A/r1/frame-1-plus", "fail"),
        a_case("mooncake/A/r2/frame-1-plus", "fail"),
        a_case("mooncake/B/r1/frame-1-plus", "fail"),
        a_case("mooncake/B/r2/frame-1-plus"),
        a_case("values/plus", "fail"),
    ]
    listed = {each for table in tables(events(suite)) for each in table["cases"]}
    assert listed == {"*/A/*/frame-*-plus", "mooncake/B/r1/frame-1-plus", "values/plus"}


def test_faults_taken_at_the_same_places_are_one_entry(a_case: MakeCase, events: Events) -> None:
    suite = [
        *(a_case(f"mooncake/A/r1/frame-{n}-{what}", "fail") for n in "12" for what in ("a", "b")),
        a_case("mooncake/A/r1/frame-1-c", "fail"),
        a_case("mooncake/A/r1/frame-2-c"),
        a_case("mooncake/A/r1/frame-3-c", "fail"),  # as many places, and not the same
    ]
    assert [table["cases"] for table in tables(events(suite))] == [
        ["*/*/*/frame-*-a", "*/*/*/frame-*-b"],
        ["mooncake/A/r1/frame-1-c", "mooncake/A/r1/frame-3-c"],
    ]


def test_a_glob_for_numbers_takes_in_no_word(a_case: MakeCase, events: Events) -> None:
    suite = [
        a_case("mooncake/A/r1/frame-1-above", "fail"),
        a_case("mooncake/A/r1/frame-2-above", "fail"),
        a_case("mooncake/A/r1/frame-2-port-above"),
    ]
    (table,) = tables(events(suite))
    assert table["cases"] == ["*/*/*/frame-[0-9]-above"]


def test_a_written_case_of_several_backends_is_one_name(a_case: MakeCase, events: Events) -> None:
    suite = [a_case(f"empty/spelling/{backend}", "fail") for backend in ("mooncake", "nixl")]
    (table,) = tables(events([*suite, a_case("empty/spelling-2/nixl")]))
    assert table["cases"] == ["empty/spelling/*"]


def test_what_the_testee_did_keeps_kinds_apart(a_case: MakeCase, events: Events) -> None:
    suite = [a_case("mooncake/A/r1/x", "fail"), a_case("mooncake/B/r1/x", "die")]
    text = skeleton(events(suite))
    assert "# 1 case: it gives something else." in text
    assert "# 1 case: it breaks the protocol." in text
    assert text.count("[[known]]") == 2


def test_what_is_listed_already_is_not_written_again(a_case: MakeCase, events: Events) -> None:
    text = 'schema = "pdwire.known/1"\n[[known]]\ncases = ["x/bad"]\nreason = "so"\n'
    assert tables(events([a_case("x/bad", "fail")], known=read("list.toml", text))) == []


def test_a_skeleton_is_refused_until_it_is_explained(a_case: MakeCase, events: Events) -> None:
    text = skeleton(events([a_case("x/bad", "fail")]))
    with pytest.raises(KnownError, match="reason is still TODO"):
        read("new.toml", text)


def test_an_explained_skeleton_makes_the_run_clean(a_case: MakeCase, events: Events) -> None:
    does = ("pass", "fail", "die", "pass", "fail")
    suite = [
        a_case(f"mooncake/{name}/r{n % 3}/frame-{n}-{what}", does[(n + len(what)) % 5])
        for name in "ABC"
        for n in range(7)
        for what in ("plus", "zeros", "wide")
    ]
    text = skeleton(events(suite)).replace("TODO", "because")
    *cases, last = events(suite, known=read("new.toml", text))
    assert isinstance(last, EndEvent)
    assert last.problems == ()
    assert {*last.counts} == {"passed", "known"}
    assert sum(isinstance(case, CaseEvent) and case.verdict == "known" for case in cases) > 30


def test_releases_are_named_where_only_some_fail() -> None:
    events = [
        event("x/a", "mine", "0.5.21", "failed"),
        event("x/a", "mine", "0.5.22", "failed"),
        event("x/a", "mine", "0.5.23", "passed"),
        event("x/b", "mine", "0.5.22", "failed"),
        event("x/b", "mine", "0.5.23", "failed"),
    ]
    assert [(table["cases"], table.get("releases")) for table in tables(events)] == [
        (["x/a"], ["0.5.21..0.5.22"]),
        (["x/b"], None),
    ]


def test_releases_as_targets_become_ranges_that_end_where_one_passes() -> None:
    ran = ("0.5.19", "0.5.20", "0.5.21", "0.5.22", "0.5.23")
    passing = {"0.5.21"}
    events = [
        event("x/a", f"sglang=={each}", each, "passed" if each in passing else "failed")
        for each in ran
    ]
    (table,) = tables(events)
    assert table["targets"] == ["sglang==0.5.19..0.5.20", "sglang==0.5.22..0.5.23"]


def test_a_range_goes_on_where_a_case_does_not_apply_but_not_where_nothing_ran() -> None:
    events = [
        event("x/a", "sglang==0.5.20", "0.5.20", "failed"),
        event("x/other", "sglang==0.5.21", "0.5.21", "passed"),
        event("x/a", "sglang==0.5.22", "0.5.22", "failed"),
        event("x/a", "sglang==0.5.9", "0.5.9", "failed"),
    ]
    (table,) = tables(events)
    assert table["targets"] == ["sglang==0.5.9", "sglang==0.5.20..0.5.22"]


def event(slug: str, target: str, release: str, verdict: str) -> CaseEvent:
    told: dict[str, Any] = dict.fromkeys(
        ("backend", "role", "level", "family", "message", "layout", "purpose", "expectation"), ""
    )
    told |= {"expected": "a refusal", "came": "{}", "seconds": 0.0}
    return CaseEvent(slug=slug, target=target, release=release, verdict=Verdict(verdict), **told)
