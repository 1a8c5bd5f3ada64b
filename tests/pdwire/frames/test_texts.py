"""Texts: what is valid, and that nothing else is ever remembered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdwire.errors import FrameValueError, LossyEncodeError
from pdwire.frames import (
    HOSTPORTS,
    HOSTS,
    WORDS,
    Layout,
    Place,
    host,
    hostport,
    names,
    opaque,
    put_host,
    put_hostport,
    put_names,
    put_opaque,
    put_text,
    put_utf8,
    text,
    utf8,
)

At = Callable[..., Place]
Read = Callable[[Any, Place], str]
Write = Callable[[Any, Place], bytes]
bounded = settings(max_examples=300, derandomize=True, database=None, deadline=None)
PLACE = Place(Layout("m", "r1", "", (1,), {}), 0, "n", "n")
KINDS: list[tuple[Read, Write]] = [
    (host, put_host),
    (hostport, put_hostport),
    (text, put_text),
    (utf8, put_utf8),
]
SPELLINGS = st.text("[]:.%-_aA01 é\n", max_size=12)


@bounded
@given(spelling=SPELLINGS | st.text(max_size=9))
def test_what_is_read_is_written_and_what_is_refused_is_refused_both_ways(spelling: str) -> None:
    for read, write in KINDS:
        try:
            value = read(spelling.encode("utf-8", "surrogatepass"), PLACE)
        except FrameValueError:
            with pytest.raises(LossyEncodeError):
                write(spelling, PLACE)
        else:
            assert value == spelling
            assert write(spelling, PLACE) == spelling.encode()


@bounded
@given(raw=st.binary(max_size=9))
def test_bytes_that_are_read_are_the_bytes_that_are_written(raw: bytes) -> None:
    for read, write in KINDS:
        try:
            value = read(raw, PLACE)
        except FrameValueError:
            continue
        assert write(value, PLACE) == raw
    assert put_opaque(opaque(raw, PLACE), PLACE) == raw


@pytest.mark.parametrize(
    ("read", "table", "bad"),
    [(host, HOSTS, b"h:1"), (hostport, HOSTPORTS, b"h:0"), (text, WORDS, b"a b")],
)
def test_only_valid_spellings_are_remembered_and_boundedly(
    read: Read, table: dict[bytes, str], bad: bytes, at: At
) -> None:
    for _ in range(2):
        with pytest.raises(FrameValueError):
            read(bad, at())
    assert bad not in table
    for n in range(5000):
        raw = b"h%d:1" % n if read is hostport else b"h%d" % n
        assert read(raw, at()) == table[raw] == raw.decode()
        assert len(table) <= 4096
    long = b"a" * 400
    if read is text:
        assert read(long, at()) == "a" * 400
    assert long not in table


@pytest.mark.parametrize(("read", "write"), KINDS)
@pytest.mark.parametrize("value", [None, 7, b"h", "", ["h"], "\ud800"], ids=repr)
def test_what_is_no_text_is_not_written(read: Read, write: Write, value: object, at: At) -> None:
    with pytest.raises(LossyEncodeError) as caught:
        write(value, at())
    assert caught.value.field == "thing"
    with pytest.raises(FrameValueError):
        read(b"", at())


@pytest.mark.parametrize(("read", "write"), KINDS)
def test_words_that_are_not_allowed_are_refused_however_often(
    read: Read, write: Write, at: At
) -> None:
    good, bad = ("h:1", "g:1") if read is hostport else ("h", "g")
    assert read(bad.encode(), at()) == bad
    assert write(bad, at()) == bad.encode()
    narrow = at(allowed=(good,))
    assert read(good.encode(), narrow) == good
    assert write(good, narrow) == good.encode()
    with pytest.raises(FrameValueError):
        read(bad.encode(), narrow)
    with pytest.raises(LossyEncodeError):
        write(bad, narrow)


def test_a_list_of_names_has_no_gaps_and_no_other_words(at: At) -> None:
    place = at(allowed=("VRAM", "DRAM"))
    for words in ((), ("VRAM",), ("VRAM", "VRAM", "VRAM"), ("DRAM", "VRAM")):
        raw = ",".join(words).encode()
        assert names(raw, place) == words
        assert put_names(words, place) == put_names(list(words), place) == raw
    for raw in (
        b",",
        b"VRAM,",
        b",VRAM",
        b"VRAM,,VRAM",
        b"VRAM,VRAX",
        b"VRAMVRAM",
        b" VRAM",
        b"\xff",
    ):
        with pytest.raises(FrameValueError) as caught:
            names(raw, place)
        assert "is not one of VRAM, DRAM" in caught.value.hint
    values: list[Any] = [None, "VRAM", ["FOO"], [b"VRAM"], [None], [["VRAM"]], {"VRAM": 1}, 7]
    for value in values:
        with pytest.raises(LossyEncodeError):
            put_names(value, place)


def test_opaque_bytes_are_bytes_of_their_own_length(at: At) -> None:
    for value in (b"x", bytearray(b"x"), memoryview(b"x"), memoryview(b"x.")[::2]):
        assert put_opaque(value, at()) == b"x"
    assert opaque(bytearray(b"x"), at()) == b"x"
    others: list[Any] = [None, "x", 7, [120], memoryview(bytes(8)).cast("Q")]
    for value in others:
        with pytest.raises(LossyEncodeError, match="not bytes"):
            put_opaque(value, at())
