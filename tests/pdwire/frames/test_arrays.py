"""Arrays: views of the frame, exact in both directions."""

from __future__ import annotations

from collections.abc import Callable
from struct import pack
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdwire.errors import FrameValueError, LossyEncodeError
from pdwire.frames import (
    I32,
    U32,
    U64,
    Layout,
    Place,
    array,
    array_of,
    has_items,
    lists,
    no_i32,
    no_u32,
    no_u64,
    one_list,
    put_array,
    put_lists,
    put_one_list,
    same_lengths,
)

At = Callable[..., Place]
Dtype = np.dtype[Any]
bounded = settings(max_examples=150, derandomize=True, database=None, deadline=None)
PLACE = Place(Layout("m", "r1", "", (1,), {}), 0, "n", "n")
DTYPES = st.sampled_from([I32, U32, U64])


def items(dtype: Dtype) -> st.SearchStrategy[list[int]]:
    limits = np.iinfo(dtype)
    return st.lists(st.integers(int(limits.min), int(limits.max)), max_size=9)


@bounded
@given(dtype=DTYPES, data=st.data())
def test_flat_arrays_come_back_as_they_went(dtype: Dtype, data: st.DataObject) -> None:
    values = data.draw(items(dtype))
    raw = put_array(values, dtype, PLACE)
    assert raw == put_array(tuple(values), dtype, PLACE) == np.array(values, dtype).tobytes()
    read = array(raw, dtype, PLACE)
    assert read.dtype == dtype
    assert read.tolist() == values
    assert not read.flags.writeable
    assert put_array(read, dtype, PLACE) == raw


@bounded
@given(dtype=DTYPES, data=st.data())
def test_nested_lists_come_back_as_they_went(dtype: Dtype, data: st.DataObject) -> None:
    parts = data.draw(st.lists(items(dtype), max_size=5))
    raw = put_lists(parts, dtype, PLACE)
    assert (raw == b"") is (parts == [])
    read = lists(raw, dtype, PLACE)
    assert [part.tolist() for part in read] == parts
    assert all(part.dtype == dtype and not part.flags.writeable for part in read)
    assert put_lists(read, dtype, PLACE) == raw


@bounded
@given(dtype=DTYPES, raw=st.binary(max_size=40) | st.lists(st.integers(0, 9), max_size=9).map(
    lambda words: pack(f"<{len(words)}I", *words)
))  # fmt: skip
def test_what_a_nested_list_reads_it_writes(dtype: Dtype, raw: bytes) -> None:
    try:
        read = lists(raw, dtype, PLACE)
    except FrameValueError:
        return
    assert put_lists(read, dtype, PLACE) == raw


def test_items_keep_their_order_of_bytes(at: At) -> None:
    assert array(b"\1\0\0\0\2\0\0\0", I32, at()).tolist() == [1, 2]
    assert array(b"\xff" * 4, I32, at()).tolist() == [-1]
    assert array(bytes(7) + b"\x80", U64, at()).tolist() == [1 << 63]
    assert put_array(np.array([1], ">i4"), I32, at()) == b"\1\0\0\0"
    assert lists(pack("<IIQ", 1, 8, 1 << 63), U64, at())[0].tolist() == [1 << 63]


@pytest.mark.parametrize(
    "make",
    [
        bytearray,
        memoryview,
        lambda raw: memoryview(raw).cast("I"),
        lambda raw: np.frombuffer(raw, "<u2"),
    ],
)
def test_other_buffers_are_read_in_place(make: Callable[[bytes], Any], at: At) -> None:
    raw = np.arange(1, 7, dtype=I32).tobytes()
    frame = make(raw)
    assert array(frame, I32, at()).tolist() == [1, 2, 3, 4, 5, 6]
    assert np.shares_memory(array(frame, I32, at()), np.frombuffer(frame, np.uint8))
    whole = make(pack("<III", 1, 4, 7) + bytes(0))
    (part,) = lists(whole, I32, at())
    assert part.tolist() == [7]
    assert np.shares_memory(part, np.frombuffer(whole, np.uint8))
    assert not part.flags.writeable


