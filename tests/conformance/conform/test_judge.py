"""What is an answer that a case expects, and what is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pdwire_conformance.conform.judge import judge, request_of, unasked
from pdwire_conformance.reports.text import kind_of
from pdwire_conformance.suite.case import (
    Accept,
    Ambiguous,
    Case,
    Check,
    Decode,
    Encode,
    Live,
    Recognise,
    Recognised,
    Refuse,
    Role,
)
from pdwire_conformance.testees.protocol import Hello

MakeCase = Callable[..., Case]
Judge = Callable[..., tuple[bool, str, str]]

STRICT = Refuse(kinds=("frame-value",), frame=3, field="room")
A7 = {"message": "A", "layouts": ["r7"]}


def accept(**values: Any) -> Decode:  # noqa: ANN401
    return Decode(frames=(b"7",), expect=Accept(values=values))


def encode(*frames: bytes) -> Encode:
    return Encode(values={"room": 7}, expect=frames)


def recognise(expect: Recognised | Ambiguous | Refuse) -> Recognise:
    return Recognise(frames=(b"7",), expect=expect)


def read(*candidates: dict[str, Any], ambiguous: bool = False) -> dict[str, Any]:
    return {"recognised": {"ambiguous": ambiguous, "candidates": list(candidates)}}


def error(kind: str = "frame-value", **place: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"error": {"kind": kind, "text": "no", **place}}


@pytest.fixture
def judged(a_case: MakeCase) -> Judge:
    """``judged(check, answer, "typed-errors")``: right or not, expected, came."""

    def of(check: Check, answer: dict[str, Any], *features: str) -> tuple[bool, str, str]:
        hello = Hello(name="x", features=frozenset(features))
        told = judge(a_case("x", check=check), answer, hello)
        return told.ok, told.expected, told.came

    return of


@pytest.mark.parametrize(
    ("check", "answer", "features"),
    [
        (accept(room=7), {"values": {"room": 7, "more": 1}}, ()),
        (accept(room=7, rank=1), {"values": {"room": 7}}, ("partial",)),
        (accept(list=[]), {"values": {"list": None}}, ()),
        (accept(big=2**64 - 1), {"values": {"big": 2**64 - 1}}, ()),
        (accept(), {"values": {}}, ()),
        (encode(b"7", b""), {"frames": ["37", ""]}, ()),
        (recognise(Recognised(message="A")), read(A7), ()),
        (recognise(Recognised(message="A", layouts=("r7",))), read(A7), ()),
        (recognise(Ambiguous()), read(A7, ambiguous=True), ()),
        (recognise(Ambiguous()), error(), ()),
        (Decode(frames=(), expect=Refuse()), error("other"), ("typed-errors",)),
        (Decode(frames=(), expect=STRICT), error("other"), ()),
        (Decode(frames=(), expect=STRICT), error(frame=3, field="room"), ("typed-errors",)),
        (Encode(values={}, expect=Refuse()), error("lossy-encode"), ()),
        (recognise(Refuse()), error("unknown-message"), ()),
    ],
)
def test_right(
    judged: Judge, check: Check, answer: dict[str, Any], features: tuple[str, ...]
) -> None:
    is_right, *_ = judged(check, answer, *features)
    assert is_right


@pytest.mark.parametrize(
    ("check", "answer", "features", "expected", "came"),
    [
        (accept(room=7), {"values": {"room": 8}}, (), '{"room": 7}', '{"room": 8}'),
        (accept(n=1), {"values": {"n": True}}, (), '{"n": 1}', '{"n": true}'),
        (accept(n=[1]), {"values": {"n": [True]}}, (), '{"n": [1]}', '{"n": [true]}'),
        (accept(a=1, b=2), {"values": {"a": 1}}, (), "a value of b", "no b"),
        (accept(a=1, b=2), {"values": {}}, (), "a value of a, b", "no a, b"),
        (accept(room=7), error(frame=2), (), '{"room": 7}', "an error frame-value at frame 2: no"),
        (encode(b"7"), {"frames": ["37", ""]}, (), "1 frames", "2 frames"),
        (
            encode(b"7", b"\x08"),
            {"frames": ["37", "09ff"]},
            (),
            "frame 1 of the multipart: 08",
            "frame 1: 09ff",
        ),
        (
            encode(b"7", b""),
            {"frames": ["37", b"None".hex()]},
            (),
            "frame 1 of the multipart: (empty)",
            'frame 1: 4e6f6e65 "None"',
        ),
        (
            encode(b"x" * 65),
            {"frames": [""]},
            (),
            f'frame 0 of the multipart: {"78" * 64}… (65 bytes) "{"x" * 65}"',
            "(empty)",
        ),
        (encode(b"7"), error(), (), "1 frames", "an error frame-value: no"),
        (recognise(Recognised(message="B")), read(A7), (), "B", "A r7"),
        (recognise(Recognised(message="A", layouts=("r6",))), read(A7), (), "A r6", "A r7"),
        (
            recognise(Recognised(message="A")),
            read(A7, ambiguous=True),
            (),
            "A",
            "ambiguous: A r7",
        ),
        (recognise(Ambiguous()), read(A7), (), "ambiguous, or refused", "A r7"),
        (
            Decode(frames=(), expect=Refuse()),
            {"values": {"room": 7}},
            (),
            "a refusal",
            '{"room": 7}',
        ),
        (
            Decode(frames=(), expect=STRICT),
            error("frame-count", frame=3, field="room"),
            ("typed-errors",),
            "an error frame-value at frame 3 (room)",
            "an error frame-count at frame 3: no",
        ),
        (
            Decode(frames=(), expect=STRICT),
            error(frame=2, field="room"),
            ("typed-errors",),
            "an error frame-value at frame 3 (room)",
            "an error frame-value at frame 2: no",
        ),
    ],
)
def test_wrong(
    judged: Judge,
    check: Check,
    answer: dict[str, Any],
    features: tuple[str, ...],
    expected: str,
    came: str,
) -> None:
    assert judged(check, answer, *features) == (False, expected, came)


def test_what_the_testee_skips_is_not_judged(a_case: MakeCase) -> None:
    told = judge(a_case("x"), {"skip": "no way"}, Hello(name="x"))
    assert (told.ok, told.skip) == (False, "no way")


def test_a_testee_that_reads_only_some_fields_is_not_held_to_the_others(a_case: MakeCase) -> None:
    some = Hello(name="x", features=frozenset({"partial"}))
    told = judge(a_case("x", check=accept(a=1, b=2)), {"values": {"c": 3}}, some)
    assert (told.ok, told.skip) == (False, "it does not read a, b")


def test_requests_carry_frames_as_hex_and_only_what_the_question_knows(a_case: MakeCase) -> None:
    assert request_of(a_case("x", check=accept(room=7)), "0.5.23") == {
        "op": "decode",
        "backend": "mooncake",
        "release": "0.5.23",
        "message": "TransferInfo",
        "frames": ["37"],
    }
    asked = request_of(a_case("x", check=recognise(Ambiguous())), "0.5.23")
    assert asked == {"op": "recognise", "backend": "mooncake", "frames": ["37"], "direction": ""}
    with pytest.raises(ValueError, match="x is a live case"):
        request_of(a_case("x", check=Live(steps=())), "0.5.23")


@pytest.mark.parametrize(
    ("told", "hello", "why"),
    [
        ({}, {}, ""),
        ({"role": Role.DECODE}, {}, "it does not play the role decode"),
        ({"backend": "mori"}, {}, "it has no backend mori"),
        ({"check": encode(b"")}, {}, "it has no encode of TransferInfo"),
        ({"check": recognise(Ambiguous())}, {}, "it does not recognise messages"),
        ({"check": recognise(Ambiguous())}, {"features": frozenset({"recognise"})}, ""),
    ],
)
def test_why_a_testee_is_not_asked(
    a_case: MakeCase, told: dict[str, Any], hello: dict[str, Any], why: str
) -> None:
    about = Hello(
        name="x",
        releases={"mooncake": ("0.5.23",)},
        messages={"mooncake": {"TransferInfo": ("decode",)}},
        **hello,
    )
    assert unasked(a_case("x", **told), about) == why


def test_failures_of_one_kind_differ_in_a_frames_text_alone(judged: Judge) -> None:
    told = [judged(encode(b""), {"frames": [frame]}) for frame in ("4e6f6e65", "3a3a", "ffff")]
    assert len({kind_of((expected, came)) for _, expected, came in told}) == 1
