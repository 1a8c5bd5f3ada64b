"""Descriptors in msgpack: one spelling, bounded, of the declared shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdwire.errors import FrameValueError, LossyEncodeError
from pdwire.frames import (
    Layout,
    Place,
    bin_lists,
    bin_or_nil_lists,
    bins,
    one_bins,
    put_bin_lists,
    put_bin_or_nil_lists,
    put_bins,
    put_one_bins,
)

At = Callable[..., Place]
bounded = settings(max_examples=200, derandomize=True, database=None, deadline=None)
PLACE = Place(Layout("m", "r1", "", (1,), {}), 0, "n", "n")
BINS = st.lists(st.binary(max_size=5) | st.binary(min_size=250, max_size=260), max_size=5).map(
    tuple
)
NILS = st.lists(st.none() | st.binary(max_size=5), max_size=5).map(tuple)


@bounded
@given(
    flat=BINS,
    nested=st.lists(BINS, max_size=4).map(tuple),
    nils=st.lists(NILS, max_size=4).map(tuple),
)
def test_descriptors_come_back_as_they_went(
    flat: tuple[bytes, ...],
    nested: tuple[tuple[bytes, ...], ...],
    nils: tuple[tuple[bytes | None, ...], ...],
) -> None:
    assert bins(put_bins(flat, PLACE), PLACE) == flat
    assert bin_lists(put_bin_lists(nested, PLACE), PLACE) == nested
    assert bin_or_nil_lists(put_bin_or_nil_lists(nils, PLACE), PLACE) == nils
    assert put_bins(list(flat), PLACE) == (msgspec.msgpack.encode(flat) if flat else b"")


@bounded
@given(raw=st.binary(max_size=20).map(lambda raw: b"\x91" + raw) | st.binary(max_size=20))
def test_what_is_read_is_written(raw: bytes) -> None:
    for read, write in (
        (bins, put_bins),
        (bin_lists, put_bin_lists),
        (bin_or_nil_lists, put_bin_or_nil_lists),
    ):
        try:
            value = read(raw, PLACE)
        except FrameValueError:
            continue
        assert write(value, PLACE) == raw


@pytest.mark.parametrize(
    "raw",
    [
        *(b"\x90", b"\x91", b"\x91\xc0", b"\x91\xa1x", b"\x91\x01", b"\xc4\x01x", b"\x81\xc0\xc0"),
        *(
            b"\x91\xc4\x01x\x00",
            b"\xdc\x00\x01\xc4\x01x",
            b"\x91\xc5\x00\x01x",
            b"\xdd\xff\xff\xff\xff",
        ),
        *(b"\x91\x91\xc4\x01x", b"\xc7\x01\x01x", b"\x91" * 50_000, b"\x00", b"\xff"),
    ],
    ids=lambda raw: raw[:8].hex(),
)
def test_a_flat_list_is_nothing_but_byte_strings(raw: bytes, at: At) -> None:
    with pytest.raises(FrameValueError) as caught:
        bins(raw, at())
    assert (caught.value.frame, caught.value.field) == (4, "thing")


def test_nil_stands_only_where_it_may(at: At) -> None:
    raw = b"\x91\x92\xc4\x01x\xc0"
    assert bin_or_nil_lists(raw, at()) == ((b"x", None),)
    with pytest.raises(FrameValueError):
        bin_lists(raw, at())
    with pytest.raises(LossyEncodeError):
        put_bin_lists(((b"x", None),), at())


def test_a_flat_frame_of_a_nested_field_is_one_component(at: At) -> None:
    assert one_bins(b"", at()) == ()
    assert one_bins(b"\x91\xc4\x01x", at()) == ((b"x",),)
    assert put_one_bins((), at()) == b""
    assert put_one_bins(((b"x",),), at()) == b"\x91\xc4\x01x"
    parts: list[Any] = [((),), ((b"x",), ()), ((b"x",), (b"y",)), ((None,),)]
    for value in parts:
        with pytest.raises(LossyEncodeError):
            put_one_bins(value, at())


@pytest.mark.parametrize(
    "value", [None, 7, b"x", "x", {b"x": 1}, [1], ["x"], [[1]], [None], [b"x", 1]]
)
def test_what_is_no_list_of_byte_strings_is_not_written(value: object, at: At) -> None:
    with pytest.raises(LossyEncodeError):
        put_bins(value, at())
    nils = () if value == [None] else (put_bin_or_nil_lists,)
    for put in (put_bin_lists, put_one_bins, *nils):
        with pytest.raises(LossyEncodeError):
            put([value], at())
        with pytest.raises(LossyEncodeError):
            put(7, at())
