from __future__ import annotations

import re

import pytest

from pdwire_conformance.live.notation import filled, framed
from pdwire_conformance.suite.notation import NotationError


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        ("i32[4,-5]", b"\x04\0\0\0\xfb\xff\xff\xff"),
        ("u64[]", b""),
        ("ii[[7],[]]", b"\x02\0\0\0\x04\0\0\0\0\0\0\0\x07\0\0\0"),
        ("hex:8005", b"\x80\x05"),
        ("long:x*3", b"xxx"),
        ("127.0.0.1", b"127.0.0.1"),
        ("", b""),
        (7, b"7"),
    ],
)
def test_a_frame_is_its_bytes(text: object, frame: bytes) -> None:
    assert framed(text) == frame


@pytest.mark.parametrize("text", ["hex:8", "long:x*-1", "long:x*999999999999", "i32[99999999999]"])
def test_a_frame_that_cannot_be_is_named(text: str) -> None:
    with pytest.raises(NotationError, match=re.escape(text)):
        framed(text)


def test_a_lone_placeholder_keeps_its_type_and_others_become_text() -> None:
    known = {"a": 7, "ip": "h"}.__getitem__
    assert filled({"room": "${a}", "text": ["${ip}:${a}"]}, known) == {"room": 7, "text": ["h:7"]}


def test_a_placeholder_that_nobody_knows_is_named() -> None:
    known = {"a": 7}.__getitem__
    with pytest.raises(NotationError, match=r"\$\{port\}"):
        filled("${port}", known)
