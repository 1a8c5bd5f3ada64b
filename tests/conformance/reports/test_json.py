"""The JSON report and the stream's lines meet their published schemas."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from pdwire_conformance.conform.events import Event, Verdict
from pdwire_conformance.reports.json import as_json, render

from .conftest import CASE, FAILED, lines_of, run_of

SCHEMAS = Path(__file__).resolve().parents[3] / "docs" / "schema"


def _validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_a_report_meets_its_schema(
    realistic: Callable[[Sequence[str], int], list[Event]],
) -> None:
    events = realistic(["pdwire", "sglang==0.5.23"], 300)
    told = json.loads(render(events))
    _validator("conform").validate(told)
    assert len(told["cases"]) == 300
    assert all(len(case["results"]) == 2 for case in told["cases"])


def test_every_line_of_a_stream_meets_its_schema(
    realistic: Callable[[Sequence[str], int], list[Event]],
) -> None:
    validator = _validator("conform-events")
    for line in lines_of(realistic(["pdwire"], 200)):
        validator.validate(json.loads(line))


def test_a_line_that_is_no_event_does_not_meet_the_schema() -> None:
    line = json.loads(lines_of(run_of(CASE))[1])
    with pytest.raises(jsonschema.ValidationError):
        _validator("conform-events").validate({**line, "verdict": "fine"})


def test_a_case_stands_once_with_all_its_results() -> None:
    told = as_json([*run_of(CASE), *run_of(FAILED, target="cmd:./mine")])
    (case,) = told["cases"]
    assert [(each["target"], each["verdict"]) for each in case["results"]] == [
        ("pdwire", "passed"),
        ("cmd:./mine", "failed"),
    ]
    assert told["clean"] is False
    assert told["testees"][1]["by_level"] == {"MUST": {"failed": 1}}


def test_a_stream_cut_short_is_not_clean_and_says_so() -> None:
    told = json.loads(render(run_of(CASE)[:-1]))
    _validator("conform").validate(told)
    assert told["clean"] is False
    assert "ends before the run did" in told["testees"][0]["problems"][0]


def test_a_lone_surrogate_can_be_written_to_a_file() -> None:
    text = render(run_of(replace(CASE, verdict=Verdict.FAILED, came="\ud800")))
    assert "\\ud800" in text.encode("utf-8").decode("utf-8")
