from __future__ import annotations

from typing import Any

import pytest

from pdwire.reading import Reading, ReadingError, Value

REGISTER: dict[str, Value] = {
    "endpoint": "fe80::1%eth0",
    "port": 5000,
    "session": "[::1]:17000",
    "agent": "agentA",
    "blob": b"",
    "ptrs": [1, 2**64 - 1],
    "item_len": 4096,
    "state_ptrs": [[1, 2]],
}


def lossy(reading: Reading, message: str, layout: str, values: dict[str, Value]) -> ReadingError:
    with pytest.raises(ReadingError) as caught:
        reading.encode(message, layout, values)
    return caught.value


@pytest.mark.parametrize("layout", ["r1", "r2", "r3"])
def test_what_is_left_out_says_what_its_lack_says(reading: Reading, layout: str) -> None:
    frames = reading.encode("Register", layout, REGISTER)
    values = reading.decode("Register", layout, frames)
    assert values["kinds"] == ["VRAM", "VRAM"]
    assert {name: values[name] for name in REGISTER} == REGISTER
    assert reading.encode("Register", layout, values) == frames


def test_spellings_of_the_values_that_an_empty_frame_means(reading: Reading) -> None:
    frames = reading.encode("Register", "r3", REGISTER)
    names = [row.name for row in reading.annotate("Register", "r3", frames).rows]
    told = dict(zip(names, frames, strict=True))
    assert told["base"] == b""  # writes_empty
    assert told["rank"] == b"0"  # an empty frame means 0, and 0 is written
    assert told["kinds"] == b"VRAM,VRAM"
    assert told["reason"] == b""  # None has no other spelling
    assert told["state_lens"] == b""


@pytest.mark.parametrize(
    ("layout", "changed", "field"),
    [
        ("r1", {"state_ptrs": [[1], [2]]}, "state_ptrs"),
        ("r1", {"state_ptrs": [[]]}, "state_ptrs"),
        ("r1", {"base": 3}, "base"),
        ("r1", {"kinds": ["DRAM", "VRAM"]}, "kinds"),
        ("r1", {"item_lens": [4096, 8]}, "item_lens"),
        ("r2", {"reason": "why"}, "reason"),
        ("r3", {"reason": ""}, "reason"),
        ("r3", {"port": 0}, "port"),
        ("r3", {"port": True}, "port"),
        ("r3", {"session": "::1:5"}, "session"),
        ("r3", {"item_len": None}, "item_len"),
    ],
)
def test_what_a_layout_cannot_carry(
    reading: Reading, layout: str, changed: dict[str, Value], field: str
) -> None:
    error = lossy(reading, "Register", layout, REGISTER | changed)
    assert (error.kind, error.field) == ("lossy", field)


def test_an_ignorable_field_is_dropped_where_there_is_no_frame(reading: Reading) -> None:
    with_hint = reading.encode("Register", "r2", {**REGISTER, "hint": 7})
    assert with_hint == reading.encode("Register", "r2", REGISTER)
    assert reading.encode("Register", "r3", {**REGISTER, "hint": 7})[-2] == b"7"


def test_values_that_contradict_each_other(reading: Reading) -> None:
    error = lossy(reading, "Register", "r3", {**REGISTER, "rank": 2, "size": 2})
    assert error.kind == "invariant"


def test_names_of_values(reading: Reading) -> None:
    assert lossy(reading, "STATUS", "r1", {"room": 1, "status": 2}).field == "rank"
    error = lossy(reading, "STATUS", "r1", {"room": 1, "status": 2, "rank": 3, "x": 4})
    assert (error.kind, error.field) == ("unknown", "x")


@pytest.mark.parametrize(
    ("values", "frames"),
    [
        ({}, [b"1", b"", b""]),
        ({"is_dummy": True}, [b"1", b"", b""]),
        ({"prefix": 0}, [b"1", b"", b"", b"0"]),
        ({"prefix": 5}, [b"1", b"", b"", b"5"]),
        ({"prefix": 5, "is_dummy": True}, [b"1", b"", b"", b"5", b"1"]),
        ({"is_dummy": False}, [b"1", b"", b"", b"", b"0"]),
        ({"indices": [3], "aux_index": 0}, [b"1", b"\3\0\0\0", b"0"]),
    ],
)
def test_no_more_frames_than_needed(
    reading: Reading, values: dict[str, Any], frames: list[bytes]
) -> None:
    told: dict[str, Any] = {"room": 1, "indices": [], "aux_index": -1, **values}
    assert reading.encode("Order", "r2", told) == [b"AlphaMsgGuard", *frames]


def test_a_derived_value_agrees_with_its_rule(reading: Reading) -> None:
    told: dict[str, Value] = {"room": 1, "indices": [], "aux_index": -1, "prefix": None}
    assert reading.encode("Order", "r1", {**told, "is_dummy": True})
    assert lossy(reading, "Order", "r1", {**told, "is_dummy": False}).field == "is_dummy"


def test_lengths_are_worked_out(reading: Reading) -> None:
    assert reading.encode("DATA", "r1", {"room": 1, "data": bytes(258)})[2] == b"\0\0\x01\x02"


def test_tuples_are_lists(reading: Reading) -> None:
    values: dict[str, Any] = {**REGISTER, "ptrs": (1, 2), "state_ptrs": ((1, 2),)}
    assert reading.encode("Register", "r3", values) == reading.encode(
        "Register", "r3", {**values, "ptrs": [1, 2], "state_ptrs": [[1, 2]]}
    )


@pytest.mark.parametrize("name", ["Nothing", "beta.Register", ""])
def test_an_unknown_message(reading: Reading, name: str) -> None:
    with pytest.raises(ReadingError, match="no such message"):
        reading.decode(name, "r1", [])


def test_an_unknown_layout(reading: Reading) -> None:
    with pytest.raises(ReadingError, match="a layout of r1, r2, r3"):
        reading.decode("Register", "r9", [])


@pytest.mark.parametrize(
    "name", ["Registration", "register", "alpha.Register", "ALPHA.registration"]
)
def test_spellings_of_a_name(reading: Reading, name: str) -> None:
    assert reading.message(name).key == "alpha.Register"


def test_a_shared_message_is_found_by_each_backend(reading: Reading) -> None:
    keys = {reading.message(name).key for name in ("beta.DATA", "gamma.DATA", "common.DATA")}
    assert keys == {"common.DATA"}
