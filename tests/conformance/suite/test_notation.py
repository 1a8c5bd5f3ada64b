"""Frames as people write them."""

from __future__ import annotations

import struct

import pytest

from pdwire_conformance.suite.notation import NotationError, frame_of


@pytest.mark.parametrize(
    ("told", "raw"),
    [
        ("", b""),
        ("None", b"None"),
        ("10.0.0.2:17000", b"10.0.0.2:17000"),
        (" 7 ", b" 7 "),
        ("text:hex:7", b"hex:7"),
        ("text:i32[4]", b"i32[4]"),
        ("i32[4,-5]", struct.pack("<2i", 4, -5)),
        ("i32[]", b""),
        ("u32[1, 2]", struct.pack("<2I", 1, 2)),
        ("u64[18446744073709551615]", b"\xff" * 8),
        ("ii[[7]]", struct.pack("<IIi", 1, 4, 7)),
        ("ii[[5,6],[9]]", struct.pack("<IIIiii", 2, 8, 4, 5, 6, 9)),
        ("ii[[]]", struct.pack("<II", 1, 0)),
        ("UU[[1],[2]]", struct.pack("<IIIQQ", 2, 8, 8, 1, 2)),
        ("u64:4096", struct.pack("<Q", 4096)),
        ("u32be:16", b"\0\0\0\x10"),
        ("hex:80 05", b"\x80\x05"),
        ("zero:8", bytes(8)),
        ("long:9*4000", b"9" * 4000),
        ("u64[1] + hex:05", struct.pack("<QB", 1, 5)),
        ("a + b", b"a + b"),
        ("délai", "délai".encode()),
    ],
)
def test_a_frame_is_what_its_first_characters_say(told: str, raw: bytes) -> None:
    assert frame_of(told) == raw


@pytest.mark.parametrize(
    "told",
    [
        "i32[4,x]",
        "i32[4",
        "u32[-1]",
        "u64[18446744073709551616]",
        "ii[7]",
        "ii[[7]",
        "hex:8",
        "hex:zz",
        "zero:-1",
        "zero:9999999",
        "long:4000",
        "u32:x",
        "u32:4294967296",
    ],
)
def test_a_form_that_is_begun_and_cannot_be_read_is_no_text(told: str) -> None:
    with pytest.raises(NotationError, match="forms: text") as caught:
        frame_of(told)
    assert repr(told) in str(caught.value)
