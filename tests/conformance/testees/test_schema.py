"""The published schemas and the checks by hand say the same of the same lines."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from jsonschema import Draft202012Validator

from pdwire_conformance.conform.judge import request_of
from pdwire_conformance.interop.operations import Operations
from pdwire_conformance.interop.options import Options
from pdwire_conformance.suite.case import Role
from pdwire_conformance.suite.load import cases
from pdwire_conformance.testees.ours import Generated
from pdwire_conformance.testees.protocol import FEATURES, KINDS, PROTOCOL
from pdwire_conformance.testees.shape import OUTCOMES, answer_fault

_ROOT = Path(__file__).parents[3]
_HELLO: dict[str, Any] = {
    "protocol": PROTOCOL,
    "name": "mine",
    "roles": ["codec"],
    "backends": {"nixl": {"releases": ["0.5.23"], "messages": {"ABORT": ["decode"]}}},
}
_CANDIDATE = {"message": "ABORT", "layouts": ["r1"]}


def _schema(name: str) -> dict[str, Any]:
    folder = files("pdwire_conformance.testees") / "schema"
    told: dict[str, Any] = json.loads((folder / f"{name}.schema.json").read_text("utf-8"))
    return told


def _named(schema: str, prefix: str) -> set[str]:
    """The operations that a schema has a definition of."""
    return {
        name.removeprefix(prefix) for name in _schema(schema)["$defs"] if name.startswith(prefix)
    }


def _accepts(op: str, answer: dict[str, Any]) -> bool:
    whole = _schema("answer")
    part = {"$ref": f"#/$defs/to_{op}", "$defs": whole["$defs"]}
    return bool(Draft202012Validator(part).is_valid({"id": 1} | answer))


_GOOD: list[tuple[str, dict[str, Any]]] = [
    ("hello", {"hello": _HELLO}),
    ("hello", {"hello": _HELLO | {"version": "", "features": [*FEATURES], "backends": {}}}),
    ("decode", {"values": {}}),
    ("decode", {"values": {"a": 2**64 - 1, "b": [[-1]], "c": None, "d": True, "e": "x"}}),
    ("decode", {"values": {"a": {"hex": "00ff"}, "b": [{"hex": ""}, None], "c": {"k": 1}}}),
    ("decode", {"values": {"a": {"hex": 7}, "b": {"hex": "what", "more": 1}}}),
    *(("decode", {"error": {"kind": kind, "text": "no"}}) for kind in KINDS),
    ("encode", {"error": {"kind": "other", "text": "", "frame": 0, "field": "room"}}),
    ("encode", {"frames": []}),
    ("encode", {"frames": ["", "00ff"]}),
    ("recognise", {"recognised": {"ambiguous": True, "candidates": [_CANDIDATE]}}),
    ("recognise", {"skip": "why"}),
    ("stop", {}),
]
_BAD: list[tuple[str, dict[str, Any], str]] = [
    ("hello", {}, ""),
    ("hello", {"skip": "no"}, "/skip"),
    ("hello", {"hello": []}, "/hello"),
    ("hello", {"hello": {"protocol": PROTOCOL}}, "/hello"),
    ("hello", {"hello": _HELLO | {"protocol": "pdwire.testee/2"}}, "/hello/protocol"),
    ("hello", {"hello": _HELLO | {"name": ""}}, "/hello/name"),
    ("hello", {"hello": _HELLO | {"version": 1}}, "/hello/version"),
    ("hello", {"hello": _HELLO | {"roles": ["coder"]}}, "/hello/roles/0"),
    ("hello", {"hello": _HELLO | {"roles": ["codec", "codec"]}}, "/hello/roles/1"),
    ("hello", {"hello": _HELLO | {"features": "typed-errors"}}, "/hello/features"),
    ("hello", {"hello": _HELLO | {"extra": 1}}, "/hello/extra"),
    ("hello", {"hello": _HELLO | {"backends": {"a/b": {}}}}, "/hello/backends/a~1b"),
    (
        "hello",
        {"hello": _HELLO | {"backends": {"nixl": {"releases": [], "messages": {}}}}},
        "/hello/backends/nixl/releases",
    ),
    ("decode", {}, ""),
    ("decode", {"values": {}, "skip": "x"}, ""),
    ("decode", {"frames": []}, "/frames"),
    ("decode", {"values": []}, "/values"),
    ("decode", {"values": {"a": [{"hex": "0"}]}}, "/values/a/0/hex"),
    ("decode", {"values": {"a": {"b": {"hex": "0G"}}}}, "/values/a/b/hex"),
    ("decode", {"error": {"kind": "bad", "text": ""}}, "/error/kind"),
    ("decode", {"error": {"kind": "other"}}, "/error"),
    ("decode", {"error": {"kind": "other", "text": "", "frame": None}}, "/error/frame"),
    ("decode", {"error": {"kind": "other", "text": "", "frame": -1}}, "/error/frame"),
    ("decode", {"error": {"kind": "other", "text": "", "frame": True}}, "/error/frame"),
    ("decode", {"error": {"kind": "other", "text": "", "feild": "x"}}, "/error/feild"),
    ("decode", {"skip": ""}, "/skip"),
    ("encode", {"values": {}}, "/values"),
    ("encode", {"frames": "00"}, "/frames"),
    ("encode", {"frames": ["00", "FF"]}, "/frames/1"),
    ("encode", {"frames": ["0"]}, "/frames/0"),
    ("recognise", {"recognised": {"ambiguous": True, "candidates": []}}, "/recognised/candidates"),
    ("recognise", {"recognised": {"ambiguous": 1, "candidates": []}}, "/recognised/ambiguous"),
    (
        "recognise",
        {"recognised": {"ambiguous": False, "candidates": [{"message": "ABORT"}]}},
        "/recognised/candidates/0",
    ),
    ("stop", {"values": {}}, "/values"),
]


@pytest.mark.parametrize(("op", "answer"), _GOOD)
def test_what_is_allowed_both_allow(op: str, answer: dict[str, Any]) -> None:
    assert answer_fault(op, answer) is None
    assert _accepts(op, answer)


@pytest.mark.parametrize(("op", "answer", "pointer"), _BAD)
def test_what_is_not_both_refuse_and_the_place_is_told(
    op: str, answer: dict[str, Any], pointer: str
) -> None:
    fault = answer_fault(op, answer)
    assert fault is not None
    assert fault.pointer == pointer
    assert not _accepts(op, answer)


@pytest.mark.parametrize("name", ["request", "answer"])
def test_the_schemas_are_schemas_and_published_as_they_are(name: str) -> None:
    Draft202012Validator.check_schema(_schema(name))
    published = _ROOT / "docs" / "schema" / f"testee-{name}.schema.json"
    assert json.loads(published.read_text("utf-8")) == _schema(name)


def test_every_operation_has_a_request_and_an_answer() -> None:
    asked = _named("request", "request_")
    answered = _named("answer", "to_")
    live = Operations.operations(Mock())  # only the names are wanted, and no memory for a side
    assert asked == answered == set(OUTCOMES) | set(live)


def test_the_options_of_a_side_are_those_of_the_schema() -> None:
    told = _schema("request")["$defs"]["options"]["properties"]
    assert set(told) == set(Options.__dataclass_fields__)


def test_our_own_hello_is_one() -> None:
    assert _accepts("hello", {"hello": Generated().hello().as_json()})


def test_what_the_suite_asks_is_a_request() -> None:
    schema = Draft202012Validator(_schema("request"))
    asked = [
        request_of(case, case.releases[-1]) for case in cases()[::97] if case.role is Role.CODEC
    ]
    assert len(asked) > 100
    assert not [each for each in asked if not schema.is_valid({"id": 1} | each)]
    assert not schema.is_valid({"id": 1} | asked[0] | {"op": "dance"})
