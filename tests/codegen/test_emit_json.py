from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from pdwire.reading import Reading, spec_from_json
from pdwire_codegen.emit_json import SCHEMA_PATH, SPEC_PATH, emit, render, spec_json
from pdwire_codegen.json_values import Json, meaning_json
from pdwire_codegen.model import REQUIRED, Meaning, Repeat, Spec


@pytest.fixture(scope="session")
def exported(whole: Spec) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(emit(whole)[SPEC_PATH])
    return value


def schema(spec: Spec) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(emit(spec)[SCHEMA_PATH])
    return value


def test_the_export_is_what_its_schema_describes(whole: Spec, exported: dict[str, Any]) -> None:
    described = schema(whole)
    jsonschema.Draft202012Validator.check_schema(described)
    jsonschema.validate(exported, described)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda spec: spec.pop("concepts"),
        lambda spec: spec.update(extra=1),
        lambda spec: spec["messages"][0].update(transport="udp"),
        lambda spec: spec["messages"][0]["layouts"][0].update(fingerprint="abc"),
        lambda spec: spec["messages"][0]["fields"][0].update(absent={"value": 1, "repeat": {}}),
        lambda spec: spec["messages"][0]["layouts"][0].update(counts_guard=True),
    ],
)
def test_the_schema_refuses_what_it_does_not_describe(small: Spec, spoil: Any) -> None:  # noqa: ANN401
    spec: dict[str, Any] = json.loads(render(spec_json(small)))
    jsonschema.validate(spec, schema(small))
    spoil(spec)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(spec, schema(small))


@pytest.mark.parametrize(
    ("meaning", "value"),
    [
        (None, {"value": None}),
        (0, {"value": 0}),
        (False, {"value": False}),
        ("", {"value": ""}),
        (b"\x80\x05", {"value": {"hex": "8005"}}),
        ((), {"value": []}),
        (Repeat(like="a", word="VRAM"), {"repeat": {"like": "a", "word": "VRAM"}}),
        (Repeat(like="a", from_field="b"), {"repeat": {"like": "a", "from_field": "b"}}),
    ],
)
def test_meanings(meaning: Meaning, value: Json) -> None:
    assert meaning_json(meaning) == value


def test_a_required_frame_has_no_meaning() -> None:
    with pytest.raises(KeyError):
        meaning_json(REQUIRED)


def test_a_frame_says_all_that_is_known_of_it(small: Spec) -> None:
    message: Any = json.loads(render(spec_json(small)))["messages"][0]
    assert message["layouts"][1]["frames"][2] == {
        "position": 2,
        "name": "data",
        "kind": "field",
        "type": "u64[]",
        "field": "data",
        "const": None,
        "length_of": None,
        "min": None,
        "max": None,
        "allowed": [],
        "empty": {"value": []},
        "writes_empty": True,
        "unread": False,
    }
    assert message["fields"][0]["max"] == 2**63 - 1


def test_the_second_reading_understands_the_export(exported: dict[str, Any]) -> None:
    reading = Reading(spec_from_json(exported))
    frames = [b"WATERMARK", b"0", b"17", b"10.0.0.2:17000"]
    values = reading.decode("WATERMARK", "r2", frames)
    assert values["tail"] == 17


def test_rendered_text_is_the_same_value_in_short_lines() -> None:
    value: Json = {"a": [str(number) for number in range(60)], "b": {"c": [{"d": 1}, {}]}, "e": []}
    text = render(value)
    assert json.loads(text) == value
    assert max(map(len, text.splitlines())) <= 100
    assert '"b": {"c": [{"d": 1}, {}]}' in text
