"""The parts of driving a decode side that need no release."""

from __future__ import annotations

import pytest

from pdwire_conformance.peers.adapters._decode_side import (
    as_components,
    behind_guard,
    one_component,
)
from pdwire_conformance.peers.errors import DroppedError, InexpressibleError


def test_a_flat_list_is_one_component_or_none() -> None:
    assert one_component([], "f") == []
    assert one_component([[1, 2]], "f") == [1, 2]
    assert as_components([1, 2]) == [[1, 2]]
    assert as_components([]) == []


@pytest.mark.parametrize("lists", [[[1], [2]], [[]], [[], []]])
def test_what_a_flat_list_cannot_say_is_refused(lists: list[list[int]]) -> None:
    with pytest.raises(InexpressibleError, match="one flat list"):
        one_component(lists, "f")


def test_only_its_own_guard_lets_a_message_through() -> None:
    assert behind_guard([b"Guard", b"7"], b"Guard") == [b"7"]
    for foreign in ([], [b"7"], [b"guard", b"7"]):
        with pytest.raises(DroppedError):
            behind_guard(foreign, b"Guard")
