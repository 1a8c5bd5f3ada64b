"""Field reports F1, F2, F5, F6 and F13: counts, lengths and spellings of numbers.

Each test has the id of its report in its name and runs against every layout that has the thing.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import pack
from typing import Any

import pytest

from pdwire.codec import Codec, Message
from pdwire.errors import (
    FrameCountError,
    FrameValueError,
    InvariantError,
    LossyEncodeError,
    UnknownMessageError,
    WireError,
)
from pdwire.wire import layout, layouts, recognise

Json = dict[str, Any]
Facts = Callable[[Codec[Any]], tuple[Json, Json]]
Place = Callable[[Codec[Any], str], int]
Plain = Callable[..., Message]
Samples = Callable[[Codec[Any]], list[tuple[Message, list[bytes]]]]


def every(*messages: str, field: str = "") -> pytest.MarkDecorator:
    """Every layout of these messages, of every backend; without any, each layout once.

    With ``field`` only those that have a frame for it.
    """
    codecs = [codec for codec in layouts() if not messages or codec.message in messages]
    if not messages:
        codecs = list({codec.decode: codec for codec in codecs}.values())
    if field:
        codecs = [c for c in codecs if field in c.fields and c.transport == "zmq"]
    names = [f"{codec.backend}-{codec.message}-{codec.layout}" for codec in codecs]
    return pytest.mark.parametrize("codec", codecs, ids=names)


def fault_of(codec: Codec[Any], frames: list[bytes], at: int, raw: bytes) -> WireError:
    """The error of a message with one frame replaced."""
    with pytest.raises(WireError) as caught:
        codec.decode([*frames[:at], raw, *frames[at + 1 :]])
    return caught.value


@every("KV_STATUS")
def test_f1_two_status_messages_run_together_are_refused(codec: Codec[Any]) -> None:
    frames = {
        "nixl": [b"KV_STATUS", b"123", b"2", b"7", b"", b"KV_STATUS", b"124", b"2", b"6", b""],
        "mori": [
            b"MoriMsgGuard",
            b"123",
            b"2",
            b"7",
            b"",
            b"MoriMsgGuard",
            b"124",
            b"2",
            b"6",
            b"",
        ],
    }.get(codec.backend, [b"123", b"2", b"7", b"124", b"2", b"6"])
    with pytest.raises(FrameCountError) as caught:
        codec.decode(frames)
    count = len(frames) - (codec.guard is not None)
    assert caught.value.came == f"{count} frames"
    assert caught.value.expected == {(3,): "3 frames", (3, 4): "3 or 4 frames"}.get(
        codec.counts, f"{codec.counts[0]} frames"
    )
    with pytest.raises(FrameCountError):
        recognise(frames, backend=codec.backend, direction="prefill -> decode")
    half = frames[: len(frames) // 2]
    assert codec.encode(codec.decode(half))[: len(half) - 1] == half[:-1]


@every("AUX_DATA")
def test_f2_a_length_frame_that_is_wrong_or_disagrees_is_refused(codec: Codec[Any]) -> None:
    good = [b"AUX_DATA", b"7", b"0", b"3", pack(">I", 4), b"data"]
    assert codec.decode(good).data == b"data"
    assert codec.encode(codec.decode(good)) == good
    for raw in (b"\0\0\4", pack(">Q", 4), b"", b"4"):
        fault = fault_of(codec, good, 4, raw)
        assert type(fault) is FrameValueError
        assert (fault.frame, fault.field) == (4, "data_length")
    for size in (0, 3, 5, 2**32 - 1, 4 << 24):  # the last one is 4 in the other byte order
        fault = fault_of(codec, good, 4, pack(">I", size))
        assert type(fault) is InvariantError
        assert fault.field == "data_length"
    for data in (b"", b"dat", b"data\0"):
        assert type(fault_of(codec, good, 5, data)) is InvariantError


SPELLINGS = [
    *(b" 7 ", b"7 ", b"\t7", b"7\n", b"7\0", b"1_000", b"+5", b"-0", b"007", b"00", b"--1"),
    *(b"7.0", b"7e0", b"0x7", b"7L", b"True", b"\xff\xfe", "７".encode(), "٣".encode(), b"\xb2"),  # noqa: RUF001
    *(b"9" * 21, b"-" + b"9" * 30, b"1" * 5000, b"None\0", b"nan", b"-"),
]


@every()
def test_f5_integers_are_canonical_ascii_digits_in_every_frame(
    codec: Codec[Any], samples: Samples, place: Place, facts: Facts
) -> None:
    slots = [slot for slot in facts(codec)[1]["frames"] if slot["type"] == "dec"]
    sample = max((frames for _, frames in samples(codec)), key=len)
    for slot in slots:
        at = place(codec, slot["field"])
        for raw in SPELLINGS:
            fault = fault_of(codec, sample, at, raw)
            assert type(fault) is FrameValueError, raw
            assert (fault.frame, fault.field) == (slot["position"], slot["field"])
            assert fault.expected.startswith("a canonical decimal in ")
        if "empty" not in slot:
            fault = fault_of(codec, sample, at, b"")
            assert (fault.frame, fault.field) == (slot["position"], slot["field"])


@every("NOTIF_KV", "NOTIF_AUX", "NOTIF_STATE", "NOTIF_STG")
def test_f5_integers_are_canonical_in_notifications(codec: Codec[Any], samples: Samples) -> None:
    rest = samples(codec)[0][1][0].partition(b"_")[2]
    assert codec.decode([b"7_" + rest]).room == 7
    for raw in SPELLINGS:
        with pytest.raises((UnknownMessageError, FrameValueError)):
            codec.decode([raw + b"_" + rest])


@every("ROUTE_GET")
def test_f5_integers_are_canonical_in_a_query(codec: Codec[Any], samples: Samples) -> None:
    for pair in samples(codec)[0][1][0].split(b"&"):
        key = pair.partition(b"=")[0].decode()
        for raw in (b"+5", b"%205", b"1_000", b"007", b"-0", b"", b"None", b"%EF%BC%97"):
            query = samples(codec)[0][1][0].replace(pair, key.encode() + b"=" + raw)
            with pytest.raises(FrameValueError) as caught:
                codec.decode([query])
            assert caught.value.field == key


@every(field="room")
def test_f6_rooms_end_at_the_largest_signed_number(
    codec: Codec[Any], samples: Samples, place: Place
) -> None:
    frames, at = samples(codec)[0][1], place(codec, "room")
    for raw in (b"0", b"9223372036854775807"):
        sent = [*frames[:at], raw, *frames[at + 1 :]]
        read = codec.decode(sent)
        assert read.room == int(raw)
        assert codec.encode(read) == sent
    for raw in (b"9223372036854775808", b"18446744073709551615", b"-1"):
        fault = fault_of(codec, frames, at, raw)
        assert type(fault) is FrameValueError
        assert fault.field == "room"
        assert "0..9223372036854775807" in fault.expected


@pytest.mark.parametrize("room", [2**63, 2**64 - 1, -1, 7.0, "7", True, None])
def test_f6_rooms_in_bodies_have_the_same_bounds(room: object) -> None:
    from json import dumps

    register = layout("nixl", "REGISTER_DP_RANK")
    query = layout("nixl", "QUERY_DP_RANKS")
    good = {"bootstrap_room": 2**63 - 1, "dp_rank": 0}
    assert register.decode([dumps(good).encode()]).bootstrap_room == 2**63 - 1
    with pytest.raises(FrameValueError) as caught:
        register.decode([dumps(good | {"bootstrap_room": room}).encode()])
    assert caught.value.field == "bootstrap_room"
    with pytest.raises(FrameValueError) as caught:
        query.decode([dumps({"bootstrap_rooms": [0, room]}).encode()])
    assert caught.value.field == "bootstrap_rooms"


@every("TransferInfo")
def test_f13_an_auxiliary_index_spelled_none_is_refused_by_name(
    codec: Codec[Any], plain: Plain, place: Place, samples: Samples
) -> None:
    at = place(codec, "dst_aux_index")
    fault = fault_of(codec, codec.encode(plain(codec)), at, b"None")
    assert type(fault) is FrameValueError
    assert (fault.frame, fault.field) == (5, "dst_aux_index")
    assert fault.hint == "the peer spelled None as text"
    assert all(frames[at] != b"None" for _, frames in samples(codec))


def test_f13_no_auxiliary_index_is_never_written_as_text(plain: Plain) -> None:
    for codec in layouts(message="TransferInfo"):
        dummy = plain(codec, dst_kv_indices=(), dst_aux_index=None, is_dummy=True)
        if codec.backend in {"mooncake", "ascend"}:
            assert codec.encode(dummy)[5] == b""
            continue
        with pytest.raises(LossyEncodeError) as caught:
            codec.encode(dummy)
        assert caught.value.field == "dst_aux_index"
