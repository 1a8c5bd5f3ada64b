"""Which codec: proved by the bytes that came, and never guessed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from pdwire.codec import Codec, Message
from pdwire.errors import (
    AmbiguousMessageError,
    FrameCountError,
    FrameValueError,
    UnknownMessageError,
    WireError,
)
from pdwire.frames import no_i32
from pdwire.registry import Recognition
from pdwire.wire import layout, layouts, mooncake, recognise
from pdwire.wire.table import ORDER

Samples = Callable[[Codec[Any]], list[tuple[Message, list[bytes]]]]

ZMQ = [codec for codec in layouts() if codec.transport == "zmq"]


@pytest.mark.parametrize("codec", ZMQ, ids=[f"{c.backend}-{c.message}-{c.layout}" for c in ZMQ])
def test_recognition_is_exactly_what_the_decoders_accept(
    codec: Codec[Any], samples: Samples
) -> None:
    for message, frames in samples(codec):
        found = recognise(frames)
        accepting = _accepting(frames)
        assert list(found.candidates) == list(accepting)
        assert codec in accepting
        assert found.ambiguous == any(read != message for read in accepting.values())
        assert set(found.backends) == {one.backend for one in accepting}
        assert set(found.releases) == {r for one in accepting for r in one.releases}
        assert list(found.releases) == sorted(found.releases, key=ORDER.index)
        if found.ambiguous:
            with pytest.raises(AmbiguousMessageError):
                _ = found.codec
        else:
            assert found.codec.decode(frames) == message
            assert found.message == codec.message


def _accepting(frames: list[bytes]) -> dict[Codec[Any], Message]:
    """Every codec of all that reads the frames, and what."""
    read: dict[Any, Message | None] = {}
    for decode in {codec.decode for codec in ZMQ}:
        try:
            read[decode] = decode(frames)
        except WireError:
            read[decode] = None
    found = {codec: read[codec.decode] for codec in ZMQ}
    return {codec: message for codec, message in found.items() if message is not None}


@pytest.mark.parametrize("codec", ZMQ, ids=[f"{c.backend}-{c.message}-{c.layout}" for c in ZMQ])
def test_recognition_is_narrowed_by_backend_and_direction(
    codec: Codec[Any], samples: Samples
) -> None:
    for _, frames in samples(codec)[:4]:
        everything = recognise(frames).candidates
        for direction in codec.directions:
            narrowed = recognise(frames, backend=codec.backend, direction=direction)
            assert list(narrowed.candidates) == [
                one
                for one in everything
                if one.backend == codec.backend and direction in one.directions
            ]
            assert codec in narrowed.candidates
        other = {"decode -> prefill": "prefill -> decode"}.get(
            codec.directions[0], "decode -> prefill"
        )
        with pytest.raises(WireError):
            recognise(frames, direction=other)


def test_only_two_kinds_of_messages_are_ever_ambiguous(samples: Samples) -> None:
    """A filled state frame of a release that is flat against one that is nested (V2)."""
    found = {
        (codec.backend, codec.message, codec.layout)
        for codec in ZMQ
        for _, frames in samples(codec)
        if recognise(frames).ambiguous
    }
    assert {(message, revision) for _, message, revision in found} <= {
        ("TransferInfo", "r1"),
        ("TransferInfo", "r2"),
        ("TransferInfo", "r3"),
        ("TransferInfo", "r4"),
        ("KVArgsRegisterInfo", "r2"),
        ("KVArgsRegisterInfo", "r3"),
        ("KVArgsRegisterInfo", "r4"),
    }
    assert ("nixl", "TransferInfo", "r4") in found


@pytest.mark.parametrize(
    ("frames", "kind", "told"),
    [
        ([], UnknownMessageError, "expected a known message, got no frames"),
        ([b""], UnknownMessageError, "no layout begins like this"),
        ([b"HELLO", b"7"], UnknownMessageError, "got b'HELLO' (5 bytes)"),
        ([b"\xff\xfe"], UnknownMessageError, "got b'\\xff\\xfe' (2 bytes)"),
        ([b"7"], FrameCountError, "got 1 frame"),
        ([b"None"], FrameCountError, "got 1 frame"),
        ([b"NixlMsgGuard"], UnknownMessageError, "no layout begins like this"),
        ([b"NixlMsgGuard", b"x"], UnknownMessageError, "no layout begins like this"),
        ([b"ABORT", b"x", b"h", b"1"], FrameValueError, "frame 1 room"),
        ([b"ABORT", b"7", b"h", b"x"], FrameValueError, "frame 3 decode_port"),
        ([b"STAGING_REQ", b"7", b"0"], FrameCountError, "got 3 frames"),
        (None, UnknownMessageError, "expected a sequence of frames, got None"),
        (7, UnknownMessageError, "expected a sequence of frames, got 7"),
        ({b"ABORT": 1}, UnknownMessageError, "expected a sequence of frames"),
        ("ABORT", FrameValueError, "expected a bytes-like frame, got str"),
        (b"ABORT", FrameValueError, "expected a bytes-like frame, got int"),
        ([3.5], FrameValueError, "expected a bytes-like frame, got float"),
    ],
)
def test_frames_that_nobody_knows_are_told_by_what_came(
    frames: Any,  # noqa: ANN401  # whatever comes
    kind: type[WireError],
    told: str,
) -> None:
    with pytest.raises(WireError, match=re.escape(told)) as caught:
        recognise(frames)
    assert type(caught.value) is kind


def test_frames_of_one_known_message_get_the_error_that_came_furthest() -> None:
    good = mooncake.TransferInfo(
        room=7, endpoint="h", dst_port=1, mooncake_session_id="h:1", dst_kv_indices=no_i32(),
        dst_aux_index=3, dst_state_indices=(), required_dst_info_num=1,
    )  # fmt: skip
    frames = good.to_zmq()
    frames[7] = b"0"
    with pytest.raises(FrameValueError) as caught:
        recognise(frames)
    assert (caught.value.frame, caught.value.field) == (7, "required_dst_info_num")
    assert caught.value.message == "mooncake TransferInfo"


def test_a_recognition_is_a_value() -> None:
    found = recognise([b"ABORT_ACK", b"7"], backend="mori")
    assert found == Recognition(
        candidates=(layout("mori", "ABORT_ACK"),),
        ambiguous=False,
        message="ABORT_ACK",
        backends=("mori",),
        releases=("0.5.22", "0.5.23"),
    )
    assert found.codec is layout("mori", "ABORT_ACK")


def test_an_ambiguous_recognition_names_its_candidates() -> None:
    codecs = tuple(layouts("nixl", "TransferInfo")[:2])
    found = Recognition(candidates=codecs, ambiguous=True, message="", backends=(), releases=())
    with pytest.raises(AmbiguousMessageError, match="nixl TransferInfo r1, nixl TransferInfo r2"):
        _ = found.codec
