"""Field reports F9 to F12 and F14: lists that belong together, descriptors, opaque bytes.

Each test has the id of its report in its name and runs against every layout that has the thing.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from struct import pack
from typing import Any

import numpy as np
import pytest

from pdwire.codec import Codec, Message
from pdwire.errors import FrameValueError, InvariantError, LossyEncodeError, WireError
from pdwire.wire import layout, layouts

Json = dict[str, Any]
Allocated = Callable[[Codec[Any], list[bytes]], int]
Facts = Callable[[Codec[Any]], tuple[Json, Json]]
Place = Callable[[Codec[Any], str], int]
Plain = Callable[..., Message]
Samples = Callable[[Codec[Any]], list[tuple[Message, list[bytes]]]]

CODECS = list({codec.decode: codec for codec in layouts()}.values())


def every(*messages: str, backend: str | None = None) -> pytest.MarkDecorator:
    """Every layout of these messages, of every backend or one; without any, each layout once."""
    codecs = [c for c in layouts(backend) if c.message in messages] if messages else CODECS
    names = [f"{codec.backend}-{codec.message}-{codec.layout}" for codec in codecs]
    return pytest.mark.parametrize("codec", codecs, ids=names)


def fault_of(codec: Codec[Any], frames: list[bytes], at: int, raw: bytes) -> WireError:
    """The error of a message with one frame replaced."""
    with pytest.raises(WireError) as caught:
        codec.decode([*frames[:at], raw, *frames[at + 1 :]])
    return caught.value


def test_f9_one_item_length_for_two_kv_pointers_contradicts_in_mooncake(plain: Plain) -> None:
    codec = layout("mooncake", "KVArgsRegisterInfo", revision="r8")
    frames = codec.encode(plain(codec, dst_kv_item_lens=[512, 512]))
    fault = fault_of(codec, frames, 19, pack("<Q", 512))
    assert type(fault) is InvariantError
    assert fault.field == "dst_kv_item_lens"
    assert fault.came == "2 dst_kv_ptrs, 1 dst_kv_item_lens"
    assert not len(codec.decode([*frames[:19], b""]).dst_kv_item_lens)
    with pytest.raises(InvariantError):
        codec.encode(plain(codec, dst_kv_item_lens=[512]))


@pytest.mark.parametrize("revision", ["r6", "r7", "r8"])
def test_f9_memory_kinds_and_item_lengths_go_with_the_pointers_in_nixl(
    revision: str, plain: Plain
) -> None:
    codec = layout("nixl", "KVArgsRegisterInfo", revision=revision)
    frames = codec.encode(plain(codec))
    assert frames[18:20] == [b"VRAM,VRAM", pack("<QQ", 512, 512)]
    for words in (
        b"VRAM,FOO",
        b"VRAM,",
        b",VRAM",
        b"vram,VRAM",
        b"VRAM;DRAM",
        b"VRAM, DRAM",
        b"\0",
    ):
        fault = fault_of(codec, frames, 18, words)
        assert type(fault) is FrameValueError
        assert (fault.frame, fault.field) == (17, "dst_kv_mem_kinds")
    for words in (b"VRAM", b"DRAM,DRAM,DRAM"):
        fault = fault_of(codec, frames, 18, words)
        assert type(fault) is InvariantError
        assert fault.field == "dst_kv_mem_kinds"
    fault = fault_of(codec, frames, 19, pack("<Q", 512))
    assert type(fault) is InvariantError
    assert fault.field == "dst_kv_item_lens"
    mixed = [*frames[:18], b"VRAM,DRAM", *frames[19:]]
    assert codec.decode(mixed).dst_kv_mem_kinds == ("VRAM", "DRAM")
    assert codec.encode(codec.decode(mixed)) == mixed


LITTLE = 32 << 10  # an error and its text, whatever came
DESCRIPTORS = [
    b"\xdd\xff\xff\xff\xff",
    b"\xdd\xff\xff\xff\xff" + b"\xc4\x00" * 5_000,
    b"\xdd\x7f\xff\xff\xff",
    b"\xdc\xff\xff",
    b"\x9f",
    b"\x91\xdd\xff\xff\xff\xff",
    b"\x91\xdd\xff\xff\xff\xff" + b"\xc4\x00" * 5_000,
    b"\x91\xc6\xff\xff\xff\xff",
    b"\x91\x91\xc6\xff\xff\xff\xff",
    b"\x91" * 10_000,
    b"\xdd",
    b"\xc1",
]


@every("KVArgsRegisterInfo", backend="mori")
def test_f10_descriptors_that_announce_more_than_came_are_refused_and_bounded(
    codec: Codec[Any], plain: Plain, place: Place, allocated: Allocated
) -> None:
    frames = codec.encode(plain(codec))
    for field in ("dst_kv_mem_descs", "dst_aux_mem_descs", "dst_state_mem_descs"):
        at = place(codec, field)
        for raw in DESCRIPTORS:
            fault = fault_of(codec, frames, at, raw)
            assert type(fault) is FrameValueError, raw
            assert (fault.frame, fault.field) == (at - 1, field)
            assert allocated(codec, [*frames[:at], raw, *frames[at + 1 :]]) < LITTLE + 8 * len(raw)


@every("KVArgsRegisterInfo", backend="mori")
def test_f10_descriptors_have_one_spelling(codec: Codec[Any], plain: Plain, place: Place) -> None:
    frames = codec.encode(plain(codec))
    at = place(codec, "dst_kv_mem_descs")
    assert frames[at] == b"\x92\xc4\x02k0\xc4\x02k1"
    long_headers = [b"\xdc\x00\x02" + frames[at][1:], b"\xdd\x00\x00\x00\x02" + frames[at][1:]]
    other_types = [b"\x92\xa2k0\xa2k1", b"\x92\x01\x02", b"\xc4\x02k0", b"\x81\x01\x02", b"\x90"]
    for raw in [*long_headers, *other_types, frames[at] + b"\x00", frames[at] * 2, frames[at][:-1]]:
        assert fault_of(codec, frames, at, raw).field == "dst_kv_mem_descs"
    state = place(codec, "dst_state_mem_descs")
    nil = [*frames[:state], b"\x91\x92\xc4\x02s0\xc0", *frames[state + 1 :]]
    if codec.layout == "r4":
        assert codec.decode(nil).dst_state_mem_descs == ((b"s0", None),)
        assert codec.encode(codec.decode(nil)) == nil
    else:
        assert fault_of(codec, nil, state, nil[state]).field == "dst_state_mem_descs"


@every("KVArgsRegisterInfo")
def test_f11_state_item_lengths_have_one_shape_at_both_ends(
    codec: Codec[Any], plain: Plain, place: Place, facts: Facts
) -> None:
    if "dst_state_item_lens" not in codec.fields:
        with pytest.raises(LossyEncodeError) as caught:
            codec.encode(plain(codec, dst_state_item_lens=[[128], [64]]))
        assert caught.value.field == "dst_state_item_lens"
        return
    at = place(codec, "dst_state_item_lens")
    slots = {slot["field"]: slot["type"] for slot in facts(codec)[1]["frames"]}
    if slots["dst_state_item_lens"] == "u32[][]":
        frames = codec.encode(plain(codec, dst_state_item_lens=[[128], [64]]))
        assert frames[at] == pack("<5I", 2, 4, 4, 128, 64)
        read = [part.tolist() for part in codec.decode(frames).dst_state_item_lens]
        assert read == [[128], [64]]
    else:
        with pytest.raises(LossyEncodeError, match="one component that is not empty"):
            codec.encode(plain(codec, dst_state_item_lens=[[128], [64]]))
        frames = codec.encode(plain(codec, dst_state_item_lens=[[128, 64]]))
        assert frames[at] == pack("<II", 128, 64)
        read = [part.tolist() for part in codec.decode(frames).dst_state_item_lens]
        assert read == [[128, 64]]


@every("KVArgsRegisterInfo")
def test_f12_a_region_without_bytes_and_no_regions_at_all_are_allowed(
    codec: Codec[Any], plain: Plain
) -> None:
    lens = {"dst_kv_item_lens": [0]} if "dst_kv_item_lens" in codec.fields else {}
    nowhere = {"dst_kv_item_len": 0, **lens}
    if codec.backend == "mori":
        empty = plain(codec, dst_kv_mem_descs=(b"",), dst_aux_mem_descs=(b"",), dst_kv_item_len=0)
        none = plain(codec, dst_kv_mem_descs=(), dst_aux_mem_descs=(), dst_kv_item_len=0)
    else:
        empty = plain(codec, dst_kv_ptrs=np.array([0], "<u8"), dst_aux_ptrs=[0], **nowhere)
        none = plain(codec, dst_kv_ptrs=(), dst_aux_ptrs=(), dst_kv_item_len=0)
    for message in (empty, none):
        frames = codec.encode(message)
        read = codec.decode(frames)
        assert read == codec.decode(codec.encode(read))
        assert codec.encode(read) == frames
        assert read.dst_kv_item_len == 0
    if codec.backend != "mori":
        assert codec.decode(codec.encode(empty)).dst_kv_ptrs.tolist() == [0]
        assert not len(codec.decode(codec.encode(none)).dst_kv_ptrs)


class Bomb:
    """What a pickle of it does when it is loaded: fail the test."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return pytest.fail, ("a frame was unpickled",)


