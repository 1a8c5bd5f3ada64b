"""What is derived: the same by short cuts, for whoever speaks a layout, and for any spec."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.conformance.suite.conftest import Reader, asked

from pdwire_conformance.proof.spec import load_spec
from pdwire_conformance.suite.clauses import clauses_of
from pdwire_conformance.suite.derived.bench import Bench
from pdwire_conformance.suite.derived.derive import derive
from pdwire_conformance.suite.derived.shelf import Shelf
from pdwire_conformance.suite.load import cases

Json = dict[str, Any]


def test_frames_that_are_put_together_are_those_of_the_whole_encoder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Bench, "_filled", lambda *_: None)
    slow = {case.slug: case for case in derive(Shelf(load_spec()))}
    fast = {case.slug: case for case in cases() if case.origin.startswith("derived:")}
    assert fast.keys() == slow.keys()
    assert [slug for slug in fast if fast[slug] != slow[slug]] == []


def test_a_backend_that_inherits_a_wire_gets_its_cases() -> None:
    slugs = {backend: set[str]() for backend in ("mooncake", "ascend")}
    for case in cases():
        if case.backend in slugs and case.origin.startswith("derived:"):
            slugs[case.backend].add(case.slug.partition("/")[2])
    assert slugs["mooncake"] == slugs["ascend"]


def with_a_layout_more() -> Json:
    """The spec, had 0.5.23 a layout of its own: WATERMARK with the ring's fill."""
    spec = copy.deepcopy(load_spec())
    message = next(each for each in spec["messages"] if each["name"] == "WATERMARK")
    field = next(each for each in message["fields"] if each["type"] == "dec")
    fill = {**field, "name": "fill", "doc": "Bytes in use.", "min": 0, "max": 4096}
    fill |= {"absent": {"value": None}, "empty": {"value": None}, "writes_empty": True}
    message["fields"].append(fill)
    newest = copy.deepcopy(message["layouts"][-1])
    frame = {**newest["frames"][-1], "position": 4, "name": "fill", "field": "fill", "type": "dec"}
    newest["frames"].append(frame | {"min": 0, "max": 4096, "empty": {"value": None}})
    newest |= {"id": "r99", "counts": [5], "speakers": {"nixl": ["0.5.23"]}}
    message["layouts"][-1]["speakers"]["nixl"].remove("0.5.23")
    message["layouts"].append(newest)
    return {**spec, "messages": [message]}


def test_a_new_layout_brings_its_cases_along() -> None:
    spec = with_a_layout_more()
    found = [case for case in derive(Shelf(spec)) if case.layout == "r99"]
    slugs = {case.slug.rpartition("/")[2] for case in found}
    assert {"plain", "count-4", "frame-4-above", "frame-4-empty", "layout-r2"} <= slugs
    clauses = {clause for clause in clauses_of(spec) if "/r99/" in clause}
    assert clauses <= {clause for case in found for clause in case.clauses}
    testee = Reader(spec)
    assert {
        case.slug: asked(testee, case).came for case in found if not asked(testee, case).ok
    } == {}
    older = [case for case in derive(Shelf(spec)) if case.slug.endswith("WATERMARK/r2/layout-r99")]
    assert {case.backend for case in older} == {"mooncake", "ascend", "nixl"}
