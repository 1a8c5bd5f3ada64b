"""What is written is read, byte for byte and value for value; and what kind of object it is."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import zmq
from hypothesis import given, settings
from hypothesis import strategies as st

from pdwire.codec import Codec, Message, field_names
from pdwire.wire import layout, layouts, mooncake, nixl, releases

Json = dict[str, Any]
Frames = list[bytes]
Drawn = Callable[[Codec[Any], int], Message]
Facts = Callable[[Codec[Any]], tuple[Json, Json]]
Place = Callable[[Codec[Any], str], int]
Samples = Callable[[Codec[Any]], list[tuple[Message, Frames]]]

CODECS = list({codec.decode: codec for codec in layouts()}.values())
every_codec = pytest.mark.parametrize(
    "codec", CODECS, ids=[f"{c.backend}-{c.message}-{c.layout}" for c in CODECS]
)
CLASSES = list({codec.cls: codec for codec in CODECS}.values())
every_class = pytest.mark.parametrize("codec", CLASSES, ids=[c.cls.__module__ for c in CLASSES])


@settings(max_examples=12, derandomize=True, database=None, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_what_is_written_is_read(seed: int, drawn: Drawn) -> None:
    for codec in CODECS:
        message = drawn(codec, seed)
        frames = codec.encode(message)
        assert all(type(frame) is bytes for frame in frames)
        read = codec.decode(frames)
        assert codec.encode(read) == frames
        for name in codec.fields:
            assert _plain(getattr(read, name)) == _plain(getattr(message, name)), name


def _plain(value: Any) -> Any:  # noqa: ANN401  # any field's
    """A value without its arrays: exact, and of Python's own types."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


@every_codec
def test_fields_that_the_layout_lacks_read_as_what_their_absence_means(
    codec: Codec[Any], samples: Samples, facts: Facts
) -> None:
    message, layout_facts = facts(codec)
    derived = {rule["field"] for rule in layout_facts["derivations"]}
    for read, _ in samples(codec):
        for field in message["fields"]:
            if field["name"] in codec.fields or field["name"] in derived:
                continue
            value = _plain(getattr(read, field["name"]))
            meaning = field["absent"]
            if "repeat" in meaning:
                like = len(getattr(read, meaning["repeat"]["like"]))
                word = meaning["repeat"].get("word")
                one = word or getattr(read, meaning["repeat"]["from_field"])
                assert value == [one] * like
            else:
                assert value == meaning["value"]


def _buffers(kind: str, frames: Frames) -> list[Any]:
    makers: dict[str, Callable[[bytes], Any]] = {
        "bytearray": bytearray,
        "memoryview": memoryview,
        "writable view": lambda raw: memoryview(bytearray(raw)),
        "numpy": lambda raw: np.frombuffer(raw, np.uint8),
        "zmq.Frame": lambda raw: zmq.Frame(raw, copy=False),
        "strided view": lambda raw: memoryview(bytes(b for one in raw for b in (one, 0)))[::2],
    }
    return [makers[kind](frame) for frame in frames]


@pytest.mark.parametrize(
    "kind", ["bytearray", "memoryview", "writable view", "numpy", "zmq.Frame", "strided view"]
)
def test_frames_of_any_buffer_read_the_same(kind: str, samples: Samples) -> None:
    for codec in CODECS:
        for message, frames in samples(codec):
            read = codec.decode(_buffers(kind, frames))
            assert read == message
            assert codec.encode(read) == frames
            assert not any(one.flags.writeable for one in _arrays(read))


def test_frames_off_a_socket_are_read_without_a_copy_of_their_own(samples: Samples) -> None:
    with zmq.Context() as context, context.socket(zmq.PAIR) as a, context.socket(zmq.PAIR) as b:
        a.bind("inproc://codecs")
        b.connect("inproc://codecs")
        for codec in CODECS:
            message, frames = samples(codec)[0]
            b.send_multipart(frames)
            assert codec.decode(a.recv_multipart(copy=False)) == message
            b.send_multipart(frames)
            assert codec.decode(a.recv_multipart()) == message


def _arrays(message: Message) -> Iterator[np.ndarray[Any, Any]]:
    for name in field_names(type(message)):
        value = getattr(message, name)
        parts = value if isinstance(value, tuple) else (value,)
        yield from (part for part in parts if isinstance(part, np.ndarray))


@every_codec
@pytest.mark.parametrize("kind", ["bytes", "memoryview"])
def test_arrays_are_read_only_views_of_their_frame(
    codec: Codec[Any], kind: str, samples: Samples, place: Place, facts: Facts
) -> None:
    typed = {f["field"]: f["type"] for f in facts(codec)[1]["frames"]}
    names = [n for n in codec.fields if typed.get(n, "").split("[")[0] in {"i32", "u32", "u64"}]
    for _, frames in samples(codec):
        read = codec.decode(frames if kind == "bytes" else _buffers(kind, frames))
        for name in (n for n in names if typed[n].endswith("[]")):
            value = getattr(read, name)
            frame = np.frombuffer(frames[place(codec, name)], np.uint8)
            for part in value if isinstance(value, tuple) else (value,):
                assert not part.flags.writeable
                if frame.size and part.size:
                    assert np.shares_memory(part, frame), name


