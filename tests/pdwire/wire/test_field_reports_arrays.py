"""Field reports F3 and F4: arrays and nested lists use every byte and allocate little.

Each test has the id of its report in its name and runs against every layout that has the thing.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import pack
from typing import Any

import numpy as np
import pytest

from pdwire.codec import Codec, Message
from pdwire.errors import FrameValueError, WireError
from pdwire.wire import layout, layouts

Json = dict[str, Any]
Allocated = Callable[[Codec[Any], list[bytes]], int]
Facts = Callable[[Codec[Any]], tuple[Json, Json]]
Place = Callable[[Codec[Any], str], int]
Plain = Callable[..., Message]
Samples = Callable[[Codec[Any]], list[tuple[Message, list[bytes]]]]

CODECS = list({codec.decode: codec for codec in layouts()}.values())
WIDTH = {"i32": 4, "u32": 4, "u64": 8}


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


def refused(fault: WireError, slot: Json) -> bool:
    """Whether it is the error of this frame's value."""
    return type(fault) is FrameValueError and (fault.frame, fault.field) == (
        slot["position"],
        slot["field"],
    )


def slots_of(codec: Codec[Any], facts: Facts, ending: str) -> list[tuple[Json, int]]:
    """Array frames of a shape, with the width of their items."""
    found = []
    for slot in facts(codec)[1]["frames"]:
        kind, bracket, rest = slot["type"].partition("[")
        if kind in WIDTH and bracket + rest == ending:
            found.append((slot, WIDTH[kind]))
    return found


def nested(width: int, *parts: list[int]) -> bytes:
    """Count, byte lengths, bodies."""
    bodies = [np.array(part, f"<u{width}").tobytes() for part in parts]
    return pack(f"<{len(parts) + 1}I", len(parts), *map(len, bodies)) + b"".join(bodies)


@every()
def test_f3_an_array_frame_is_a_multiple_of_its_width(
    codec: Codec[Any], samples: Samples, place: Place, facts: Facts
) -> None:
    frames = samples(codec)[0][1]
    for slot, width in slots_of(codec, facts, "[]"):
        at = place(codec, slot["field"])
        for size in (1, 2, 3, width + 1, width + width // 2, 3 * width - 1):
            fault = fault_of(codec, frames, at, bytes(size))
            assert refused(fault, slot)
            assert fault.hint == f"not a multiple of {width} bytes"


@every()
def test_f3_an_entry_of_a_nested_list_is_a_multiple_of_its_width(
    codec: Codec[Any], samples: Samples, place: Place, facts: Facts
) -> None:
    frames = samples(codec)[0][1]
    for slot, width in slots_of(codec, facts, "[][]"):
        at = place(codec, slot["field"])
        for size in {1, 6, width - 1, width + 1} - {width}:
            fault = fault_of(codec, frames, at, pack("<II", 1, size) + bytes(size))
            assert refused(fault, slot)
            assert fault.hint == f"component 0 claims {size} bytes"


@every()
def test_f4_every_byte_of_a_nested_list_is_used(
    codec: Codec[Any], samples: Samples, place: Place, facts: Facts
) -> None:
    frames = samples(codec)[0][1]
    for slot, width in slots_of(codec, facts, "[][]"):
        at = place(codec, slot["field"])
        whole = nested(width, [5, 6], [9])
        broken = [whole[:-n] for n in range(1, len(whole))]
        broken += [whole + bytes(4), whole + b"\0", bytes(4), b"\xff" * 4, b"\xff" * 4 + whole[4:]]
        broken += [pack("<I", 3) + whole[4:], pack("<I", 1) + whole[4:], b"\2\0\0"]
        broken += [pack("<II", 1, 2**32 - width), pack("<III", 2, 2**31, 2**31) + bytes(16)]
        for raw in broken:
            assert refused(fault_of(codec, frames, at, raw), slot), raw


@every("TransferInfo", "KVArgsRegisterInfo")
def test_f4_a_nested_list_is_read_as_it_was_written(
    codec: Codec[Any], plain: Plain, place: Place, facts: Facts
) -> None:
    frames = codec.encode(plain(codec))
    for slot, width in slots_of(codec, facts, "[][]"):
        at = place(codec, slot["field"])
        top = 2 ** (8 * width - 1) - 1
        shapes: list[list[list[int]]] = [[[5, 6], [9]], [[]], [[], [7], []], [[top]]]
        for parts in shapes:
            sent = [*frames[:at], nested(width, *parts), *frames[at + 1 :]]
            read = codec.decode(sent)
            assert [part.tolist() for part in getattr(read, slot["field"])] == parts
            assert codec.encode(read) == sent


STATE = [("mooncake", 6), ("nixl", 8), ("mori", 7)]
"""Where the newest TransferInfo has its state indices, guard counted."""
LITTLE = 32 << 10  # an error and its text, whatever came
COUNT = 20_000


@pytest.mark.parametrize(
    "raw",
    [
        b"\xff" * 4,
        b"\xff" * 4 + bytes(100_000),
        pack("<I", 2**31) + b"\xff" * 100_000,
        pack("<I", COUNT) + bytes(4 * COUNT - 1),
    ],
    ids=lambda raw: f"{raw[:5].hex()}-{len(raw)}",
)
def test_f4_a_count_that_lies_allocates_nothing(
    raw: bytes, plain: Plain, allocated: Allocated
) -> None:
    for backend, at in STATE:
        codec = layout(backend, "TransferInfo")
        frames = codec.encode(plain(codec))
        assert type(fault_of(codec, frames, at, raw)) is FrameValueError
        frames[at] = raw
        assert allocated(codec, frames) < LITTLE


@pytest.mark.parametrize(
    ("raw", "times"),
    [
        (pack("<I", COUNT) + bytes(4 * COUNT), 6),  # nothing but empty components
        (nested(4, *[[1]] * COUNT), 20),  # an array object for every eight bytes
        (nested(4, [1] * COUNT), 1),
        (pack("<I", COUNT) + b"\xff" * (4 * COUNT), 12),  # lengths that lie, as numbers
    ],
    ids=["empty", "single", "one", "lies"],
)
def test_f4_what_is_read_takes_a_small_multiple_of_what_came(
    raw: bytes, times: int, plain: Plain, allocated: Allocated
) -> None:
    for backend, at in STATE:
        codec = layout(backend, "TransferInfo")
        frames = codec.encode(plain(codec))
        frames[at] = raw
        assert allocated(codec, frames) < LITTLE + times * len(raw)
