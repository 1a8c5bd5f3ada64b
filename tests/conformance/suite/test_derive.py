"""Short cuts of deriving change nothing, and the same is derived for whoever speaks a layout."""

from __future__ import annotations

import pytest

from pdwire_conformance.suite.derived import peers, recognising
from pdwire_conformance.suite.derived.bench import Bench, bench
from pdwire_conformance.suite.derived.derive import derive
from pdwire_conformance.suite.load import cases


def test_frames_that_are_put_together_are_those_of_the_whole_encoder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for kept in (bench, peers.benches, recognising.served):
        kept.cache_clear()
    monkeypatch.setattr(Bench, "_filled", lambda *_: None)
    slow = {case.slug: case for case in derive()}
    for kept in (bench, peers.benches, recognising.served):
        kept.cache_clear()
    fast = {case.slug: case for case in cases() if case.origin.startswith("derived:")}
    assert fast.keys() == slow.keys()
    assert [slug for slug in fast if fast[slug] != slow[slug]] == []


def test_a_backend_that_inherits_a_wire_gets_its_cases() -> None:
    slugs = {backend: set[str]() for backend in ("mooncake", "ascend")}
    for case in cases():
        if case.backend in slugs and case.origin.startswith("derived:"):
            slugs[case.backend].add(case.slug.partition("/")[2])
    assert slugs["mooncake"] == slugs["ascend"]
