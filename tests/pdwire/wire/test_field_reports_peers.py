"""Field reports V3 to V6: another backend, a newer body, an older acknowledgement, a restart."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pdwire.codec import Codec, Message, field_names
from pdwire.errors import (
    FrameCountError,
    FrameValueError,
    LossyEncodeError,
    UnknownMessageError,
)
from pdwire.wire import layout, layouts, recognise

Json = dict[str, Any]
Facts = Callable[[Codec[Any]], tuple[Json, Json]]
Place = Callable[[Codec[Any], str], int]
Plain = Callable[..., Message]
Samples = Callable[[Codec[Any]], list[tuple[Message, list[bytes]]]]


def every(codecs: list[Codec[Any]]) -> pytest.MarkDecorator:
    names = [f"{codec.backend}-{codec.message}-{codec.layout}" for codec in codecs]
    return pytest.mark.parametrize("codec", codecs, ids=names)


BACKENDS = ("mooncake", "nixl", "mori")
OWN = ("TransferInfo", "KVArgsRegisterInfo", "KV_STATUS")


@every([codec for codec in layouts() if codec.message in OWN and codec.backend in BACKENDS])
def test_v3_another_backends_message_is_refused_as_such(
    codec: Codec[Any], samples: Samples
) -> None:
    strangers = [
        other
        for other in layouts()
        if other.backend in BACKENDS and other.backend != codec.backend and other.message in OWN
    ]
    for stranger in strangers:
        for _, frames in samples(stranger)[:4]:
            with pytest.raises(UnknownMessageError) as caught:
                codec.decode(frames)
            assert caught.value.hint.startswith("another"), frames


def test_v3_the_base_messages_through_the_other_backends_decoder(plain: Plain) -> None:
    mooncake, nixl = layout("mooncake", "TransferInfo"), layout("nixl", "TransferInfo")
    m, n = mooncake.encode(plain(mooncake)), nixl.encode(plain(nixl))
    with pytest.raises(UnknownMessageError, match=r"the guard b'NixlMsgGuard' first, got b'7'"):
        nixl.decode(m)
    with pytest.raises(UnknownMessageError, match=r"another message: nixl, by its guard"):
        mooncake.decode(n)
    for frames, wrong in ((m, "nixl"), (m, "mori"), (n, "mooncake"), (n, "ascend"), (n, "mori")):
        with pytest.raises(UnknownMessageError):
            recognise(frames, backend=wrong)
    assert recognise(m).backends == ("mooncake", "ascend")
    assert recognise(n).backends == ("nixl",)


def test_v3_a_registration_where_metadata_is_expected_is_named(plain: Plain) -> None:
    for backend in (*BACKENDS, "ascend"):
        registration = layout(backend, "KVArgsRegisterInfo")
        frames = registration.encode(plain(registration))
        for codec in layouts(backend, "TransferInfo"):
            count = codec.counts[0] + (codec.guard is not None)
            for sent in (frames, [*frames, *[b""] * count][:count]):
                with pytest.raises(
                    UnknownMessageError, match="another message: KVArgsRegisterInfo"
                ):
                    codec.decode(sent)


HTTP = [codec for codec in layouts("nixl") if codec.transport == "http"]
JSON_BODIES = [codec for codec in HTTP if codec.message not in {"ROUTE_GET", "QUERY_DP_RANKS_RSP"}]


@every(JSON_BODIES)
def test_v4_an_unknown_key_is_ignored(codec: Codec[Any], samples: Samples) -> None:
    for message, (body,) in samples(codec):
        newer = json.loads(body) | {"a_key_of_tomorrow": {"deep": [1, None]}, "": 0}
        read = codec.decode([json.dumps(newer).encode()])
        assert read == message
        assert codec.encode(read) == [body]


@every(JSON_BODIES)
def test_v4_a_missing_required_key_is_named(
    codec: Codec[Any], samples: Samples, facts: Facts
) -> None:
    body = json.loads(samples(codec)[0][1][0])
    for key in facts(codec)[1]["keys"]:
        without = {name: value for name, value in body.items() if name != key["key"]}
        sent = [json.dumps(without).encode()]
        if key["optional"]:
            assert getattr(codec.decode(sent), key["field"]) == key["absent"]["value"]
            continue
        with pytest.raises(FrameValueError) as caught:
            codec.decode(sent)
        assert caught.value.field == key["key"]
        assert caught.value.expected.startswith(f"the key {key['key']!r}")
        assert caught.value.hint == "required in this release"


@every(JSON_BODIES)
def test_v4_a_key_of_another_type_is_named(
    codec: Codec[Any], samples: Samples, facts: Facts
) -> None:
    body = json.loads(samples(codec)[0][1][0])
    for key in facts(codec)[1]["keys"]:
        for wrong in ({"a": 1}, [None], 1.5, -1, 2**63):
            if wrong == {"a": 1} and "object" in key["type"]:
                continue
            with pytest.raises(FrameValueError) as caught:
                codec.decode([json.dumps(body | {key["key"]: wrong}).encode()])
            assert caught.value.field == key["key"]


@pytest.mark.parametrize("revision", ["r1", "r2"])
def test_v4_a_query_ignores_unknown_keys_and_names_missing_ones(
    revision: str, samples: Samples
) -> None:
    codec = layout("mooncake", "ROUTE_GET", revision=revision)
    message, (query,) = samples(codec)[0]
    assert codec.decode([query + b"&tomorrow=a%20b&="]) == message
    pairs = query.split(b"&")
    assert len(pairs) == {"r1": 3, "r2": 4}[revision]
    for pair in pairs:
        rest = b"&".join(other for other in pairs if other != pair)
        with pytest.raises(FrameValueError) as caught:
            codec.decode([rest])
        assert caught.value.field == pair.partition(b"=")[0].decode()


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"null", b"[]", b"7", b'"x"', b"{", b"{}x", b'{"a":NaN}', b"\xff", b"[" * 5000),
        *(b'{"a":' * 5000, b'{"rank_ip":"h","rank_port":1', b'{"rank_ip":"\\ud800","rank_port":1}'),
    ],
    ids=lambda body: repr(body[:24]),
)
def test_v4_what_is_no_json_object_is_refused(body: bytes) -> None:
    for codec in JSON_BODIES:
        with pytest.raises(FrameValueError) as caught:
            codec.decode([body])
        assert caught.value.frame == 0


ACK = [b"ABORT_ACK", b"7", b"2", b"1"]
ACK_COUNTS = {"r1": {2}, "r2": {2, 3}, "r3": {3}, "r4": {2, 3, 4}}


@every(layouts(message="ABORT_ACK"))
def test_v5_an_acknowledgement_has_the_counts_of_its_release(codec: Codec[Any]) -> None:
    for count in (1, 2, 3, 4, 5):
        frames = [*ACK, b"0"][:count]
        if count not in ACK_COUNTS[codec.layout]:
            with pytest.raises(FrameCountError) as caught:
                codec.decode(frames)
            assert caught.value.came == ("1 frame" if count == 1 else f"{count} frames")
            continue
        read = codec.decode(frames)
        assert read.room == 7
        assert read.prefill_rank == (2 if count > 2 else None)
        assert read.generation == (1 if count > 3 else None)
        assert codec.encode(read) == frames


@pytest.mark.parametrize(("count", "generation"), [(2, None), (3, None), (4, 1)])
def test_v5_all_three_counts_are_known_and_only_one_names_a_generation(
    count: int, generation: int | None
) -> None:
    found = recognise(ACK[:count])
    assert found.message == "ABORT_ACK"
    assert not found.ambiguous
    assert found.codec.decode(ACK[:count]).generation == generation
    for backend in ("mooncake", "ascend", "nixl", "mori"):
        codec = layout(backend, "ABORT_ACK", release="0.5.23")
        assert codec.decode(ACK[:count]).generation == generation


def test_v5_a_generation_without_a_rank_cannot_be_sent() -> None:
    codec = layout("nixl", "ABORT_ACK")
    with pytest.raises(LossyEncodeError) as caught:
        codec.encode(codec.cls(room=7, generation=1))
    assert (caught.value.frame, caught.value.field) == (2, "prefill_rank")


RESTARTED: dict[str, Json] = {
    "mooncake": {"mooncake_session_id": "10.0.0.2:17001"},
    "nixl": {"agent_name": "agentB"},
    "mori": {"engine_desc": b"\0another"},
}


@every([c for c in layouts(message="KVArgsRegisterInfo") if c.backend in RESTARTED])
def test_v6_a_restart_differs_in_its_session_alone(codec: Codec[Any], plain: Plain) -> None:
    ((name, value),) = RESTARTED[codec.backend].items()
    before, after = codec.encode(plain(codec)), codec.encode(plain(codec, **{name: value}))
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 1
    first, second = codec.decode(before), codec.decode(after)
    differing = [n for n in field_names(codec.cls) if _text(first, n) != _text(second, n)]
    assert differing == [name]
    assert getattr(second, name) == value
    assert (first.endpoint, first.dst_port) == (second.endpoint, second.dst_port)
    assert first != second


def _text(message: Message, name: str) -> str:
    return repr(getattr(message, name))
