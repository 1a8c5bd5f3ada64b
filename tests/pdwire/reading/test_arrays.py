from __future__ import annotations

import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdwire.reading.errors import Refused
from pdwire.reading.spec import Value
from pdwire.reading.types import build, construct_for, parse

CODES = {"i32": "i", "u32": "I", "u64": "Q"}
ELEMENTS = {
    "i32": st.integers(-(2**31), 2**31 - 1),
    "u32": st.integers(0, 2**32 - 1),
    "u64": st.integers(0, 2**64 - 1),
}


def read(kind: str, raw: bytes) -> Value:
    value: Value = parse(construct_for(kind, None, None, ()), raw)
    return value


def write(kind: str, value: Value) -> bytes:
    return build(construct_for(kind, None, None, ()), value)


def nested(code: str, parts: list[list[int]]) -> bytes:
    bodies = [struct.pack(f"<{len(part)}{code}", *part) for part in parts]
    head = struct.pack(f"<{len(parts) + 1}I", len(parts), *map(len, bodies))
    return head + b"".join(bodies)


@pytest.mark.parametrize("kind", ELEMENTS)
@given(data=st.data())
def test_a_flat_array_is_its_elements(kind: str, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(ELEMENTS[kind], max_size=20))
    raw = struct.pack(f"<{len(numbers)}{CODES[kind]}", *numbers)
    assert read(f"{kind}[]", raw) == numbers
    assert write(f"{kind}[]", list(numbers)) == raw


@pytest.mark.parametrize("kind", ELEMENTS)
@given(data=st.data())
def test_a_nested_list_and_back(kind: str, data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.lists(ELEMENTS[kind], max_size=5), max_size=5))
    raw = nested(CODES[kind], parts) if parts else b""
    assert read(f"{kind}[][]", raw) == parts
    assert write(f"{kind}[][]", [list(part) for part in parts]) == raw


@pytest.mark.parametrize(("kind", "size"), [("u64[]", 12), ("i32[]", 5), ("u32[]", 3)])
def test_a_length_that_is_no_multiple_of_the_width(kind: str, size: int) -> None:
    with pytest.raises(Refused) as caught:
        read(kind, bytes(size))
    assert caught.value.came == f"{size} bytes"


WHOLE = nested("i", [[5, 6], [9]])


@pytest.mark.parametrize(
    ("raw", "came"),
    [
        (WHOLE[:-4], "8 bytes behind the lengths"),
        (WHOLE[:-8], "4 bytes behind the lengths"),
        (WHOLE + bytes(4), "16 bytes behind the lengths"),
        (b"\xff\xff\xff\xff", "4294967295"),
        (b"\xff\xff\xff\xff" + bytes(40), "4294967295"),
        (b"\x01\0\0", "3 bytes"),
        (bytes(4), "a count of 0"),
        (struct.pack("<II", 1, 6) + bytes(6), "6 bytes"),
        (struct.pack("<II", 1, 0xFFFFFFFC), "0 bytes behind the lengths"),
    ],
)
def test_a_nested_list_that_does_not_add_up(raw: bytes, came: str) -> None:
    with pytest.raises(Refused) as caught:
        read("i32[][]", raw)
    assert caught.value.came == came


def test_a_huge_count_costs_nothing() -> None:
    construct = construct_for("u64[][]", None, None, ())
    tracemalloc.start()
    with pytest.raises(Refused):
        parse(construct, b"\xff\xff\xff\xff" + bytes(64))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("i32[]", [2**31]),
        ("u32[]", [-1]),
        ("u64[]", [2**64]),
        ("u64[]", [True]),
        ("u64[]", [1.0]),
        ("u64[]", None),
        ("u64[]", 5),
        ("u64[][]", [5]),
        ("u64[][]", [[-1]]),
        ("u64[][]", {"a": 1}),
    ],
)
def test_what_an_array_cannot_carry(kind: str, value: Value) -> None:
    with pytest.raises(Refused):
        write(kind, value)
