"""Where an error happened, and what the second attempt makes of odd frames."""

from __future__ import annotations

from typing import Any

import pytest
import zmq

from pdwire.errors import (
    FrameCountError,
    FrameValueError,
    InvariantError,
    LossyEncodeError,
    UnknownMessageError,
)
from pdwire.frames import (
    Layout,
    Place,
    as_bytes,
    broken,
    const,
    fixed,
    guarded,
    lossy,
    plain,
    refuse,
    wrong_count,
)

COUNTS = {3: "0.5.17–0.5.18", 2: "0.5.16"}
TAGGED = Layout("mooncake Ping", "r2", "0.5.17–0.5.18", (3, 4), COUNTS, None, ((0, b"PING"),))
GUARDED = Layout("nixl Ping", "r1", "0.5.23", (2,), COUNTS, b"Guard", ((1, b"PING"),))
NUMBER = Layout(
    "mori Ping", "r1", "0.5.23", (2,), COUNTS, b"Guard", number=1, strangers={b"None": "Register"}
)
PLACE = Place(TAGGED, 2, "thing", "a thing")


def test_refusals_say_where_what_and_why() -> None:
    with pytest.raises(FrameValueError) as caught:
        refuse(PLACE, b"x" * 50, "a hint")
    fault = caught.value
    assert (fault.message, fault.layout, fault.frame, fault.field) == (
        "mooncake Ping",
        "r2",
        2,
        "thing",
    )
    assert str(fault) == (
        f"mooncake Ping r2 frame 2 thing: expected a thing, got {b'x' * 32!r}… (50 bytes) (a hint)"
    )
    with pytest.raises(LossyEncodeError, match=r"frame 2 thing: expected a thing, got 7"):
        lossy(PLACE, 7)
    with pytest.raises(InvariantError, match=r"mooncake Ping r2 b: expected as many, got 1, 2"):
        broken(TAGGED, "as many", "1, 2", "b")


@pytest.mark.parametrize(
    ("layout", "frames", "kind", "told"),
    [
        (TAGGED, [b"PING", b"x"], FrameCountError, "expected 3 or 4 frames, got 2 frames"),
        (TAGGED, [b"PING", b"x"], FrameCountError, "2 frames: a 0.5.16 peer?"),
        (TAGGED, [b"PING"], FrameCountError, "got 1 frame"),
        (TAGGED, [b"PONG", b"x"], UnknownMessageError, "expected b'PING', got b'PONG' (4 bytes)"),
        (TAGGED, [], UnknownMessageError, "got no such frame"),
        (GUARDED, [b"PING", b"x"], UnknownMessageError, "the guard b'Guard' first"),
        (GUARDED, [], UnknownMessageError, "got no frames"),
        (GUARDED, [b"Guard"], UnknownMessageError, "frame 0: expected b'PING'"),
        (GUARDED, [b"Guard", b"PING"], FrameCountError, "expected 2 frames, got 1 frame"),
        (NUMBER, [b"Guard", b"None"], UnknownMessageError, "another message: Register"),
        (NUMBER, [b"Guard", b"x"], FrameCountError, "expected 2 frames, got 1 frame"),
        (NUMBER, [b"Guard"], FrameCountError, "expected 2 frames, got 0 frames"),
    ],
)
def test_a_wrong_count_first_asks_whether_it_is_this_message(
    layout: Layout, frames: list[bytes], kind: type[Exception], told: str
) -> None:
    with pytest.raises(kind) as caught:
        wrong_count(layout, frames)
    assert type(caught.value) is kind
    assert told in str(caught.value)


def test_constants_and_guards_may_come_in_any_buffer() -> None:
    for make in (bytes, bytearray, memoryview, zmq.Frame):
        const(make(b"PING"), b"PING", PLACE)
        fixed(make(b""), b"", PLACE)
        guarded(make(b"Guard"), GUARDED)
    with pytest.raises(UnknownMessageError, match="frame 2 thing: expected b'PING'"):
        const(b"PONG", b"PING", PLACE)
    with pytest.raises(FrameValueError, match="frame 2 thing: expected a thing"):
        fixed(b"x", b"", PLACE)
    with pytest.raises(UnknownMessageError, match="pass the whole message"):
        guarded(b"guard", GUARDED)


def test_a_frame_is_bytes_or_it_is_named() -> None:
    assert as_bytes(memoryview(b"abc")[::2], PLACE) == b"ac"
    with pytest.raises(
        FrameValueError, match="frame 2 thing: expected a bytes-like frame, got int"
    ):
        as_bytes(7, PLACE)
    with pytest.raises(FrameValueError, match="mooncake Ping r2: expected a bytes-like frame"):
        as_bytes("x", TAGGED)


def test_the_second_attempt_takes_any_sequence_of_buffers() -> None:
    for frames in (
        (bytearray(b"a"), b"b"),
        [memoryview(b"a"), zmq.Frame(b"b")],
        iter([b"a", b"b"]),
    ):
        assert plain(frames, TAGGED) == [b"a", b"b"]
    with pytest.raises(
        FrameValueError, match="frame 1 thing: expected a bytes-like frame, got list"
    ):
        plain([b"Guard", b"0", [b"x"]], _with_place())


def _with_place() -> Layout:
    layout = Layout("nixl Ping", "r1", "0.5.23", (2,), {}, b"Guard")
    Place(layout, 1, "thing", "a thing")
    return layout


@pytest.mark.parametrize(
    "frames",
    [b"ab", bytearray(b"ab"), memoryview(b"ab"), "ab", {b"a": 1}, {b"a"}, None, 7, zmq.Frame(b"a")],
)
def test_what_is_no_sequence_of_frames_is_said_to_be_none(frames: Any) -> None:  # noqa: ANN401
    with pytest.raises(FrameValueError, match="expected a sequence of frames, got"):
        plain(frames, TAGGED)


def test_bytes_that_failed_once_are_the_codecs_own_fault() -> None:
    with pytest.raises(RuntimeError, match="codec of mooncake Ping r2 failed on plain frames"):
        plain([b"a", b"b"], TAGGED)
