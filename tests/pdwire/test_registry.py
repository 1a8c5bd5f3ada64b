"""Which codec: by release, revision or name, or proved by the bytes that came."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import pytest

from pdwire.codec import Codec, Message
from pdwire.errors import (
    AmbiguousMessageError,
    FrameCountError,
    FrameValueError,
    UnknownLayoutError,
    UnknownMessageError,
    WireError,
)
from pdwire.frames import no_i32
from pdwire.registry import Recognition, Registry
from pdwire.wire import layout, layouts, mooncake, recognise, releases
from pdwire.wire.table import ALIASES, CODECS, ORDER
from pdwire_conformance.proof.spec import load_spec

Json = dict[str, Any]
Samples = Callable[[Codec[Any]], list[tuple[Message, list[bytes]]]]

SPEC = load_spec()
ZMQ = [codec for codec in layouts() if codec.transport == "zmq"]
BACKENDS = ["mooncake", "ascend", "nixl", "mori"]


def test_every_message_of_every_release_in_the_spec_has_its_codec() -> None:
    found = 0
    for message in SPEC["messages"]:
        for revision in message["layouts"]:
            for backend, spoken in revision["speakers"].items():
                for release in spoken:
                    codec = layout(backend, message["name"], release=release)
                    assert codec.layout == revision["id"]
                    assert release in codec.releases
                    assert codec.fingerprint == revision["fingerprint"]
                    assert codec.counts == tuple(revision["counts"])
                    assert list(codec.directions) == message["directions"]
                    assert codec.transport == message["transport"]
                    assert codec is layout(backend, message["name"], revision=codec.layout)
                    found += 1
    assert found == sum(len(codec.releases) for codec in layouts())


def test_no_codec_is_for_a_release_that_the_spec_calls_absent() -> None:
    for message in SPEC["messages"]:
        for backend, gone in message["absent"].items():
            for release in gone["releases"]:
                with pytest.raises(UnknownLayoutError, match=f"{backend} has no .* in "):
                    layout(backend, message["name"], release=release)


def test_each_release_of_a_backend_is_in_one_layout_of_a_message() -> None:
    for (backend, message), found in itertools.groupby(
        sorted(layouts(), key=_named), key=lambda codec: (codec.backend, codec.message)
    ):
        spoken = [release for codec in found for release in codec.releases]
        assert len(spoken) == len(set(spoken))
        assert set(spoken) <= set(releases(backend)), message


def _named(codec: Codec[Any]) -> tuple[str, str]:
    return codec.backend, codec.message


def test_without_release_or_revision_it_is_the_newest() -> None:
    for codec in layouts():
        newest = layout(codec.backend, codec.message)
        ages = [releases(codec.backend).index(r) for r in codec.releases]
        assert releases(codec.backend).index(newest.releases[-1]) >= max(ages)
    assert layout("mooncake", "KVArgsRegisterInfo").layout == "r8"


def test_a_message_goes_by_its_class_name_and_its_aliases_too() -> None:
    for codec in layouts():
        for spelling in (codec.cls.__name__, codec.message):
            assert layout(codec.backend, spelling, revision=codec.layout) is codec
    for alias, name in ALIASES.items():
        assert layouts(message=alias) == layouts(message=name) != []


def test_ascend_speaks_mooncake() -> None:
    pairs = list(zip(layouts("ascend"), layouts("mooncake"), strict=True))
    assert len(pairs) == 49
    for ours, theirs in pairs:
        assert (ours.message, ours.layout, ours.releases) == (
            theirs.message,
            theirs.layout,
            theirs.releases,
        )
        assert ours.decode is theirs.decode
        assert ours.encode is theirs.encode
        assert ours.cls is theirs.cls
        assert (ours.backend, theirs.backend) == ("ascend", "mooncake")


def test_releases_are_those_of_the_backend_oldest_first() -> None:
    assert releases("mooncake") == releases("ascend") == releases("nixl") == list(ORDER)
    assert len(ORDER) == 25
    assert (ORDER[0], ORDER[-1]) == ("0.5.6", "0.5.23")
    assert releases("mori") == list(ORDER[ORDER.index("0.5.9") :])
    assert [b["name"] for b in SPEC["backends"]] == ["mooncake", "ascend", "nixl", "mori"]
    for backend in SPEC["backends"]:
        assert releases(backend["name"]) == backend["releases"]


def test_layouts_are_filtered_by_backend_and_message() -> None:
    assert layouts() == list(CODECS)
    assert [codec for backend in BACKENDS for codec in layouts(backend)] == sorted(
        layouts(), key=lambda codec: BACKENDS.index(codec.backend)
    )
    for backend in BACKENDS:
        assert {codec.backend for codec in layouts(backend)} == {backend}
    assert [c.layout for c in layouts("nixl", "TransferInfo")] == ["r1", "r2", "r3", "r4", "r5"]
    assert {c.backend for c in layouts(message="ABORT")} == set(BACKENDS)
    assert layouts("mori", "STAGING_REQ") == []
    assert layouts("nobody") == layouts(message="NOTHING") == []


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("moncake", "TransferInfo", {}), "unknown backend 'moncake'; did you mean 'mooncake'?"),
        (
            ("zmq", "TransferInfo", {}),
            "unknown backend 'zmq' (known: mooncake, ascend, nixl, mori)",
        ),
        (
            ("nixl", "TransferInf", {}),
            "unknown nixl message 'TransferInf'; did you mean 'TransferInfo'?",
        ),
        (
            ("nixl", "StagingRequest", {}),
            "unknown nixl message 'StagingRequest'; did you mean 'StagingReq'?",
        ),
        (("nixl", "staging_req", {}), "did you mean 'STAGING_REQ'?"),
        (("nixl", "kvstatus", {}), "did you mean 'KVStatus'?"),
        (("mori", "STAGING_REQ", {}), "unknown mori message 'STAGING_REQ'"),
        (
            ("nixl", "TransferInfo", {"release": "0.5.91"}),
            "unknown release '0.5.91'; did you mean '0.5.9",
        ),
        (
            ("mori", "TransferInfo", {"release": "0.5.8"}),
            "mori has no TransferInfo in 0.5.8; it has",
        ),
        (("mooncake", "BOOTSTRAP", {"release": "0.5.21"}), "it has one in 0.5.22, 0.5.23"),
        (
            ("mooncake", "KVArgsRegisterInfo", {"revision": "r9"}),
            "unknown mooncake KVArgsRegisterInfo revision 'r9'",
        ),
        (
            ("mooncake", "TransferInfo", {"release": "0.5.19", "revision": "r3"}),
            "choose by release or by revision, not by both",
        ),
    ],
)
def test_what_is_not_there_is_told_with_what_is(asked: tuple[str, str, Json], told: str) -> None:
    backend, message, choice = asked
    with pytest.raises(UnknownLayoutError, match=re.escape(told)):
        layout(backend, message, **choice)
    with pytest.raises(LookupError):  # and never a WireError: no peer can provoke it
        layout(backend, message, **choice)
    assert not issubclass(UnknownLayoutError, WireError)


def test_an_unknown_backend_or_direction_is_the_callers_mistake_wherever_it_is_named() -> None:
    with pytest.raises(UnknownLayoutError, match="did you mean 'mori'"):
        releases("morri")
    with pytest.raises(UnknownLayoutError, match="did you mean 'mooncake'"):
        recognise([b"7"], backend="moon-cake")
    with pytest.raises(UnknownLayoutError, match="did you mean 'decode -> prefill'"):
        recognise([b"7"], direction="decode->prefill")


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


def test_a_registry_of_nothing_knows_nothing() -> None:
    empty = Registry((), (), {})
    assert empty.layouts() == []
    with pytest.raises(UnknownLayoutError):
        empty.layout("mooncake", "TransferInfo")
    with pytest.raises(UnknownLayoutError):
        empty.releases("mooncake")
    with pytest.raises(UnknownMessageError):
        empty.recognise([b"7"])
