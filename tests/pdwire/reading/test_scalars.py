from __future__ import annotations

import pytest

from pdwire.reading import scalars
from pdwire.reading.errors import Refused
from pdwire.reading.types import build, construct_for, parse

ROOM = (0, 2**63 - 1)


@pytest.mark.parametrize(
    ("raw", "value"), [(b"0", 0), (b"7", 7), (b"9223372036854775807", 2**63 - 1)]
)
def test_a_decimal(raw: bytes, value: int) -> None:
    construct = construct_for("dec", *ROOM, ())
    assert parse(construct, raw) == value
    assert build(construct, value) == raw


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b" 7 ",
        b"1_000",
        b"+5",
        b"-0",
        b"-1",
        b"007",
        b"7\n",
        "\uff17".encode(),
        b"9223372036854775808",
        b"18446744073709551615",
        b"None",
        b"1" * 5000,
        b"\xff\xfe",
    ],
)
def test_no_decimal(raw: bytes) -> None:
    with pytest.raises(Refused) as caught:
        parse(construct_for("dec", *ROOM, ()), raw)
    assert caught.value.expected == "a canonical decimal 0..2^63-1"


@pytest.mark.parametrize(("raw", "value"), [(b"-1", -1), (b"-12", -12), (b"0", 0), (b"3", 3)])
def test_a_minus_where_the_range_has_one(raw: bytes, value: int) -> None:
    construct = construct_for("dec", -12, 3, ())
    assert parse(construct, raw) == value
    assert build(construct, value) == raw


@pytest.mark.parametrize("raw", [b"-0", b"-13", b"4", b"--1", b"- 1", b"-01"])
def test_a_minus_is_as_canonical(raw: bytes) -> None:
    with pytest.raises(Refused):
        parse(construct_for("dec", -12, 3, ()), raw)


@pytest.mark.parametrize("value", [True, None, 1.0, "1", -1, 2**63])
def test_what_no_decimal_can_be(value: object) -> None:
    with pytest.raises(Refused):
        build(construct_for("dec", *ROOM, ()), value)  # type: ignore[arg-type] # that is the point


def test_a_flag() -> None:
    construct = construct_for("flag", None, None, ())
    assert parse(construct, b"1") is True
    assert parse(construct, b"0") is False
    assert build(construct, value=True) == b"1"


@pytest.mark.parametrize("raw", [b"", b"2", b"00", b"True", b"01"])
def test_no_flag(raw: bytes) -> None:
    with pytest.raises(Refused):
        parse(construct_for("flag", None, None, ()), raw)


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("u32", b"\x01\x02\x00\x00"),
        ("u32be", b"\x00\x00\x02\x01"),
        ("u64", b"\x01\x02\0\0\0\0\0\0"),
    ],
)
def test_a_fixed_width(kind: str, raw: bytes) -> None:
    construct = construct_for(kind, 0, 2**32 - 1, ())
    assert parse(construct, raw) == 0x201
    assert build(construct, 0x201) == raw
    for wrong in (raw[:-1], raw + b"\0", b""):
        with pytest.raises(Refused, match="exactly"):
            parse(construct, wrong)


def test_a_fixed_width_keeps_to_its_range() -> None:
    with pytest.raises(Refused) as caught:
        parse(construct_for("u32", 0, 4, ()), b"\x05\0\0\0")
    assert caught.value.came == "5"


def test_bit_63_is_a_bit_like_any_other() -> None:
    construct = construct_for("u64", 0, 2**64 - 1, ())
    assert parse(construct, b"\xff" * 8) == 2**64 - 1
    assert build(construct, 2**63) == b"\0" * 7 + b"\x80"


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("text", "a_B-9~!", ["", "a b", "a\n", "\x7f"]),
        ("utf8", "naïve 漢", [""]),
        ("host", "[::1]", ["", "h:1", "10.0.0.256"]),
        ("hostport", "[::1]:5000", ["", "::1:5000", "h:0"]),
    ],
)
def test_texts(kind: str, good: str, bad: list[str]) -> None:
    construct = construct_for(kind, None, None, ())
    assert parse(construct, good.encode()) == good
    assert build(construct, good) == good.encode()
    for word in bad:
        with pytest.raises(Refused):
            parse(construct, word.encode())
        with pytest.raises(Refused):
            build(construct, word)


@pytest.mark.parametrize("kind", ["text", "utf8", "host", "hostport"])
def test_what_is_no_text_at_all(kind: str) -> None:
    construct = construct_for(kind, None, None, ())
    with pytest.raises(Refused):
        parse(construct, b"\xff\xfe")
    with pytest.raises(Refused):
        build(construct, "\ud800")


def test_a_pickle_is_bytes_like_any_other() -> None:
    raw = b"\x80\x05\x95."
    assert parse(construct_for("bytes", None, None, ()), raw) == raw
    with pytest.raises(Refused):
        parse(construct_for("text", None, None, ()), raw)


def test_only_allowed_words() -> None:
    construct = construct_for("text", None, None, ("up", "down"))
    assert parse(construct, b"up") == "up"
    with pytest.raises(Refused, match="one of up, down"):
        parse(construct, b"Up")


def test_names() -> None:
    construct = construct_for("names", None, None, ("VRAM", "DRAM"))
    assert parse(construct, b"VRAM,DRAM,VRAM") == ["VRAM", "DRAM", "VRAM"]
    assert parse(construct, b"") == []
    assert build(construct, ["DRAM"]) == b"DRAM"
    for wrong in (b"VRAM,", b",", b"VRAM, DRAM", b"FOO", b"vram", b"\xff"):
        with pytest.raises(Refused):
            parse(construct, wrong)
    with pytest.raises(Refused):
        build(construct, ["FOO"])


def test_a_constant() -> None:
    construct = scalars.constant("None")
    assert parse(construct, b"None") == b"None"
    assert build(construct, None) == b"None"
    with pytest.raises(Refused, match='the constant "None"'):
        parse(construct, b"none")


def test_an_unknown_type_is_the_spec_s_fault() -> None:
    with pytest.raises((ValueError, KeyError)):
        construct_for("u128", None, None, ())
