"""Field reports E1 to E4: empty is not absent is not dummy.

What an empty frame, a missing one and a zero mean, per backend and layout, and that what came in
one spelling goes out in it where the spelling is part of the message.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import pack
from typing import Any

import pytest

from pdwire.codec import Codec, Message
from pdwire.errors import FrameCountError, LossyEncodeError
from pdwire.wire import layout, layouts

Place = Callable[[Codec[Any], str], int]
Plain = Callable[..., Message]

NIXL = [b"NixlMsgGuard", b"7", b"10.0.0.2", b"5000", b"agentA"]
MORI = [b"MoriMsgGuard", b"7", b"10.0.0.2", b"5000", b"engineA"]
MOONCAKE = [b"7", b"10.0.0.2", b"5000", b"10.0.0.2:17000"]
STATE = pack("<IIi", 1, 4, 5)  # one component: item 5


def every(message: str, *backends: str) -> pytest.MarkDecorator:
    """Every layout of a message that the backends have."""
    codecs = [codec for backend in backends for codec in layouts(backend, message)]
    names = [f"{codec.backend}-{codec.layout}" for codec in codecs]
    return pytest.mark.parametrize("codec", codecs, ids=names)


def test_e1_a_full_prefix_hit_is_no_dummy_in_nixl() -> None:
    codec = layout("nixl", "TransferInfo")
    frames = [*NIXL, b"", b"3", b"1", STATE, b"64", b"0"]
    info = codec.decode(frames)
    assert info.is_dummy is False
    assert (info.dst_aux_index, info.decode_prefix_len) == (3, 64)
    assert [part.tolist() for part in info.dst_state_indices] == [[5]]
    assert codec.encode(info) == frames


@pytest.mark.parametrize(
    ("pages", "prefix", "said", "dummy"),
    [
        (b"", b"64", b"", False),  # nothing said: the rule, a prefix needs its row
        (b"", b"0", b"", True),
        (b"", b"", b"", True),
        (b"\4\0\0\0", b"", b"", False),
        (b"", b"64", b"1", True),  # what is said decides
        (b"\4\0\0\0", b"0", b"1", True),
        (b"", b"0", b"0", False),
        (b"", b"", b"0", False),
    ],
)
def test_e1_the_dummy_frame_decides_and_an_empty_one_falls_back_to_the_rule(
    pages: bytes, prefix: bytes, said: bytes, dummy: bool
) -> None:
    codec = layout("nixl", "TransferInfo", revision="r5")
    info = codec.decode([*NIXL, pages, b"3", b"1", b"", prefix, said])
    assert info.is_dummy is dummy
    assert codec.encode(info)[-1] == (b"1" if dummy else b"0")


@pytest.mark.parametrize(
    ("revision", "tail", "dummy"),
    [
        ("r1", [b"1"], True),
        ("r2", [b"1", STATE[8:]], True),
        ("r3", [b"1", STATE[8:], b"64"], False),
        ("r3", [b"1", STATE[8:], b"0"], True),
        ("r3", [b"1", STATE[8:], b""], True),
        ("r4", [b"1", STATE, b"64"], False),
        ("r4", [b"1", STATE, b"0"], True),
        ("r4", [b"1", STATE, b""], True),
    ],
)
def test_e1_before_the_frame_each_release_has_its_own_rule(
    revision: str, tail: list[bytes], dummy: bool
) -> None:
    codec = layout("nixl", "TransferInfo", revision=revision)
    frames = [*NIXL, b"", b"3", *tail]
    assert codec.decode(frames).is_dummy is dummy
    assert codec.encode(codec.decode(frames)) == frames
    with_pages = [*NIXL, b"\4\0\0\0", b"3", *tail]
    assert codec.decode(with_pages).is_dummy is False


@pytest.mark.parametrize("revision", ["r2", "r3", "r4"])
def test_e2_mori_calls_a_rank_of_state_alone_a_dummy_and_the_state_is_kept(revision: str) -> None:
    codec = layout("mori", "TransferInfo", revision=revision)
    state = STATE[8:] if revision == "r2" else STATE
    frames = [*MORI, b"", b"", state, b"1", *([b""] if revision == "r4" else [])]
    info = codec.decode(frames)
    assert info.is_dummy is True
    assert info.dst_aux_index == -1
    assert info.decode_prefix_len is None
    assert [part.tolist() for part in info.dst_state_indices] == [[5]]
    assert codec.encode(info) == frames


@pytest.mark.parametrize(
    ("pages", "aux", "prefix", "dummy"),
    [
        (b"", b"", b"", True),
        (b"", b"", b"0", True),
        (b"", b"", b"64", False),
        (b"", b"0", b"", False),
        (b"\4\0\0\0", b"", b"", False),
    ],
)
def test_e2_moris_rule_looks_at_pages_row_and_prefix(
    pages: bytes, aux: bytes, prefix: bytes, dummy: bool
) -> None:
    codec = layout("mori", "TransferInfo", revision="r4")
    frames = [*MORI, pages, aux, b"", b"1", prefix]
    assert codec.decode(frames).is_dummy is dummy
    assert codec.encode(codec.decode(frames)) == frames
    if not prefix:
        older = layout("mori", "TransferInfo", revision="r3")
        assert older.decode(frames[:-1]).is_dummy is dummy


def test_e2_mooncakes_rule_looks_at_pages_and_row_alone() -> None:
    codec = layout("mooncake", "TransferInfo")
    for prefix in (b"", b"0", b"64"):
        frames = [*MOONCAKE, b"", b"", b"", b"1", prefix, b""]
        assert codec.decode(frames).is_dummy is True
        assert codec.encode(codec.decode(frames)) == frames
        hit = [*MOONCAKE, b"", b"3", STATE, b"1", prefix, b""]
        assert codec.decode(hit).is_dummy is False
        assert codec.encode(codec.decode(hit)) == hit


PREFIX = {
    "mooncake": {"r2", "r3"},
    "ascend": {"r2", "r3"},
    "nixl": {"r3", "r4", "r5"},
    "mori": {"r4"},
}
"""The layouts that have a frame for the prefix."""


@every("TransferInfo", "mooncake", "ascend", "nixl", "mori")
def test_e3_zero_empty_and_missing_prefixes_mean_what_the_layout_says(
    codec: Codec[Any], plain: Plain, place: Place
) -> None:
    frames = codec.encode(plain(codec))
    if codec.layout not in PREFIX[codec.backend]:  # there is no frame: unknown
        assert "decode_prefix_len" not in codec.fields
        assert codec.decode(frames).decode_prefix_len is None
        for told in (0, 64):
            with pytest.raises(LossyEncodeError) as caught:
                codec.encode(plain(codec, decode_prefix_len=told))
            assert caught.value.field == "decode_prefix_len"
        return
    at = place(codec, "decode_prefix_len")
    for raw, meaning in ((b"0", 0), (b"", None), (b"64", 64)):
        sent = [*frames[:at], raw, *frames[at + 1 :]]
        read = codec.decode(sent)
        assert read.decode_prefix_len == meaning
        assert type(read.decode_prefix_len) is type(meaning)
        assert codec.encode(read) == sent
    with pytest.raises(FrameCountError):  # no layout lets the frame go missing
        codec.decode(frames[:at] + frames[at + 1 :])


def test_e3_a_message_without_the_frame_is_another_releases() -> None:
    newer = layout("mooncake", "TransferInfo", revision="r2")
    frames = [*MOONCAKE, b"\4\0\0\0", b"3", b"", b"1", b"0"]
    assert newer.decode(frames).decode_prefix_len == 0
    with pytest.raises(FrameCountError, match=r"8 frames: a 0\.5\.6–0\.5\.11 peer\?"):
        newer.decode(frames[:-1])
    older = layout("mooncake", "TransferInfo", revision="r1")
    assert older.decode(frames[:-1]).decode_prefix_len is None


def staging_layouts() -> list[Codec[Any]]:
    found = layouts("mooncake", "KVArgsRegisterInfo") + layouts("nixl", "KVArgsRegisterInfo")
    return [codec for codec in found if "staging_base_ptr" in codec.fields]


@pytest.mark.parametrize(
    "codec", staging_layouts(), ids=[f"{c.backend}-{c.layout}" for c in staging_layouts()]
)
@pytest.mark.parametrize("base", [bytes(8), b""], ids=["zeros", "empty"])
@pytest.mark.parametrize("size", [b"0", b""], ids=["zero", "empty"])
def test_e4_staging_is_off_in_every_spelling(
    codec: Codec[Any], base: bytes, size: bytes, plain: Plain, place: Place
) -> None:
    tail = {"dst_dcp_size": 4, "dst_dcp_rank": 2} if "dst_dcp_size" in codec.fields else {}
    frames = codec.encode(plain(codec, **tail))
    at = place(codec, "staging_base_ptr")
    assert place(codec, "staging_total_size") == at + 1
    read = codec.decode([*frames[:at], base, size, *frames[at + 2 :]])
    assert (read.staging_base_ptr, read.staging_total_size) == (0, 0)
    assert (read.dst_dcp_size, read.dst_dcp_rank) == ((4, 2) if tail else (1, 0))
    assert read == codec.decode(frames)
    assert codec.encode(read) == frames
    assert frames[at : at + 2] == [b"", b""]


@pytest.mark.parametrize("revision", ["r6", "r7", "r8"])
def test_e4_dcp_sits_in_frames_16_and_17_of_mooncake(revision: str, plain: Plain) -> None:
    codec = layout("mooncake", "KVArgsRegisterInfo", revision=revision)
    info = plain(codec, staging_base_ptr=1 << 63, staging_total_size=1 << 30, dst_dcp_size=4)
    frames = codec.encode(info)
    assert frames[14:18] == [pack("<Q", 1 << 63), b"1073741824", b"4", b"0"]
    read = codec.decode(frames)
    assert (read.staging_base_ptr, read.staging_total_size) == (1 << 63, 1 << 30)
    for size, rank in ((b"", b""), (b"1", b"0"), (b"1", b""), (b"", b"0")):
        read = codec.decode([*frames[:16], size, rank, *frames[18:]])
        assert (read.dst_dcp_size, read.dst_dcp_rank) == (1, 0)
