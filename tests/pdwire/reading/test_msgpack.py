from __future__ import annotations

import tracemalloc

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pdwire.reading.errors import Refused
from pdwire.reading.spec import Value
from pdwire.reading.types import build, construct_for, parse

FLAT = construct_for("bin[]", None, None, ())
DEEP = construct_for("bin?[][]", None, None, ())
WHOLE = construct_for("bin[][]", None, None, ())
SIZES = [0, 255, 256, 65535, 65536]


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=20))
@example([bytes(size) for size in SIZES])
@example([b""] * 65536)
def test_an_array_of_bin_as_msgspec_writes_it(parts: list[bytes]) -> None:
    raw = msgspec.msgpack.encode(parts)
    assert parse(FLAT, raw) == parts
    assert build(FLAT, list(parts)) == raw


@given(st.lists(st.lists(st.none() | st.binary(max_size=9), max_size=20), min_size=1, max_size=5))
def test_arrays_of_bin_or_nil_as_msgspec_writes_them(parts: list[list[bytes | None]]) -> None:
    raw = msgspec.msgpack.encode(parts)
    assert parse(DEEP, raw) == parts
    assert build(DEEP, [list(part) for part in parts]) == raw


def test_a_nil_only_where_the_type_has_one() -> None:
    raw = b"\x91\x92\xc4\x01a\xc0"
    assert parse(DEEP, raw) == [[b"a", None]]
    assert build(DEEP, [[b"a", None]]) == raw
    with pytest.raises(Refused):
        parse(WHOLE, raw)
    with pytest.raises(Refused):
        build(WHOLE, [[b"a", None]])
    assert parse(WHOLE, b"\x91\x91\xc4\x01a") == [[b"a"]]


@pytest.mark.parametrize("construct", [FLAT, DEEP, WHOLE])
def test_nothing_is_the_empty_frame(construct: object) -> None:
    assert parse(construct, b"") == []
    assert build(construct, []) == b""
    with pytest.raises(Refused, match="empty msgpack array"):
        parse(construct, b"\x90")


@pytest.mark.parametrize(
    "raw",
    [
        b"\xdd\xff\xff\xff\xff",
        b"\xdd\xff\xff",
        b"\xdc",
        b"\x92\xc4\x00",
        b"\x91\xc4\x05abcd",
        b"\x91\xc6\xff\xff\xff\xff",
        b"\x91\xc4\x01a!",
        b"\x91\xc0",
        b"\x91\xa1a",
        b"\x91\x05",
        b"\xc4\x01a",
        b"\x80\x05\x95.",
        b"\x91\xc5\x00\x01a",
        b"\xdc\x00\x01\xc4\x00",
        b"\xff\xfe",
    ],
)
def test_what_is_not_an_array_of_bin(raw: bytes) -> None:
    with pytest.raises(Refused):
        parse(FLAT, raw)


@pytest.mark.parametrize(
    "raw", [b"\x91\xc4\x00", b"\x91\xdd\xff\xff\xff\xff", b"\x91\x91\x91\xc0", b"\x92\x91\xc0"]
)
def test_what_is_not_an_array_of_arrays(raw: bytes) -> None:
    with pytest.raises(Refused):
        parse(DEEP, raw)


def test_a_huge_announcement_costs_nothing() -> None:
    tracemalloc.start()
    for raw in (b"\xdd\xff\xff\xff\xff", b"\x91\xc6\xff\xff\xff\xff", b"\x91\xdd\xff\xff\xff\xff"):
        with pytest.raises(Refused):
            parse(FLAT, raw)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000


@pytest.mark.parametrize("value", [None, "ab", b"ab", [None], ["a"], [5]])
def test_what_an_array_of_bin_cannot_carry(value: Value) -> None:
    with pytest.raises(Refused):
        build(FLAT, value)