PICKLES = [
    pickle.dumps(Bomb()),
    pickle.dumps(Bomb(), 5),
    b"\x80\x05",
    b"\x80\x05K\x07.",
    b"\x80\x05N.",
]


@every()
def test_f14_a_frame_that_begins_like_a_pickle_is_bytes_like_any_other(
    codec: Codec[Any], samples: Samples, facts: Facts, place: Place
) -> None:
    frames = samples(codec)[0][1]
    opaque = {
        place(codec, slot["field"]): slot["field"]
        for slot in facts(codec)[1]["frames"]
        if slot["type"] == "bytes" and codec.message != "AUX_DATA"
    }
    for raw in PICKLES:
        assert raw[:1] == b"\x80"
        for at in range(len(frames)):
            sent = [*frames[:at], raw, *frames[at + 1 :]]
            if at in opaque:
                read = codec.decode(sent)
                assert getattr(read, opaque[at]) == raw
                assert codec.encode(read) == sent
                continue
            try:
                read = codec.decode(sent)
            except WireError:
                continue
            assert codec.decode(codec.encode(read)) == read  # items whose bytes happen to be these


def test_f14_auxiliary_data_may_be_a_pickle_and_stays_bytes() -> None:
    for codec in layouts(message="AUX_DATA"):
        for raw in PICKLES:
            frames = [b"AUX_DATA", b"7", b"0", b"3", pack(">I", len(raw)), raw]
            assert codec.decode(frames).data == raw
            assert codec.encode(codec.decode(frames)) == frames
