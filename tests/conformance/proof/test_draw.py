"""Drawn values are valid, cover the edges, and the comparison notices a difference."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from pdwire.wire import layout, layouts
from pdwire_conformance.proof.check import differences
from pdwire_conformance.proof.convert import from_message, to_message
from pdwire_conformance.proof.draw import draw_message
from pdwire_conformance.proof.scalars import BIG
from pdwire_conformance.proof.spec import layout_of


def _cases() -> list[tuple[str, str, str]]:
    return sorted({(c.backend, c.message, c.releases[-1]) for c in layouts()})


@pytest.mark.parametrize(("backend", "name", "release"), _cases())
def test_every_drawn_value_survives_its_codec(backend: str, name: str, release: str) -> None:
    message, layout_json = layout_of(backend, name, release)
    codec = layout(backend, name, release=release)
    rng = Random(3)  # noqa: S311  # repeatable, not secret
    for _ in range(40):
        values = draw_message(message, layout_json, rng)
        ours = from_message(codec.decode(codec.encode(to_message(codec, values))))
        assert differences(ours, values) == []


def _drawn(backend: str, name: str, count: int) -> list[dict[str, Any]]:
    message, layout_json = layout_of(backend, name, "0.5.23")
    rng = Random(5)  # noqa: S311  # repeatable, not secret
    return [draw_message(message, layout_json, rng, big=n == 1) for n in range(count)]


def test_the_edges_are_drawn() -> None:
    metadata = _drawn("mooncake", "TransferInfo", 300)
    rooms = {values["room"] for values in metadata}
    assert {0, 2**63 - 1} <= rooms
    assert BIG in {len(values["dst_kv_indices"]) for values in metadata}
    assert any(":" in values["endpoint"] for values in metadata)
    assert {values["is_dummy"] for values in metadata} == {True, False}
    assert any(values["dst_state_indices"] == [] for values in metadata)
    registrations = _drawn("mooncake", "KVArgsRegisterInfo", 200)
    assert any(p >> 63 for values in registrations for p in values["dst_kv_ptrs"])
    assert any(values["dst_kv_ptrs"] == [] for values in registrations)


def test_a_difference_names_the_field() -> None:
    assert differences({"room": 1, "tail": [1]}, {"room": 2}) == ["room: ours 1, other 2"]
    assert differences({"room": 1}, {"rooms": 1}) == ["rooms is no field of ours"]
    assert differences({"indices": []}, {"indices": None}) == []
    assert differences({"index": 0}, {"index": None}) == ["index: ours 0, other None"]
