from __future__ import annotations

import re

import pytest

from pdwire_conformance.live.notation import NotationError, filled, frame_of


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        ("i32[4,-5]", b"\x04\0\0\0\xfb\xff\xff\xff"),
        ("u64[]", b""),
        ("ii[[7],[]]", b"\x02\0\0\0\x01\0\0\0\x07\0\0\0\0\0\0\0"),
        ("hex:8005", b"\x80\x05"),
        ("long:3", b"xxx"),
        ("127.0.0.1", b"127.0.0.1"),
        ("", b""),
        (7, b"7"),
    ],
)
def test_a_frame_is_its_bytes(text: object, frame: bytes) -> None:
    assert frame_of(text) == frame


@pytest.mark.parametrize("text", ["hex:8", "long:-1", "long:999999999999", "i32[99999999999]"])
def test_a_frame_that_cannot_be_is_named(text: str) -> None:
    with pytest.raises(NotationError, match=re.escape(text)):
        frame_of(text)


def test_a_lone_placeholder_keeps_its_type_and_others_become_text() -> None:
    known = {"a": 7, "ip": "h"}.__getitem__
    assert filled({"room": "${a}", "text": ["${ip}:${a}"]}, known) == {"room": 7, "text": ["h:7"]}


def test_a_placeholder_that_nobody_knows_is_named() -> None:
    known = {"a": 7}.__getitem__
    with pytest.raises(NotationError, match=r"\$\{port\}"):
        filled("${port}", known)
