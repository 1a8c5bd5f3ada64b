"""Lists of known failures: what they excuse, and what is said of one that is wrong."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pdwire.wire import releases
from pdwire_conformance.conform.known import Known, KnownError, load, packaged
from pdwire_conformance.conform.known_file import Entry, read
from pdwire_conformance.conform.select import Item
from pdwire_conformance.suite.case import Case
from pdwire_conformance.suite.load import cases

MakeCase = Callable[..., Case]
SCHEMA = Path(__file__).parents[3] / "docs" / "schema" / "known.schema.json"
TODAY = date(2026, 6, 1)
HAS = {"mooncake": ("0.5.22", "0.5.23")}
HEAD = 'schema = "pdwire.known/1"\n'


def entries(*tables: str) -> tuple[Entry, ...]:
    return read("list.toml", HEAD + "\n".join(tables))


def known(cases: str, more: str = "") -> str:
    return f'[[known]]\ncases = {cases}\nreason = "so"\n{more}'


def faults(text: str, *, need_targets: bool = False) -> list[str]:
    with pytest.raises(KnownError) as caught:
        read("list.toml", text, need_targets=need_targets)
    return caught.value.faults


def problems(suite: list[Case], *tables: str, target: str = "mine") -> list[str]:
    return Known(entries(*tables), target, suite).problems(HAS, TODAY)


def named(case: Case, *tables: str, release: str = "0.5.23") -> str:
    """The reason that is found for a case; empty without one."""
    entry = Known(entries(*tables), "mine", [case]).find(Item(case=case, release=release))
    return entry.reason if entry is not None else ""


def test_a_slug_and_a_glob_name_items(a_case: MakeCase) -> None:
    table = known('["x/one", "y/*-width"]')
    assert named(a_case("x/one"), table) == "so"
    assert named(a_case("y/frame-3-width"), table) == "so"
    assert named(a_case("x/one-more"), table) == ""


def test_releases_narrow_an_entry(a_case: MakeCase) -> None:
    table = known('["x/one"]', 'releases = ["0.5.6..0.5.9", "0.5.22"]')
    has = [
        release
        for release in ("0.5.6", "0.5.8.post1", "0.5.9", "0.5.10", "0.5.22", "0.5.23")
        if named(a_case("x/one"), table, release=release)
    ]
    assert has == ["0.5.6", "0.5.8.post1", "0.5.9", "0.5.22"]


@pytest.mark.parametrize(
    ("targets", "target", "is_about"),
    [
        ('["sglang==0.5.19..0.5.23"]', "sglang==0.5.20", True),
        ('["sglang==0.5.19..0.5.23"]', "sglang==0.5.18", False),
        ('["sglang==0.5.19"]', "sglang==0.5.19", True),
        ('["sglang==*"]', "sglang==0.5.6", True),
        ('["cmd:node *"]', "cmd:node mine.mjs", True),
        ('["pdwire"]', "pdwire:reading", False),
    ],
)
def test_targets_narrow_a_list(targets: str, target: str, *, is_about: bool) -> None:
    listed = entries(known('["x"]', f"targets = {targets}"))
    assert bool(Known(listed, target).entries) is is_about


def test_a_plain_slug_goes_before_a_glob(a_case: MakeCase) -> None:
    plain = known('["x/one"]').replace('"so"', '"exactly"')
    assert named(a_case("x/one"), known('["x/*"]'), plain) == "exactly"
    assert named(a_case("x/two"), known('["x/*"]'), plain) == "so"


def test_names_that_match_nothing_are_told_with_their_line(a_case: MakeCase) -> None:
    suite = [a_case("registration/width"), a_case("x/one", releases=("0.5.22",))]
    told = problems(suite, known('[\n  "registration/widht",\n  "y/*",\n  "x/one",\n]'))
    assert told == [
        "list.toml:4: no case is called 'registration/widht'; did you mean 'registration/width'?",
        "list.toml:5: no case is called 'y/*'",
    ]


def test_a_name_without_a_release_of_the_entry_matches_nothing(a_case: MakeCase) -> None:
    suite = [a_case("x/one", releases=("0.5.22",))]
    assert problems(suite, known('["x/one"]', 'releases = ["0.5.23"]')) == [
        "list.toml:3: 'x/one' names cases, but none at a release that the entry is about"
    ]


def test_a_case_that_does_not_apply_to_the_target_matches_nothing(a_case: MakeCase) -> None:
    assert problems([a_case("x/one", releases=("0.5.6",))], known('["x/one"]')) == [
        "list.toml:3: 'x/one' names cases, but none at a release that the entry is about"
    ]


def test_a_range_of_releases_may_hold_cases_of_some_of_them(a_case: MakeCase) -> None:
    suite = [a_case("x/one", releases=("0.5.6",))]  # not one of 0.5.23, which is tested here
    table = known('["x/one"]', 'targets = ["sglang==0.5.6..0.5.23"]')
    assert problems(suite, table, target="sglang==0.5.23") == []


def test_an_entry_counts_on_the_day_it_expires_and_not_after(a_case: MakeCase) -> None:
    suite = [a_case("x/one")]
    assert problems(suite, known('["x/one"]', "expires = 2026-06-01")) == []
    assert problems(suite, known('["x/one"]', "expires = 2026-05-31")) == [
        "list.toml:2: expired on 2026-05-31: look again, or move the date"
    ]


def test_entries_about_other_targets_are_not_looked_at(a_case: MakeCase) -> None:
    table = known('["nothing"]', 'targets = ["sglang==0.5.6"]\nexpires = 2020-01-01')
    assert problems([a_case("x/one")], table) == []


def test_all_faults_are_told_at_once_with_their_lines() -> None:
    text = (
        'schema = "pdwire.known/2"\n'
        "colour = 1\n"
        "[[known]]\n"
        'cases = "x/one"\n'
        'reason = "TODO"\n'
        'link = "ftp://x"\n'
        "[[known]]\n"
        'cases = ["x"]\n'
        'reson = "so"\n'
        'releases = [\n  "0.5.9..0.5.6",\n  "0.5.99",\n]\n'
        'expires = "2027-01-01"\n'
        "[[flaky]]\n"
        'cases = ["x"]\n'
        'reason = "so"\n'
        "repetitions = 1\n"
    )
    assert faults(text) == [
        "list.toml:1: schema is 'pdwire.known/2', expected 'pdwire.known/1'",
        "list.toml:2: unknown key 'colour'",
        "list.toml:4: cases is 'x/one', expected a list of at least one text",
        "list.toml:5: reason is still TODO: look at the failure and say why it fails",
        "list.toml:6: link is 'ftp://x', expected an http or https address",
        "list.toml:9: unknown key 'reson'; did you mean 'reason'?",
        "list.toml:11: '0.5.9..0.5.6': 0.5.9 is newer than 0.5.6",
        "list.toml:12: no release '0.5.99'; did you mean '0.5.9'?",
        "list.toml:7: reason is missing: say in a sentence why it fails",
        "list.toml:14: expires is '2027-01-01', expected a date without quotes: 2027-06-01",
        "list.toml:18: repetitions is 1, expected a number from 2 on",
    ]


def test_text_that_is_no_toml_is_told_with_its_line() -> None:
    assert faults(HEAD + "[[known]\n") == [
        "list.toml:2: not TOML: Expected ']]' at the end of an array declaration"
    ]


def test_a_shipped_list_says_whom_it_is_about() -> None:
    assert faults(HEAD + known('["x"]'), need_targets=True) == [
        "list.toml:2: targets is None, expected a list of at least one text"
    ]


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(KnownError, match=r"none\.toml: cannot be read"):
        load([tmp_path / "none.toml"])


def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def as_json(text: str) -> Any:  # noqa: ANN401
    return json.loads(json.dumps(tomllib.loads(text), default=date.isoformat))


def test_shipped_lists_are_read_and_meet_the_schema() -> None:
    packaged()
    folder = Path(__file__).parents[3] / "conformance/pdwire_conformance/conform/known"
    lists = sorted(folder.glob("*.toml"))
    assert [each.name for each in lists] == [
        "pdwire.toml",
        "sglang-live.toml",
        "sglang.toml",
    ]
    for each in lists:
        validator().validate(as_json(each.read_text("utf-8")))


def test_shipped_lists_name_cases_that_there_are() -> None:
    # Every target's at once: a range of targets says itself which releases it is about.
    entries = [replace(entry, targets=()) for entry in packaged()]
    every = {name: tuple(releases(name)) for name in ("mooncake", "nixl", "mori", "ascend")}
    assert Known(entries, "", cases()).problems(every, TODAY) == []


@pytest.mark.parametrize(
    "table",
    [
        known("[]"),
        known('["x"]').replace('"so"', '" "'),
        known('["x"]').replace('"so"', '"todo: look"'),
        known('["x"]', 'link = "here"'),
        known('["x"]', "repetitions = 3"),
        known('["x"]', "colour = 3"),
        known('["x"]').replace("[[known]]", "[[flaky]]"),
        known('["x"]', "repetitions = 1").replace("[[known]]", "[[flaky]]"),
    ],
)
def test_schema_and_reader_refuse_the_same(table: str) -> None:
    assert faults(HEAD + table)
    assert not validator().is_valid(as_json(HEAD + table))


def test_schema_and_reader_take_the_same() -> None:
    text = HEAD + known(
        '["x"]',
        'targets = ["sglang==0.5.6..0.5.23"]\nreleases = ["0.5.6"]\nlink = "https://x"\n'
        "expires = 2027-01-01\n",
    )
    text += known('["y"]', "repetitions = 2").replace("[[known]]", "[[flaky]]")
    assert len(read("list.toml", text)) == 2
    validator().validate(as_json(text))
