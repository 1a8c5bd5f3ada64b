"""Field reports V1 and V2: frames of another release.

Never a silent misread: refused, proved to be another release's, or said to be ambiguous.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import pack
from typing import Any

import numpy as np
import pytest

from pdwire.codec import Codec, Message
from pdwire.errors import (
    AmbiguousMessageError,
    FrameCountError,
    FrameValueError,
    WireError,
)
from pdwire.wire import layout, layouts, recognise, releases

Json = dict[str, Any]
Facts = Callable[[Codec[Any]], tuple[Json, Json]]
Place = Callable[[Codec[Any], str], int]
Plain = Callable[..., Message]
Samples = Callable[[Codec[Any]], list[tuple[Message, list[bytes]]]]


def every(codecs: list[Codec[Any]]) -> pytest.MarkDecorator:
    names = [f"{codec.backend}-{codec.message}-{codec.layout}" for codec in codecs]
    return pytest.mark.parametrize("codec", codecs, ids=names)


def accepting(frames: list[bytes], found: list[Codec[Any]]) -> list[str]:
    """Revisions among some codecs that read the frames."""
    read = []
    for codec in found:
        try:
            codec.decode(frames)
        except WireError:
            continue
        read.append(codec.layout)
    return read


@pytest.mark.parametrize(
    ("backend", "revision", "spoken"),
    [
        ("mooncake", "r5", ("0.5.13", "0.5.16")),
        ("ascend", "r5", ("0.5.13", "0.5.16")),
        ("nixl", "r6", ("0.5.15", "0.5.16")),
    ],
)
def test_v1_a_registration_with_staging_of_0_5_16_is_never_read_as_a_later_one(
    backend: str, revision: str, spoken: tuple[str, str], plain: Plain
) -> None:
    codec = layout(backend, "KVArgsRegisterInfo", revision=revision)
    frames = codec.encode(plain(codec, staging_base_ptr=1 << 40, staging_total_size=1 << 30))
    for later in layouts(backend, "KVArgsRegisterInfo"):
        if later.layout > revision:
            with pytest.raises(FrameCountError) as caught:
                later.decode(frames)
            count = len(frames) - (codec.guard is not None)
            assert caught.value.hint == f"{count} frames: a {spoken[0]}–{spoken[1]} peer?"
    found = recognise(frames, backend=backend)
    assert not found.ambiguous
    assert found.codec is codec
    assert (found.releases[0], found.releases[-1]) == spoken


@every([codec for codec in layouts() if codec.message == "KVArgsRegisterInfo"])
def test_v1_a_registration_is_read_by_no_layout_of_another_count(
    codec: Codec[Any], samples: Samples
) -> None:
    others = layouts(codec.backend, codec.message)
    same = {other.layout for other in others if other.counts == codec.counts}
    for _, frames in samples(codec):
        assert set(accepting(frames, others)) <= same
        found = recognise(frames, backend=codec.backend)
        assert {one.layout for one in found.candidates} <= same
        assert codec in found.candidates


I32 = "<i4"
V2_INPUTS = [[0], [1, 4, 9], [1, 0, 9]]


@pytest.mark.parametrize(
    ("backend", "flat", "nested", "position"),
    [("nixl", "r3", "r4", 8), ("mori", "r2", "r3", 7)],
)
@pytest.mark.parametrize("state", V2_INPUTS, ids=str)
def test_v2_flat_state_is_refused_as_nested_or_said_to_be_ambiguous(
    backend: str, flat: str, nested: str, position: int, state: list[int], plain: Plain
) -> None:
    old = layout(backend, "TransferInfo", revision=flat)
    new = layout(backend, "TransferInfo", revision=nested)
    frames = old.encode(plain(old, dst_state_indices=(np.array(state, I32),)))
    assert frames[position] == np.array(state, I32).tobytes()
    assert old.decode(frames).dst_state_indices[0].tolist() == state
    found = recognise(frames, backend=backend)
    if state == [1, 4, 9]:  # one component of four bytes: both read it, and differently
        assert [part.tolist() for part in new.decode(frames).dst_state_indices] == [[9]]
        assert found.ambiguous
        assert {old, new} <= set(found.candidates)
        assert set(old.releases) | set(new.releases) <= set(found.releases)
        with pytest.raises(AmbiguousMessageError, match="name the peer's release"):
            _ = found.codec
        return
    with pytest.raises(FrameValueError) as caught:
        new.decode(frames)
    assert caught.value.field == "dst_state_indices"
    assert not found.ambiguous
    assert new not in found.candidates
    assert found.codec is old


@pytest.mark.parametrize(
    ("backend", "flat", "nested"), [("mooncake", "r3", "r4"), ("mori", "r2", "r3")]
)
@pytest.mark.parametrize("lens", V2_INPUTS, ids=str)
def test_v2_flat_state_lengths_of_a_registration_are_refused_or_ambiguous_too(
    backend: str, flat: str, nested: str, lens: list[int], plain: Plain
) -> None:
    old = layout(backend, "KVArgsRegisterInfo", revision=flat)
    new = layout(backend, "KVArgsRegisterInfo", revision=nested)
    frames = old.encode(plain(old, dst_state_item_lens=(lens,)))
    assert old.decode(frames).dst_state_item_lens[0].tolist() == lens
    found = recognise(frames, backend=backend)
    if lens == [1, 4, 9]:
        assert new.decode(frames).dst_state_item_lens[0].tolist() == [9]
        assert found.ambiguous
    else:
        with pytest.raises(FrameValueError) as caught:
            new.decode(frames)
        assert caught.value.field == "dst_state_item_lens"
        assert found.codec is old


@pytest.mark.parametrize(
    ("backend", "message", "one", "other"),
    [
        ("nixl", "TransferInfo", "r3", "r4"),
        ("mori", "TransferInfo", "r2", "r3"),
        ("mooncake", "KVArgsRegisterInfo", "r3", "r4"),
        ("mori", "KVArgsRegisterInfo", "r2", "r3"),
    ],
)
def test_v2_without_state_both_releases_read_the_same_and_nothing_is_ambiguous(
    backend: str, message: str, one: str, other: str, plain: Plain
) -> None:
    codec = layout(backend, message, revision=one)
    found = recognise(codec.encode(plain(codec)), backend=backend)
    assert {one, other} <= {fit.layout for fit in found.candidates}
    assert not found.ambiguous
    assert found.message == message


BACKENDS = ("mooncake", "nixl", "mori")


def test_v1_every_release_is_told_from_the_frames_of_a_full_registration(
    plain: Plain, facts: Facts
) -> None:
    """What V1 asks of one release, for all: staging, ranks and two state components."""
    full: Json = {"dst_dcp_size": 4, "dst_dcp_rank": 2, "staging_base_ptr": 1 << 40}
    full |= {"staging_total_size": 1 << 20, "dst_state_item_lens": [[128], [64]]}
    full |= {"dst_state_data_ptrs": [[1], [2]], "dst_state_mem_descs": [[b"1"], [b"2"]]}
    for backend in BACKENDS:
        for release in releases(backend):
            codec = layout(backend, "KVArgsRegisterInfo", release=release)
            values = {name: value for name, value in full.items() if name in codec.fields}
            for slot in facts(codec)[1]["frames"]:
                name = slot["field"]
                if name in values and name.startswith("dst_state") and "[][]" not in slot["type"]:
                    values[name] = [[item for part in values[name] for item in part]]
            frames = codec.encode(plain(codec, **values))
            found = recognise(frames, backend=backend)
            assert found.codec is codec
            assert release in found.releases


def test_pack_is_the_peers_byte_order() -> None:
    codec = layout("mooncake", "KVArgsRegisterInfo")
    assert codec.decode(_registration(pack("<Q", 1))).staging_base_ptr == 1
    assert codec.decode(_registration(pack(">Q", 1))).staging_base_ptr == 1 << 56


def _registration(base: bytes) -> list[bytes]:
    head = [b"None", b"h", b"1", b"h:1", b"", b"", b"", b"0", b"1", b"0", b"", b"", b"", b""]
    return [*head, base, b"", b"", b"", b"", b""]
