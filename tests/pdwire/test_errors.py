"""The error tree: one root, a place as attributes, a line of text."""

from __future__ import annotations

import numpy as np
import pytest

from pdwire import errors
from pdwire.errors import (
    AmbiguousMessageError,
    FrameCountError,
    FrameValueError,
    InvariantError,
    LossyEncodeError,
    UnknownLayoutError,
    UnknownMessageError,
    WireError,
    shorten,
)

TREE: dict[type[Exception], type[Exception]] = {
    UnknownMessageError: WireError,
    AmbiguousMessageError: UnknownMessageError,
    FrameCountError: WireError,
    FrameValueError: WireError,
    InvariantError: WireError,
    LossyEncodeError: WireError,
    WireError: Exception,
    UnknownLayoutError: LookupError,
}


@pytest.mark.parametrize("error", TREE, ids=lambda error: error.__name__)
def test_the_tree_is_the_one_that_is_drawn(error: type[Exception]) -> None:
    assert error.__bases__ == (TREE[error],)
    assert error.__name__ in errors.__all__
    drawn = error.__name__ in (errors.__doc__ or "")
    assert drawn or error is AmbiguousMessageError


def test_every_public_name_is_an_error_of_the_tree_or_shorten() -> None:
    assert set(errors.__all__) == {error.__name__ for error in TREE} | {"shorten"}


def test_an_error_carries_its_place_and_tells_it_in_one_line() -> None:
    fault = FrameValueError(
        "a canonical decimal in 0..9",
        "b'x' (1 byte)",
        message="mooncake TransferInfo",
        layout="r3",
        frame=0,
        field="room",
        hint="a hint",
    )
    assert str(fault) == (
        "mooncake TransferInfo r3 frame 0 room: "
        "expected a canonical decimal in 0..9, got b'x' (1 byte) (a hint)"
    )
    assert (fault.message, fault.layout, fault.frame, fault.field) == (
        "mooncake TransferInfo",
        "r3",
        0,
        "room",
    )
    assert (fault.expected, fault.came, fault.hint) == (
        "a canonical decimal in 0..9",
        "b'x' (1 byte)",
        "a hint",
    )


def test_an_error_without_a_place_is_about_the_frames() -> None:
    fault = UnknownMessageError("a known message", "no frames")
    assert str(fault) == "frames: expected a known message, got no frames"
    assert (fault.frame, fault.field, fault.message, fault.layout, fault.hint) == (
        None,
        "",
        "",
        "",
        "",
    )


@pytest.mark.parametrize(
    ("came", "shown"),
    [
        (b"", "b'' (0 bytes)"),
        (b"x", "b'x' (1 byte)"),
        (b"\xff" * 40, repr(b"\xff" * 32) + "… (40 bytes)"),
        (bytearray(b"ab"), "b'ab' (2 bytes)"),
        (memoryview(b"abcd")[::2], "b'ac' (2 bytes)"),
        (memoryview(bytes(16)).cast("Q"), f"{bytes(16)!r} (16 bytes)"),
        (None, "None"),
        (7, "7"),
        ("x" * 20, f"'{'x' * 20}'"),
        (10**5000, "a very long int"),
        ({1: 2}, "{1: 2}"),
    ],
    ids=lambda value: f"{type(value).__name__}",
)
def test_what_came_is_shown_shortly(came: object, shown: str) -> None:
    assert shorten(came) == shown


def test_nothing_is_too_long_too_deep_or_too_odd_to_be_shown() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError

    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    big = [list(range(1000))] * 1000
    values = [
        deep,
        big,
        Odd(),
        {"k": deep},
        "x" * 10**6,
        np.arange(10**6),
        np.zeros((9, 9)),
        range(9),
    ]
    for value in values:
        text = shorten(value)
        assert len(text) <= 65
        assert "\n" not in text
