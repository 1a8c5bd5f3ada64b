"""Encoders carry a value exactly or refuse it; they raise ``WireError`` and nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from pdwire.codec import Codec, Message, field_names
from pdwire.errors import InvariantError, LossyEncodeError, WireError
from pdwire.wire import layout, layouts, mooncake, mori, nixl

Json = dict[str, Any]
Facts = Callable[[Codec[Any]], tuple[Json, Json]]
Samples = Callable[[Codec[Any]], list[tuple[Message, list[bytes]]]]

CODECS = list({codec.decode: codec for codec in layouts()}.values())
every_codec = pytest.mark.parametrize(
    "codec", CODECS, ids=[f"{c.backend}-{c.message}-{c.layout}" for c in CODECS]
)

# Values of every type that is not, or only nearly, the type of a field.
STRANGE: list[Any] = [
    *(None, True, False, 0, 1, -1, -2, 1.0, 0.0, 1.5, float("nan"), float("inf"), 1j),
    *(2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**40), 10**5000),
    *("", "7", "ab", "h:1", "h:x", "VRAM", "\x00", "a b", "é", "x\ud800", "x" * 5000),
    *(b"", b"x", bytearray(b"x"), memoryview(b"x"), memoryview(bytes(8)).cast("Q")),
    *([], (), {}, set(), {1}, {"a": 1}, {1: 2}, {"a": float("nan")}, {"a": object()}, {"a": b"x"}),
    *(
        [1],
        [1.5],
        [None],
        ["a"],
        [b"x"],
        [-1],
        [2**31],
        [2**64],
        ["VRAM"],
        [[1]],
        [["a"]],
        [[None]],
    ),
    *([[b"x"]], [[1, [2]]], [[1], [2]], [()], (np.array([1, 2]),), range(3), iter([1]), object()),
    *(
        np.int64(5),
        np.uint64(2**64 - 1),
        np.float64(1.5),
        np.True_,
        np.datetime64("2020"),
        np.array(3),
    ),
    *(np.array([]), np.array([1]), np.array([-1]), np.array([True]), np.array([1.5])),
    *(
        np.array([[1, 2]]),
        np.array([["a"]]),
        np.array([None]),
        np.array([], bool),
        np.zeros((1, 0)),
    ),
    *([np.array([[1]])], [np.array([1.0])], [np.array([2**40])], [range(2)], print, Ellipsis),
]


def _or_refused(codec: Codec[Any], message: Message) -> list[bytes] | None:
    try:
        return codec.encode(message)
    except WireError:
        return None


def _dropped(codec: Codec[Any], facts: Facts) -> set[str]:
    """Fields whose value may be left out silently, because the spec says so."""
    fields = facts(codec)[0]["fields"]
    return {f["name"] for f in fields if f["ignorable"] and f["name"] not in codec.fields}


@every_codec
def test_a_value_of_any_type_is_carried_exactly_or_refused(
    codec: Codec[Any], samples: Samples, facts: Facts
) -> None:
    dropped = _dropped(codec, facts)
    for message, _ in samples(codec)[:2]:
        for name in field_names(codec.cls):
            for value in STRANGE:
                changed = dataclasses.replace(message, **{name: value})  # type: ignore[type-var]
                frames = _or_refused(codec, changed)
                if frames is not None:
                    read = codec.decode(frames)
                    filled = {lost: getattr(read, lost) for lost in dropped}
                    assert dataclasses.replace(changed, **filled) == read, (name, value)  # type: ignore[type-var]


ANYTHING: st.SearchStrategy[Any] = st.deferred(
    lambda: (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text()
        | st.binary()
        | st_numpy.arrays(st_numpy.scalar_dtypes(), st_numpy.array_shapes(min_dims=0, min_side=0))
        | st.lists(ANYTHING, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.integers(), ANYTHING, max_size=2)
    )
)


@settings(max_examples=400, derandomize=True, database=None, deadline=None)
@given(codec=st.sampled_from(CODECS), data=st.data())
def test_whatever_a_message_holds_an_encoder_raises_only_wire_errors(
    codec: Codec[Any], data: st.DataObject, samples: Samples
) -> None:
    message = data.draw(st.sampled_from(samples(codec)))[0]
    names = data.draw(st.lists(st.sampled_from(field_names(codec.cls)), min_size=1, max_size=3))
    changes = {name: data.draw(ANYTHING, label=name) for name in names}
    frames = _or_refused(codec, dataclasses.replace(message, **changes))  # type: ignore[type-var]
    if frames is not None:
        again = codec.decode(frames)
        assert codec.encode(again) == frames


@every_codec
def test_another_messages_object_is_refused(codec: Codec[Any]) -> None:
    for thing in (None, object(), next(c for c in CODECS if c.cls is not codec.cls).cls):
        with pytest.raises(LossyEncodeError, match=f"expected a {codec.cls.__name__}, got"):
            codec.encode(thing)


@every_codec
def test_a_field_that_a_layout_has_no_place_for_is_not_lost_silently(
    codec: Codec[Any], samples: Samples, facts: Facts
) -> None:
    message = samples(codec)[0][0]
    for field in facts(codec)[0]["fields"]:
        name = field["name"]
        if name in codec.fields or field["ignorable"]:
            continue
        was = getattr(message, name)
        changed = dataclasses.replace(message, **{name: _other(was, field["type"])})  # type: ignore[type-var]
        with pytest.raises(LossyEncodeError) as caught:
            codec.encode(changed)
        assert caught.value.field == name
        assert caught.value.layout == codec.layout
        assert caught.value.frame is None


def _other(was: object, kind: str) -> object:
    """A valid value of a field's type that differs from this one."""
    if kind in {"flag", "json:bool"}:
        return not was
    if kind == "names":
        return ("DRAM",) * (len(was) + 1)  # type: ignore[arg-type]  # names are a tuple
    if kind.endswith("[][]"):
        return ((b"x",),) if "bin" in kind else (np.array([1]),)
    if kind.endswith("[]"):
        return np.array([1] * (len(was) + 1))  # type: ignore[arg-type]  # an array
    if kind.startswith("json:object"):
        return {"a": 1}
    if kind in {"utf8", "text", "host"} or kind.startswith("json:str"):
        return "other"
    return 1 if was is None else was + 1  # type: ignore[operator]  # the rest are numbers