def test_a_strided_buffer_is_copied_and_what_is_none_is_refused(at: At) -> None:
    strided = memoryview(bytes(range(16)))[::2]
    assert array(strided, U64, at()).tobytes() == bytes(range(0, 16, 2))
    for thing in (None, 7, "text", [b"x"]):
        for read in (array, lists):
            with pytest.raises(FrameValueError, match="bytes-like frame") as caught:
                read(thing, I32, at())
            assert caught.value.field == "thing"


NO_ITEMS: list[Any] = [
    *(None, 1, 1.5, "12", b"12", {1: 2}, {1}, range(2), iter([1]), object()),
    *([1.0], ["1"], [None], [[1]], [2**64], [-(2**40)], [np.array([1])]),
    *(np.array(1), np.array([[1]]), np.array([1.0]), np.array([True]), np.array(["1"])),
    *(np.array([2**40]), np.array([None]), np.zeros((0, 2)), np.array([1], "M8[D]")),
]


@pytest.mark.parametrize("value", NO_ITEMS, ids=repr)
def test_what_is_no_array_of_whole_numbers_in_range_is_not_written(value: Any, at: At) -> None:  # noqa: ANN401
    with pytest.raises(LossyEncodeError) as caught:
        put_array(value, I32, at())
    assert (caught.value.frame, caught.value.field) == (4, "thing")
    with pytest.raises(LossyEncodeError):
        put_lists([[1], value], I32, at())


@pytest.mark.parametrize("value", [None, 1, "ab", b"ab", {1: 2}, np.array([[1]]), iter([[1]]), [1]])
def test_what_is_no_list_of_components_is_not_written(value: object, at: At) -> None:
    for put in (put_lists, put_one_list):
        with pytest.raises(LossyEncodeError):
            put(value, I32, at())


def test_negative_numbers_are_not_unsigned(at: At) -> None:
    for dtype in (U32, U64):
        for value in ([-1], np.array([-1])):
            with pytest.raises(LossyEncodeError):
                put_array(value, dtype, at())


def test_a_flat_frame_of_a_nested_field_is_one_component(at: At) -> None:
    assert one_list(b"", I32, at()) == ()
    (only,) = one_list(b"\1\0\0\0", I32, at())
    assert only.tolist() == [1]
    assert put_one_list((), I32, at()) == b""
    assert put_one_list(([1],), I32, at()) == b"\1\0\0\0"
    parts: list[Any] = [([],), ([1], []), ([1], [2])]
    for value in parts:
        with pytest.raises(LossyEncodeError, match="one component that is not empty"):
            put_one_list(value, I32, at())


def test_defaults_are_empty_and_read_only() -> None:
    for make, dtype in ((no_i32, I32), (no_u32, U32), (no_u64, U64)):
        empty = make()
        assert (empty.size, empty.dtype) == (0, dtype)
        assert not empty.flags.writeable
    made = array_of([1, 2**63], U64)
    assert made.tolist() == [1, 2**63]
    assert not made.flags.writeable


def test_only_lists_tuples_and_flat_arrays_can_be_without_items() -> None:
    nothing: list[Any] = [(), [], np.array([])]
    assert not any(map(has_items, nothing))
    something: list[Any] = [
        (0,),
        np.array([0]),
        np.array(0),
        np.zeros((0, 2)),
        None,
        {},
        "",
        b"",
        0,
    ]
    assert all(map(has_items, something))


def test_shapes_are_the_same_component_by_component() -> None:
    assert same_lengths((), ())
    assert same_lengths(([1], []), ([2], []))
    assert not same_lengths(([1],), ([1], []))
    assert not same_lengths(([1, 2],), ([1],))
