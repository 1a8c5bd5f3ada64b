from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from pdwire_conformance.conform.select import Filters, scheduled
from pdwire_conformance.suite.case import Case, Level, Live, Recognise, Recognised, Role

MakeCase = Callable[..., Case]
HAS = {"mooncake": ("0.5.21", "0.5.22", "0.5.23"), "nixl": ("0.5.22",)}


@pytest.fixture
def suite(a_case: MakeCase) -> list[Case]:
    return [
        a_case("mooncake/A/r1/one", message="A"),
        a_case("mooncake/B/r1/one", message="B", level=Level.SHOULD),
        a_case("nixl/A/r1/one", message="A", backend="nixl", releases=("0.5.22",)),
        a_case("rooms/again", role=Role.PREFILL, check=Live(steps=()), releases=("0.5.21",)),
    ]


@pytest.mark.parametrize(
    ("filters", "slugs"),
    [
        (Filters(cases=("*/A/*",)), ["mooncake/A/r1/one", "nixl/A/r1/one"]),
        (Filters(cases=("rooms/again", "*/B/*")), ["mooncake/B/r1/one", "rooms/again"]),
        (Filters(levels=("SHOULD",)), ["mooncake/B/r1/one"]),
        (Filters(roles=("prefill",)), ["rooms/again"]),
        (Filters(backends=("nixl",)), ["nixl/A/r1/one"]),
        (Filters(releases=("0.5.21",)), ["rooms/again"]),
        (Filters(messages=("A",), backends=("mooncake",)), ["mooncake/A/r1/one"]),
    ],
)
def test_filters_narrow(suite: list[Case], filters: Filters, slugs: list[str]) -> None:
    assert [item.case.slug for item in scheduled(suite, HAS, filters)] == slugs


def test_a_case_runs_at_the_newest_release_that_both_have(a_case: MakeCase) -> None:
    case = a_case("x", releases=("0.5.20", "0.5.21", "0.5.22"))
    assert [item.id for item in scheduled([case], HAS, Filters())] == ["x@0.5.22"]


def test_releases_that_are_named_all_run(a_case: MakeCase) -> None:
    case = a_case("x", releases=("0.5.21", "0.5.22", "0.5.23"))
    chosen = scheduled([case], HAS, Filters(releases=("0.5.23", "0.5.21", "0.5.9")))
    assert [item.release for item in chosen] == ["0.5.21", "0.5.23"]


def test_recognising_knows_no_release_and_runs_once(a_case: MakeCase) -> None:
    check = Recognise(frames=(b"x",), expect=Recognised(message="A"))
    case = a_case("x", check=check, releases=("0.5.21", "0.5.22"))
    assert len(scheduled([case], HAS, Filters(every_release=True))) == 1


def test_what_shares_no_release_does_not_apply(a_case: MakeCase) -> None:
    case = a_case("x", backend="nixl", releases=("0.5.23",))
    assert scheduled([case], HAS, Filters()) == ()


def test_codec_cases_come_first_and_live_ones_by_rank(a_case: MakeCase) -> None:
    live = Live(steps=())
    suite = [
        a_case("a", role=Role.DECODE, check=live, releases=("0.5.22",)),
        a_case("b", role=Role.PREFILL, check=live, releases=("0.5.23",)),
        a_case("c", role=Role.PREFILL, check=live, releases=("0.5.21",)),
        a_case("d", role=Role.PREFILL, check=live, releases=("0.5.23",)),
        a_case("e"),
    ]
    assert [item.case.slug for item in scheduled(suite, HAS, Filters())] == [*"ecbda"]


def test_one_rank_is_left_once(a_case: MakeCase) -> None:
    suite = [
        a_case(f"{n}", role=role, check=Live(steps=()), releases=(release,))
        for n, (role, release) in enumerate(
            [(role, release) for role in (Role.PREFILL, Role.DECODE) for release in HAS["mooncake"]]
            * 3
        )
    ]
    ranks = [(item.case.role, item.release) for item in scheduled(suite, HAS, Filters(roles=()))]
    assert sum(one != other for one, other in pairwise(ranks)) == 5


def test_only_filters_that_were_given_are_told() -> None:
    assert Filters(levels=("MUST",), every_release=True).as_json() == {
        "levels": ["MUST"],
        "every_release": True,
    }