def test_an_array_cannot_be_written_to() -> None:
    codec = layout("mooncake", "TransferInfo")
    info = codec.decode(TRANSFER)
    with pytest.raises(ValueError, match="read-only"):
        info.dst_kv_indices[0] = 9
    with pytest.raises(ValueError, match="read-only"):
        info.dst_state_indices[0][0] = 9
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        info.dst_kv_indices.flags.writeable = True


def test_131072_indices_are_not_copied(drawn: Drawn) -> None:
    codec = layout("nixl", "TransferInfo")
    frames = codec.encode(drawn(codec, 0))
    read = codec.decode(frames)
    assert len(read.dst_kv_indices) == 131_072
    assert np.shares_memory(read.dst_kv_indices, np.frombuffer(frames[5], np.uint8))


STATE = b"\2\0\0\0\4\0\0\0\0\0\0\0\5\0\0\0"
TRANSFER = [b"7", b"10.0.0.2", b"5000", b"10.0.0.2:17000", b"\4\0\0\0\5\0\0\0", b"3", STATE]
TRANSFER += [b"1", b"0", b""]


def test_a_message_by_hand_is_the_one_that_is_read() -> None:
    made = mooncake.TransferInfo(
        room=7,
        endpoint="10.0.0.2",
        dst_port=5000,
        mooncake_session_id="10.0.0.2:17000",
        dst_kv_indices=np.array([4, 5], np.int32),
        dst_aux_index=3,
        dst_state_indices=(np.array([5], np.int32), np.array([], np.int32)),
        required_dst_info_num=1,
        decode_prefix_len=0,
    )
    assert made == mooncake.TransferInfo.from_zmq(TRANSFER)
    assert made.to_zmq() == TRANSFER


@every_class
def test_from_zmq_and_to_zmq_speak_the_newest_layout(codec: Codec[Any], samples: Samples) -> None:
    newest = codec.cls.newest
    ages = [
        releases(c.backend).index(c.releases[-1]) - len(releases(c.backend)) for c in _of(codec)
    ]
    assert releases(newest.backend).index(newest.releases[-1]) - len(
        releases(newest.backend)
    ) == max(ages)
    for message, frames in samples(newest):
        assert codec.cls.from_zmq(frames) == message
        assert message.to_zmq() == frames


def _of(codec: Codec[Any]) -> list[Codec[Any]]:
    return [one for one in layouts() if one.cls is codec.cls]


@every_class
def test_messages_are_frozen_slotted_and_keyword_only(codec: Codec[Any], samples: Samples) -> None:
    message = samples(codec)[0][0]
    name = field_names(codec.cls)[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(message, name, getattr(message, name))
    with pytest.raises(dataclasses.FrozenInstanceError):
        delattr(message, name)
    with pytest.raises((AttributeError, TypeError)):
        message.surplus = 1  # type: ignore[attr-defined]
    assert not hasattr(message, "__dict__")
    parameters = list(inspect.signature(codec.cls).parameters.values())
    assert [p.name for p in parameters] == list(field_names(codec.cls))
    assert {p.kind for p in parameters} == {inspect.Parameter.KEYWORD_ONLY}
    with pytest.raises(TypeError, match="unhashable"):
        hash(message)


@every_class
def test_messages_show_every_field_and_can_be_copied(codec: Codec[Any], samples: Samples) -> None:
    message = samples(codec)[0][0]
    shown = repr(message)
    assert shown.startswith(f"{codec.cls.__name__}(")
    assert all(f"{name}=" in shown for name in field_names(codec.cls))
    for other in (copy.copy(message), copy.deepcopy(message), dataclasses.replace(message)):  # type: ignore[type-var]
        assert other == message
        assert other is not message


@every_codec
def test_messages_differ_when_one_field_does(codec: Codec[Any], samples: Samples) -> None:
    message = samples(codec)[0][0]
    assert message != object()
    assert message != None  # noqa: E711  # the operator is what is tested
    for name in field_names(codec.cls):
        changed = dataclasses.replace(message, **{name: object()})  # type: ignore[type-var]
        assert changed != message


def test_equality_is_by_items_not_by_container() -> None:
    info: Any = mooncake.TransferInfo.from_zmq(TRANSFER)
    same: list[Any] = [[4, 5], (4, 5), np.array([4, 5], np.uint64)]
    for other in same:
        assert dataclasses.replace(info, dst_kv_indices=other) == info
    others: list[Any] = [
        [4],
        [4, 5, 6],
        [4, 6],
        np.array([[4, 5]]),
        np.array(4),
        None,
        "45",
        {4: 5},
    ]
    for other in others:
        assert dataclasses.replace(info, dst_kv_indices=other) != info
    assert dataclasses.replace(info, dst_state_indices=[[5], []]) == info
    shapes: list[Any] = [[[5]], [[], [5]], [[5], [[]]], [5, 0], ()]
    for parts in shapes:
        assert dataclasses.replace(info, dst_state_indices=parts) != info


def test_messages_of_two_backends_are_never_equal() -> None:
    values: Json = {"room": 7, "status": 4, "prefill_rank": 0}
    assert mooncake.KVStatus(**values) == mooncake.KVStatus(**values)
    assert mooncake.KVStatus(**values) != nixl.KVStatus(**values)
