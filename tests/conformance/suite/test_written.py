"""The cases that people wrote: the files, the schema, and what a wrong file is told."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from pdwire_conformance.suite.case import (
    Accept,
    Ambiguous,
    Case,
    Decode,
    Encode,
    Recognise,
    Refuse,
)
from pdwire_conformance.suite.load import cases
from pdwire_conformance.suite.written import FILES, CaseFileError, read_cases, schema, written_cases

BASES = {"one": ["ABORT_ACK", "7", "2"]}
ROOT = Path(__file__).parents[3]

ROWS = {"L": 6, "F": 14, "E": 4, "V": 6, "R": 10, "A": 3, "S": 7, "M": 3}
"""Kinds of field reports, and how many rows of each there are."""

NOT_FROM_OUTSIDE = {"L6"}
"""A socket that fails under its loop: only the managers' own tests can bring that about."""


def test_every_row_of_the_field_reports_is_in_a_case() -> None:
    wanted = {f"{kind}{n}" for kind, count in ROWS.items() for n in range(1, count + 1)}
    told = {row for case in cases() for row in case.reports}
    assert wanted - told <= NOT_FROM_OUTSIDE, "rows that no case stands for"
    assert told - wanted == set(), "rows that there are not"


def test_every_codec_row_is_in_a_case_that_people_wrote() -> None:
    wanted = {*(f"F{n}" for n in range(1, 15)), *(f"E{n}" for n in range(1, 5))}
    wanted |= {f"V{n}" for n in range(1, 6)} | {"L2"}
    assert wanted <= {row for case in written_cases() for row in case.reports}


@pytest.mark.parametrize("path", sorted(FILES.glob("*.toml")), ids=lambda path: path.name)
def test_every_file_is_what_the_schema_says(path: Path) -> None:
    told = tomllib.loads(path.read_text(encoding="utf-8"))
    if path.name == "bases.toml":
        assert set(told) == {"base"}
        return
    Draft202012Validator(schema()).validate(told)


def test_the_published_schema_is_the_one_that_is_used() -> None:
    Draft202012Validator.check_schema(schema())
    published = ROOT / "docs" / "schema" / "case.schema.json"
    assert json.loads(published.read_text(encoding="utf-8")) == schema()


def written(tmp_path: Path, body: str) -> list[Case]:
    path = tmp_path / "abort.toml"
    path.write_text(body, encoding="utf-8")
    return list(read_cases(path, BASES))


HEAD = """
[[case]]
slug        = "abort/first"
level       = "MUST"
backends    = ["mooncake", "mori"]
message     = "ABORT_ACK"
layouts     = ["r4"]
purpose     = "An acknowledgement that has {say}."
expectation = "Whatever is right about it here."
"""


def test_a_table_is_a_case_per_backend_and_input(tmp_path: Path) -> None:
    found = written(
        tmp_path,
        HEAD
        + """inputs = [
  { name = "rank", decode = { base = "one" }, accept = { room = 7 }, none = ["generation"] },
  { name = "word", say = "a word", decode = { base = "one", put = { 1 = "x" } }, refuse = {} },
]""",
    )
    assert [case.slug for case in found] == [
        "abort/first-rank/mooncake",
        "abort/first-rank/mori",
        "abort/first-word/mooncake",
        "abort/first-word/mori",
    ]
    assert found[0].purpose == "An acknowledgement that has rank."
    assert found[0].releases == ("0.5.22", "0.5.23")
    assert (found[0].layout, found[0].family, found[0].origin) == ("r4", "abort", "abort.toml")
    assert found[0].check == Decode(
        frames=(b"ABORT_ACK", b"7", b"2"), expect=Accept(values={"room": 7, "generation": None})
    )
    assert found[2].check == Decode(frames=(b"ABORT_ACK", b"x", b"2"), expect=Refuse())


def test_frames_may_be_cut_and_prolonged(tmp_path: Path) -> None:
    told = 'recognise = { base = "one", take = 2, add = ["u32:1"] }\nambiguous = true'
    found = written(tmp_path, HEAD + told)
    assert found[0].check == Recognise(frames=(b"ABORT_ACK", b"7", b"\1\0\0\0"), expect=Ambiguous())


def test_values_to_be_sent_are_given_with_their_frames(tmp_path: Path) -> None:
    told = 'encode = { room = 7 }\nnone = ["prefill_rank"]\ngives = ["ABORT_ACK", "7"]'
    assert written(tmp_path, HEAD + told)[0].check == Encode(
        values={"room": 7, "prefill_rank": None}, expect=(b"ABORT_ACK", b"7")
    )


ASKED = 'decode = ["x"]\nrefuse = {}\n'


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", r"abort\.toml: 'case' is a required property"),
        ("[[case]", r"abort\.toml: Expected"),
        (HEAD + ASKED + "sort = 1", r"abort\.toml:3: case abort/first: .*'sort' was unexpected"),
        (HEAD.replace("MUST", "OUGHT") + ASKED, r":3: case abort/first, at /level: 'OUGHT'"),
        (HEAD.replace("abort/first", "Abort 1") + ASKED, r":3: case Abort 1, at /slug: 'Abort 1'"),
        (HEAD.replace("abort/first", "odd/first") + ASKED, r":3: case odd/first, at /slug"),
        (HEAD + 'decode = ["i32[x]"]\nrefuse = {}', r":3: case abort/first: no frame 'i32\[x\]'"),
        (HEAD + 'decode = { base = "two" }\nrefuse = {}', "no base message 'two'; there are one"),
        (HEAD + 'decode = { base = "one", put = { 9 = "" } }\nrefuse = {}', "one has 3 frames"),
        (HEAD + 'decode = ["x"]', r":3: case abort/first: .*(refuse|accept)"),
        (HEAD.replace("r4", "r99") + ASKED, "no release of mooncake is left by message"),
        (HEAD + ASKED + 'releases = "0.5.99.."', "no release 0.5.99"),
        (HEAD + 'decode = ["x"]\nrefuse = { kinds = ["bad"] }', "at /refuse/kinds/0: 'bad'"),
    ],
)
def test_a_wrong_file_is_told_where_and_what(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(CaseFileError, match=said):
        written(tmp_path, body)


def test_a_case_without_an_answer_names_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(CaseFileError, match="decode needs accept or refuse"):
        written(tmp_path, HEAD + 'decode = ["x"]')
    with pytest.raises(CaseFileError, match="encode needs gives or refuse"):
        written(tmp_path, HEAD + "encode = { room = 7 }")
    with pytest.raises(CaseFileError, match="recognise needs recognised, ambiguous or refuse"):
        written(tmp_path, HEAD + 'recognise = ["x"]')
    with pytest.raises(CaseFileError, match="asks nothing"):
        written(tmp_path, HEAD)