def test_the_one_ignorable_field_is_dropped_without_a_word() -> None:
    old = layout("nixl", "NOTIF_STATE", revision="r1")
    frames = old.encode(nixl.NotifState(room=7, pp_rank=1, component=3))
    assert frames == [b"7_state_1"]
    assert old.decode(frames).component is None


def transfer_info(**changes: object) -> mooncake.TransferInfo:
    values: Json = {
        "room": 7,
        "endpoint": "10.0.0.2",
        "dst_port": 5000,
        "mooncake_session_id": "10.0.0.2:17000",
        "dst_kv_indices": np.array([4, 5], "<i4"),
        "dst_aux_index": 3,
        "dst_state_indices": (),
        "required_dst_info_num": 1,
    }
    return mooncake.TransferInfo(**values | changes)


@pytest.mark.parametrize(
    ("field", "value", "frame"),
    [
        ("room", -1, 0),
        ("room", 2**63, 0),
        ("room", 7.0, 0),
        ("room", "7", 0),
        ("room", None, 0),
        ("room", np.array([7]), 0),
        ("endpoint", "bad host", 1),
        ("endpoint", b"10.0.0.2", 1),
        ("dst_port", 0, 2),
        ("dst_port", 65536, 2),
        ("mooncake_session_id", "10.0.0.2", 3),
        ("mooncake_session_id", "::1:5", 3),
        ("dst_kv_indices", [2**31], 4),
        ("dst_kv_indices", [-(2**31) - 1], 4),
        ("dst_kv_indices", [1.0], 4),
        ("dst_kv_indices", np.array([1.0]), 4),
        ("dst_kv_indices", np.array([True]), 4),
        ("dst_kv_indices", np.array([[4, 5]]), 4),
        ("dst_kv_indices", None, 4),
        ("dst_kv_indices", "45", 4),
        ("dst_kv_indices", b"45", 4),
        ("dst_aux_index", -1, 5),
        ("dst_aux_index", 3.0, 5),
        ("dst_state_indices", np.array([5]), 6),
        ("dst_state_indices", [5], 6),
        ("dst_state_indices", None, 6),
        ("dst_state_indices", ([0.5],), 6),
        ("required_dst_info_num", 0, 7),
        ("decode_prefix_len", "0", 8),
        ("dst_device_kv_indices", {1: 2}, 9),
    ],
)
def test_a_value_that_its_frame_cannot_carry_is_named(
    field: str, value: object, frame: int
) -> None:
    codec = layout("mooncake", "TransferInfo", revision="r3")
    with pytest.raises(LossyEncodeError) as caught:
        codec.encode(transfer_info(**{field: value}))
    fault = caught.value
    assert (fault.message, fault.layout) == ("mooncake TransferInfo", "r3")
    assert (fault.frame, fault.field) == (frame, field)


