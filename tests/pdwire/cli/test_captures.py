from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdwire.cli.captures import Capture, CaptureError, parse


def frames(text: str) -> list[list[bytes]]:
    return [list(capture.frames) for capture in parse(text.encode())]


def test_hex_lines() -> None:
    text = "# two messages\n0x4e6f6e65\n00 01 0A\n\n\n37 # the room\n0x\n---\n"
    assert frames(text) == [[b"None", b"\x00\x01\x0a"], [b"7", b""]]


def test_quoted_text() -> None:
    assert frames(r'"None"') == [[b"None"]]
    assert frames('""') == [[b""]]
    assert frames(r'"a \"b\" \\ \x00\xff\n#"') == [[b'a "b" \\ \x00\xff\n#']]
    assert frames('"naïve"') == [["naïve".encode()]]
    assert frames('"MORI" 00 "x"') == [[b"MORI\x00x"]]


def test_where_a_message_begins() -> None:
    assert parse(b"# c\n\n37\r\n34\r\n---\r\n# d\r\n30") == [
        Capture((b"7", b"4"), 3),
        Capture((b"0",), 7),
    ]


def test_a_byte_order_mark_is_no_frame() -> None:
    assert frames("\ufeff37") == [[b"7"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["37", "", "0x34 30"]', [[b"7", b"", b"40"]]),
        ('[["37"], ["34"]]', [[b"7"], [b"4"]]),
        ('{"frames": ["37"], "at": 5}', [[b"7"]]),
        ('[{"frames": ["37"]}, {"frames": []}]', [[b"7"], []]),
        ('{"frames": ["37"]}\n\n{"frames": ["34"]}\n', [[b"7"], [b"4"]]),
        ('["37"]\n["34"]', [[b"7"], [b"4"]]),
        ("[]", [[]]),
        ('[\n "37",\n "34"\n]', [[b"7", b"4"]]),
    ],
)
def test_json(text: str, expected: list[list[bytes]]) -> None:
    assert frames(text) == expected


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("37\n0x123", 2, 3, "an odd number of hex digits (3)"),
        ("37\n  None", 2, 3, "'N' is neither hex nor quoted text"),
        ("37 zz", 1, 4, "'z' is neither hex nor quoted text"),
        ('"abc', 1, 1, "the quoted text does not end"),
        (r'"ab\q"', 1, 4, r"unknown escape \q"),
        ('"é\\x00"', 1, 1, "text beyond ASCII and \\x escapes do not mix"),
        ('["37",', 1, 7, "not JSON: Expecting value"),
        ('["37", "3"]', 1, 8, 'not a string of hex: "3"'),
        ('[\n "37",\n 5\n]', 3, 2, "not a string of hex: 5"),
        ('{"frames": ["37"]}\n{"frames": ["x"]}', 2, 13, 'not a string of hex: "x"'),
        ('{"frames": ["37"]}\n{"frames"', 2, 10, "not JSON: Expecting ':' delimiter"),
        ('{"frame": ["37"]}', 1, 1, "neither a list of frames nor an object with frames"),
    ],
)
def test_the_place_of_what_cannot_be_read(text: str, line: int, column: int, problem: str) -> None:
    with pytest.raises(CaptureError) as caught:
        parse(text.encode())
    assert (caught.value.line, caught.value.column, caught.value.problem) == (line, column, problem)


def test_binary_is_no_text() -> None:
    with pytest.raises(CaptureError, match="line 2, column 3: not text"):
        parse(b"37\n00\xff")


def test_deep_json_is_refused() -> None:
    with pytest.raises(CaptureError, match="nested too deeply"):
        parse(b"[" * 100_000)


@given(st.binary(max_size=60) | st.text(alphabet='[]{}"0123abx\\ \n#-:,', max_size=60))
def test_whatever_comes_is_read_or_refused(raw: bytes | str) -> None:
    with contextlib.suppress(CaptureError):
        parse(raw if isinstance(raw, bytes) else raw.encode())
