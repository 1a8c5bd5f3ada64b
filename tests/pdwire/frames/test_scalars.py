"""Numbers: one spelling each, in range, and nothing but numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdwire.errors import FrameValueError, LossyEncodeError, UnknownMessageError
from pdwire.frames import (
    FLAGS,
    PORTS,
    Layout,
    Place,
    dec,
    flag,
    leading,
    means,
    port,
    put_dec,
    put_flag,
    put_u32,
    put_u32be,
    put_u64,
    small,
    u32,
    u32be,
    u64,
)

At = Callable[..., Place]
bounded = settings(max_examples=200, derandomize=True, database=None, deadline=None)
PLACE = Place(Layout("m", "r1", "", (1,), {}), 0, "n", "n", -(2**63), 2**64 - 1)


@bounded
@given(number=st.integers(-(2**63), 2**64 - 1))
def test_a_decimal_has_the_spelling_of_python_and_no_other(number: int) -> None:
    raw = str(number).encode()
    assert put_dec(number, PLACE) == raw
    assert dec(raw, PLACE) == number
    for other in (b"0" + raw, b"+" + raw, b" " + raw, raw + b" ", raw + b"\n", raw + b"_0"):
        with pytest.raises(FrameValueError):
            dec(other, PLACE)


@bounded
@given(raw=st.binary(max_size=30) | st.text("0123456789+-_ .eE", max_size=24).map(str.encode))
def test_what_a_decimal_reads_it_writes(raw: bytes) -> None:
    try:
        number = dec(raw, PLACE)
    except FrameValueError:
        return
    assert put_dec(number, PLACE) == raw


@pytest.mark.parametrize(
    ("lo", "hi", "good", "bad"),
    [
        (0, 9, [b"0", b"9"], [b"10", b"-1", b"-0"]),
        (1, 65535, [b"1", b"65535"], [b"0", b"65536"]),
        (-2, 5, [b"-2", b"-1", b"0", b"5"], [b"-3", b"-0", b"6", b"-", b"--1", b"-01"]),
    ],
)
def test_a_decimal_keeps_to_its_range(
    lo: int, hi: int, good: list[bytes], bad: list[bytes], at: At
) -> None:
    assert [dec(raw, at(lo, hi)) for raw in good] == [int(raw) for raw in good]
    for raw in bad:
        with pytest.raises(FrameValueError):
            dec(raw, at(lo, hi))
    for number in (lo - 1, hi + 1, 10**5000):
        with pytest.raises(LossyEncodeError):
            put_dec(number, at(lo, hi))


@pytest.mark.parametrize(
    ("raw", "hint"),
    [
        (b"None", "the peer spelled None as text"),
        (b"007", "not the canonical spelling"),
        (b"9223372036854775808", "out of range"),
        (b"x", ""),
        (b"9" * 21, ""),
    ],
)
def test_a_refused_decimal_says_why(raw: bytes, hint: str, at: At) -> None:
    with pytest.raises(FrameValueError) as caught:
        dec(raw, at())
    assert (caught.value.hint, caught.value.frame, caught.value.field) == (hint, 4, "thing")


def test_a_million_digits_are_refused_without_being_a_number(at: At) -> None:
    with pytest.raises(FrameValueError, match=r"\(1000000 bytes\)"):
        dec(b"7" * 1_000_000, at())


NO_NUMBERS: list[Any] = [
    None,
    1.0,
    "1",
    b"1",
    [1],
    np.array(1),
    np.array([1]),
    np.float64(1),
    object(),
]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_whole_number_is_not_written(value: object, at: At) -> None:
    for put in (put_dec, put_u32, put_u64, put_u32be):
        with pytest.raises(LossyEncodeError, match="not an integer"):
            put(value, at())


def test_tables_hold_canonical_spellings_in_range_alone(at: At) -> None:
    assert small(1, 5) == {b"1": 1, b"2": 2, b"3": 3, b"4": 4, b"5": 5}
    assert small(-2, 2**63 - 1) == {str(n).encode(): n for n in range(1024)}
    assert small(0, 9) is small(0, 9)
    assert FLAGS == {b"0": False, b"1": True}
    for raw in (b"0", b"65536", b"007", b" 7"):
        with pytest.raises(FrameValueError):
            port(raw, at(1, 65535))
        assert raw not in PORTS
    assert port(b"7", at(1, 65535)) == PORTS[b"7"] == 7


def test_the_table_of_ports_is_bounded(at: At) -> None:
    for number in range(1, 10_000):
        assert port(str(number).encode(), at(1, 65535)) == number
        assert len(PORTS) <= 4096


def test_the_number_that_tells_a_message_knows_other_messages() -> None:
    layout = Layout("m", "r1", "", (2,), {}, number=0, strangers={b"None": "Register"})
    place = Place(layout, 0, "room", "a canonical decimal", 0, 9)
    assert leading(b"7", place) == 7
    with pytest.raises(UnknownMessageError, match="another message: Register"):
        leading(b"None", place)
    with pytest.raises(FrameValueError):
        leading(b"none", place)


@pytest.mark.parametrize("raw", [b"", b"2", b"00", b"01", b"true", b"1 ", b"\1"])
def test_a_flag_is_0_or_1(raw: bytes, at: At) -> None:
    assert (flag(b"0", at()), flag(b"1", at())) == (False, True)
    with pytest.raises(FrameValueError):
        flag(raw, at())


def test_a_flag_is_written_from_a_boolean_or_its_number(at: At) -> None:
    assert [put_flag(value, at()) for value in (True, False, 1, 0)] == [b"1", b"0", b"1", b"0"]
    for value in (2, -1, None, "1", 1.0):
        with pytest.raises(LossyEncodeError):
            put_flag(value, at())


@pytest.mark.parametrize(
    ("read", "write", "raw", "number"),
    [
        (u32, put_u32, b"\1\0\0\0", 1),
        (u32, put_u32, b"\xff" * 4, 2**32 - 1),
        (u32be, put_u32be, b"\0\0\0\1", 1),
        (u64, put_u64, b"\1" + bytes(7), 1),
        (u64, put_u64, bytes(7) + b"\x80", 2**63),
    ],
)
def test_fixed_numbers_have_their_width_and_order(
    read: Callable[[Any, Place], int],
    write: Callable[[Any, Place], bytes],
    raw: bytes,
    number: int,
    at: At,
) -> None:
    place = at(0, 2 ** (8 * len(raw)) - 1)
    assert read(raw, place) == number
    assert read(memoryview(raw), place) == number
    assert write(number, place) == write(np.uint64(number), place) == raw
    for other in (b"", raw[:-1], raw + b"\0", raw * 2):
        with pytest.raises(FrameValueError, match=f"{len(raw)} bytes wide"):
            read(other, place)
    with pytest.raises(FrameValueError, match="out of range"):
        read(raw, at(0, number - 1))
    for beyond in (-1, place.hi + 1):
        with pytest.raises(LossyEncodeError):
            write(beyond, place)


def test_a_meaning_is_of_the_type_that_it_says() -> None:
    assert means(0, 0)
    assert means(np.int64(0), 0)
    assert means("Prefill", "Prefill")
    assert means(b"", b"")
    zeros: list[Any] = [0.0, "0", b"0", None, np.array([0]), [], 1]
    assert not any(means(value, 0) for value in zeros)
    assert not means(np.array(["x"]), "x")
