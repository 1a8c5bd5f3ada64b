from __future__ import annotations

import pytest

from pdwire.reading import Reading, ReadingError, Value


@pytest.mark.parametrize(
    ("layout", "text", "told"),
    [
        ("r1", b"7_kv_0_1", {}),
        ("r2", b"7_kv_0_1", {}),
        ("r2", b"7_kv_0_1_part_1_2", {"part": 1, "parts": 2}),
        ("r3", b"7_kv_0_1_a", {"agent": "a"}),
        ("r3", b"7_kv_0_1_a_b__c_", {"agent": "a_b__c_"}),
    ],
)
def test_a_text_and_back(
    reading: Reading, layout: str, text: bytes, told: dict[str, Value]
) -> None:
    values = reading.decode("NOTE", layout, [text])
    plain: dict[str, Value] = {"room": 7, "chunk": 0, "last": True}
    nothing: dict[str, Value] = {"part": None, "parts": None, "agent": None}
    assert values == plain | nothing | told
    assert reading.encode("NOTE", layout, values) == [text]


@pytest.mark.parametrize(
    ("layout", "text", "field"),
    [
        ("r1", b"7_kv_0_2", "last"),
        ("r1", b"07_kv_0_1", "room"),
        ("r1", b"_kv_0_1", "room"),
        ("r1", b"7_kv_1048577_1", "chunk"),
        ("r1", b"7_kv_-1_1", "chunk"),
        ("r2", b"7_kv_0_1_part_x_2", "part"),
        ("r2", b"7_kv_0_1_part_0_0", "parts"),
        ("r2", b"7_kv_0_1_part_2_2", "parts"),
        ("r3", b"7_kv_0_1_", "agent"),
        ("r3", b"7_kv_0_1_a b", "agent"),
        ("r3", b"7_kv_0_1_\xff", "agent"),
        ("r1", b"7_state_0_1", "text"),
        ("r1", b"7_kv_0_1_2", "text"),
        ("r2", b"7_kv_0_1_part_1", "text"),
        ("r2", b"7_kv_0_1_", "text"),
        ("r1", b"", "text"),
        ("r1", b"7_kv_0_1\n", "last"),
        ("r1", b"\x80\x05", "text"),
        ("r1", b"_" * 100_000, "text"),
    ],
)
def test_the_bad_piece_is_named(reading: Reading, layout: str, text: bytes, field: str) -> None:
    with pytest.raises(ReadingError) as caught:
        reading.decode("NOTE", layout, [text])
    assert caught.value.field == field


@pytest.mark.parametrize("frames", [[], [b"7_kv_0_1", b""]])
def test_a_text_is_one_frame(reading: Reading, frames: list[bytes]) -> None:
    with pytest.raises(ReadingError, match="expected 1 frame, came"):
        reading.decode("NOTE", "r1", frames)


@pytest.mark.parametrize(
    ("layout", "told"),
    [
        ("r1", {"part": 0, "parts": 1}),
        ("r2", {"part": 0}),
        ("r2", {"part": 1, "parts": 1}),
        ("r2", {"agent": "a"}),
        ("r3", {"agent": ""}),
        ("r3", {}),
        ("r1", {"chunk": -1}),
    ],
)
def test_what_a_text_cannot_say(reading: Reading, layout: str, told: dict[str, Value]) -> None:
    plain: dict[str, Value] = {"room": 7, "chunk": 0, "last": True}
    with pytest.raises(ReadingError):
        reading.encode("NOTE", layout, plain | told)
