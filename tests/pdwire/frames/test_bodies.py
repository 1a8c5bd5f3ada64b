"""HTTP bodies: the types of JSON, exactly, and queries with one value a key."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from pdwire.errors import FrameCountError, FrameValueError, LossyEncodeError, UnknownMessageError
from pdwire.frames import (
    Layout,
    Place,
    dec,
    json_body,
    json_key,
    json_whole,
    matched,
    only,
    put_json,
    put_json_key,
    put_query,
    query_body,
    query_key,
)

At = Callable[..., Place]
LAYOUT = Layout("bootstrap ROUTE", "r1", "0.5.23", (1,), {})
DEEP: Any = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("int", [0, 9], [10, -1, True, 1.0, "1", None, [1]]),
        ("int?", [None, 0, 9], [10, True, "1"]),
        ("str", ["", "x", "é", "😀"], [1, None, b"x", "\ud800", ["x"]]),
        ("str?", [None, "x"], [1, "\udfff"]),
        ("bool", [True, False], [0, 1, None, "true"]),
        ("int[]", [(), (0, 9)], [(10,), (None,), "12", None, {1: 2}, (True,)]),
        ("int{}", [{}, {"7": 9}], [{"7": 10}, {7: 9}, {"\ud800": 1}, [1], None]),
        ("object", [{}, {"a": [1, 1.5, None, {"b": "é"}]}], [[], None, "x"]),
        ("object?", [None, {"a": (1, True)}], [[1]]),
    ],
)
def test_a_value_is_of_its_type_both_ways(
    kind: str, good: list[Any], bad: list[Any], at: At
) -> None:
    for value in good:
        (body,) = put_json({"key": put_json_key(value, kind, at(0, 9))})
        read = json_key(json_body([body], LAYOUT), "key", kind, at(0, 9))
        assert read == json.loads(json.dumps(value)) or read == value
        assert isinstance(read, tuple) is (kind == "int[]")
    for value in bad:
        with pytest.raises(LossyEncodeError) as caught:
            put_json_key(value, kind, at(0, 9))
        assert caught.value.field == "thing"
        with pytest.raises(FrameValueError) as refused:
            json_key({"key": value}, "key", kind, at(0, 9))
        assert refused.value.field == "thing"


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), b"x", {1: 2}, {None: 1}, {1, 2}, object(), DEEP, "\ud800", [1j]],
    ids=lambda value: type(value).__name__,
)
def test_what_json_would_change_or_cannot_say_is_not_written(value: object, at: At) -> None:
    with pytest.raises(LossyEncodeError):
        put_json_key({"deep": value}, "object", at())


def test_allowed_words_are_the_only_ones(at: At) -> None:
    place = at(allowed=("early", "late"))
    assert put_json_key("late", "str", place) == "late"
    for word in ("", "Late", "later"):
        with pytest.raises(LossyEncodeError):
            put_json_key(word, "str", place)
        with pytest.raises(FrameValueError):
            json_key({"key": word}, "key", "str", place)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"7", b"[]", b"null", b"{", b"{}{}", b"{'a':1}", b'{"a":NaN}', b'{"a":01}', b"\xff"),
        *(b'{"a":"\xff"}', b'{"a":' * 9000, b"[" * 9000, b'{"a":1e999}', b"\xef\xbb\xbf{}"),
    ],
    ids=lambda body: repr(body[:12]),
)
def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(FrameValueError, match="bootstrap ROUTE r1 frame 0: expected a JSON object"):
        json_body([body], LAYOUT)


def test_numbers_of_any_length_are_whole_or_refused(at: At) -> None:
    body = json_body([b'{"key":%d}' % 10**300], LAYOUT)
    with pytest.raises(FrameValueError, match="got 1000"):
        json_key(body, "key", "int", at())
    try:
        body = json_body([b'{"key":' + b"9" * 10_000 + b"}"], LAYOUT)
    except FrameValueError:
        return
    with pytest.raises(FrameValueError):
        json_key(body, "key", "int", at())


def test_a_missing_key_is_named_with_those_that_came(at: At) -> None:
    with pytest.raises(FrameValueError, match=r"the key 'x', a thing, got keys 'a', 'b'"):
        json_key({"b": 1, "a": 2}, "x", "int", at())
    with pytest.raises(FrameValueError, match=r"got no keys \(required in this release\)"):
        json_key({}, "x", "int", at())


def test_a_body_may_be_data_as_a_whole(at: At) -> None:
    assert json_whole({"7": 1}, "int{}", at(0, 9)) == {"7": 1}
    with pytest.raises(FrameValueError):
        json_whole({"7": "1"}, "int{}", at(0, 9))


@pytest.mark.parametrize("frames", [[], [b"{}", b"{}"]])
def test_a_body_is_one_frame(frames: list[bytes]) -> None:
    for read in (only, json_body, query_body):
        with pytest.raises(FrameCountError, match=f"expected 1 frame, got {len(frames)} frames"):
            read(frames, LAYOUT)


def test_a_query_is_decoded_and_its_first_value_counts(at: At) -> None:
    body = query_body([b"a=1&b=x%20y+z&a=2&c="], LAYOUT)
    assert body == {"a": "1", "b": "x y z", "c": ""}
    assert dec(query_key(body, "a", at()), at()) == 1
    with pytest.raises(FrameValueError, match="the key 'd'"):
        query_key(body, "d", at())
    assert query_body([b""], LAYOUT) == {}
    assert put_query({"a": b"1", "b c": b"x&y"}) == [b"a=1&b+c=x%26y"]


@pytest.mark.parametrize("raw", [b"a", b"a&b", b"\xff=1", b"&", b"a=1&" * 300, "é=1".encode()])
def test_what_is_no_query_is_refused(raw: bytes) -> None:
    with pytest.raises(FrameValueError, match="expected a query string"):
        query_body([raw], LAYOUT)


def test_a_text_of_another_grammar_is_another_message() -> None:
    pattern = re.compile(rb"(?P<room>[0-9]+)_aux")
    assert matched([b"7_aux"], pattern, "{room}_aux", LAYOUT)["room"] == b"7"
    for raw in (b"7_aux\n", b"7_au", b"x7_aux", b""):
        with pytest.raises(UnknownMessageError, match=r"expected \{room\}_aux"):
            matched([raw], pattern, "{room}_aux", LAYOUT)