@pytest.mark.parametrize("value", [-1, 2**64, 0.5, "1", b"1", None, np.array([1])])
def test_what_is_no_u64_is_named(value: object) -> None:
    info = mooncake.KVArgsRegisterInfo(
        endpoint="h", dst_port=1, mooncake_session_id="h:1", dst_kv_ptrs=np.array([], "<u8"),
        dst_aux_ptrs=np.array([], "<u8"), dst_state_data_ptrs=(), dst_tp_rank=0,
        dst_attn_tp_size=1, dst_kv_item_len=0, staging_base_ptr=value,  # type: ignore[arg-type]
    )  # fmt: skip
    with pytest.raises(LossyEncodeError) as caught:
        info.to_zmq()
    assert (caught.value.frame, caught.value.field) == (14, "staging_base_ptr")


def test_whole_numbers_of_other_kinds_are_carried() -> None:
    made = transfer_info(
        room=np.int64(7),
        dst_kv_indices=[4, 5],
        dst_state_indices=[np.array([9], np.int64), (1, 2)],
        dst_device_kv_indices=np.array([6], np.uint8),
    )
    same = transfer_info(dst_state_indices=([9], [1, 2]), dst_device_kv_indices=[6])
    assert made.to_zmq() == same.to_zmq()
    assert mooncake.TransferInfo.from_zmq(made.to_zmq()) == made


@pytest.mark.parametrize(
    ("backend", "revision"), [("mooncake", "r1"), ("nixl", "r2"), ("nixl", "r3"), ("mori", "r2")]
)
@pytest.mark.parametrize("parts", [([1], [2]), ([],), ([1], [])])
def test_a_flat_state_frame_carries_one_component_that_is_not_empty(
    backend: str, revision: str, parts: tuple[list[int], ...], samples: Samples
) -> None:
    codec = layout(backend, "TransferInfo", revision=revision)
    message = samples(codec)[0][0]
    changed = dataclasses.replace(message, dst_state_indices=parts)  # type: ignore[type-var]
    with pytest.raises(LossyEncodeError, match="one component that is not empty") as caught:
        codec.encode(changed)
    assert caught.value.field == "dst_state_indices"


def test_contradicting_values_are_an_invariant_error_when_encoding_too() -> None:
    with pytest.raises(InvariantError, match="dst_aux_index where there is dst_kv_indices"):
        transfer_info(dst_aux_index=None).to_zmq()


def test_a_derived_field_must_say_what_the_rule_derives() -> None:
    with pytest.raises(LossyEncodeError) as caught:
        transfer_info(is_dummy=True).to_zmq()
    assert caught.value.field == "is_dummy"
    dummy = mori.TransferInfo(
        room=7,
        endpoint="h",
        dst_port=1,
        engine_key="k",
        dst_kv_indices=np.array([], "<i4"),
        dst_aux_index=-1,
        required_dst_info_num=1,
        is_dummy=True,
    )
    assert mori.TransferInfo.from_zmq(dummy.to_zmq()).is_dummy is True
