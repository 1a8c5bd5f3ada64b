# ruff: noqa: ANN401 - a value of a message is of any of their types

from __future__ import annotations

import enum
import json
from typing import Any

import numpy as np
import pytest

from pdwire_conformance.peers.values import i32, octets, to_json


class _Poll(enum.IntEnum):
    SUCCESS = 4


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (_Poll.SUCCESS, 4),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.array([1, -1], dtype=np.int32), [1, -1]),
        ([np.int32(3)], [3]),
        (7.0, 7.0),
        ((np.array([], dtype=np.int32), [5]), [[], [5]]),
        (b"\x80\x05", {"hex": "8005"}),
        ({"a": b""}, {"a": {"hex": ""}}),
    ],
)
def test_values_are_written_as_the_spec_language_says(value: Any, expected: Any) -> None:
    assert to_json(value) == expected
    assert json.loads(json.dumps(to_json(value))) == expected


def test_what_is_no_value_is_refused() -> None:
    with pytest.raises(TypeError, match="object is not a value"):
        to_json([object()])


def test_octets_and_indices_come_back() -> None:
    assert octets({"hex": "00ff"}) == b"\x00\xff"
    assert i32([1, 2**31 - 1]).tobytes() == b"\x01\x00\x00\x00\xff\xff\xff\x7f"
