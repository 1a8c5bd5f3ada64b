"""Generated codecs with one fault each, as one might slip into the generator.

Rules: a fault touches one layout, the newest of its message, and is as small as it can be.
Each name here is a factory for a ``python:`` target.
"""

# ruff: noqa: ANN401 - messages and frames of every type

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from pdwire.codec import Codec, Message, field_names
from pdwire.errors import FrameCountError, FrameValueError, InvariantError
from pdwire.wire import layout
from pdwire_conformance.testees.ours import Generated

Frames = Sequence[bytes]
Twist = Callable[[Codec[Any]], Codec[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Where the fault is, and what it does."""

    backend: str
    message: str
    twist: Twist


class Planted(Generated):
    """The generated codecs, one of which has a fault."""

    def __init__(self, fault: Fault) -> None:
        right = layout(fault.backend, fault.message)
        self._wrong = {(right.backend, right.message, right.layout): fault.twist(right)}

    def codec(self, backend: str, release: str, message: str) -> Codec[Any]:
        right = super().codec(backend, release, message)
        return self._wrong.get((right.backend, right.message, right.layout), right)


def changed(message: Message, **values: Any) -> Message:
    """The message with other values."""
    told = {name: getattr(message, name) for name in field_names(type(message))}
    made: Message = type(message)(**{**told, **values})
    return made


def decoding(after: Callable[[Message, Frames], Message]) -> Twist:
    """A decoder whose message is changed behind it."""
    return lambda right: replace(right, decode=lambda frames: after(right.decode(frames), frames))


def encoding(after: Callable[[list[bytes]], list[bytes]]) -> Twist:
    """An encoder whose frames are changed behind it."""
    return lambda right: replace(right, encode=lambda message: after(right.encode(message)))


def swapped(message: Message, _: Frames) -> Message:
    m: Any = message
    return changed(m, dst_tp_rank=m.dst_attn_tp_size, dst_attn_tp_size=m.dst_tp_rank)


def swapped_both_ways(right: Codec[Any]) -> Codec[Any]:
    """The one fault that decoding what was encoded cannot show."""

    def swap(frames: Frames) -> list[bytes]:
        return [*frames[:4], frames[5], frames[4], *frames[6:]]

    return replace(
        right,
        decode=lambda frames: right.decode(swap(frames)),
        encode=lambda message: swap(right.encode(message)),
    )


def widened(right: Codec[Any]) -> Codec[Any]:
    """A port may be 65536."""

    def decode(frames: Frames) -> Any:
        if len(frames) > 2 and bytes(frames[2]) == b"65536":
            return changed(right.decode([*frames[:2], b"1", *frames[3:]]), dst_port=65536)
        return right.decode(frames)

    return replace(right, decode=decode)


def without_invariant(right: Codec[Any]) -> Codec[Any]:
    """A rank may be its size or more."""

    def decode(frames: Frames) -> Any:
        try:
            return right.decode(frames)
        except InvariantError:
            rank = bytes(frames[17])
            bent = right.decode([*frames[:17], b"0", *frames[18:]])
            return changed(bent, dst_dcp_rank=int(rank))

    return replace(right, decode=decode)


def off_by_one(message: Message, frames: Frames) -> Message:
    """The size is read from the frame behind it."""
    m: Any = message
    return changed(m, staging_total_size=int(frames[16] or b"0"))


def last_dropped(message: Message, _: Frames) -> Message:
    m: Any = message
    return changed(m, dst_kv_ptrs=m.dst_kv_ptrs[:-1])


def signed(message: Message, _: Frames) -> Message:
    m: Any = message
    wide = m.dst_kv_item_len
    return changed(m, dst_kv_item_len=wide - 2**32 if 2**31 <= wide < 2**32 else wide)


def three(message: Message, _: Frames) -> Message:
    """Wrong only where a list has exactly three items."""
    m: Any = message
    ptrs = m.dst_kv_ptrs
    return changed(m, dst_kv_ptrs=np.roll(ptrs, 1)) if len(ptrs) == 3 else message


def lenient_count(right: Codec[Any]) -> Codec[Any]:
    """A frame too many is not looked at."""

    def decode(frames: Frames) -> Any:
        try:
            return right.decode(frames)
        except FrameCountError:
            return right.decode(frames[:-1])

    return replace(right, decode=decode)


def dies(right: Codec[Any]) -> Codec[Any]:
    """An exception of another kind for a frame of another sort."""

    def decode(frames: Frames) -> Any:
        try:
            return right.decode(frames)
        except FrameValueError as fault:
            if fault.field == "room":
                raise IndexError("list index out of range") from None
            raise

    return replace(right, decode=decode)


def guessed_dummy(message: Message, _: Frames) -> Message:
    """A dummy is told by its pages alone."""
    m: Any = message
    return changed(m, is_dummy=not len(m.dst_kv_indices))


def padded(frames: list[bytes]) -> list[bytes]:
    """A number of one digit gets a zero before it."""
    return [*frames[:5], frames[5].rjust(2, b"0"), *frames[6:]]


def cut_text(message: Message, _: Frames) -> Message:
    """A name is cut to fit a field of 63 bytes."""
    m: Any = message
    return changed(m, agent_name=m.agent_name[:63])


def spaces(right: Codec[Any]) -> Codec[Any]:
    """Numbers may have blanks around them, as Python's own ``int`` takes them."""

    def decode(frames: Frames) -> Any:
        stripped = [frame.strip() if n == 1 else frame for n, frame in enumerate(frames)]
        return right.decode(stripped)

    return replace(right, decode=decode)


def through_float(message: Message, _: Frames) -> Message:
    """A number is read by a parser that makes floats of numbers."""
    m: Any = message
    return changed(m, room=int(float(m.room)))


_REGISTRATION: Final = ("mooncake", "KVArgsRegisterInfo")
_TRANSFER: Final = ("nixl", "TransferInfo")
FAULTS: Final[dict[str, Fault]] = {
    name: Fault(backend=where[0], message=where[1], twist=twist)
    for name, (where, twist) in {
        "swapped": (_REGISTRATION, decoding(swapped)),
        "swapped_both_ways": (_REGISTRATION, swapped_both_ways),
        "widened": (_REGISTRATION, widened),
        "without_invariant": (_REGISTRATION, without_invariant),
        "off_by_one": (_REGISTRATION, decoding(off_by_one)),
        "last_dropped": (_REGISTRATION, decoding(last_dropped)),
        "signed": (_REGISTRATION, decoding(signed)),
        "three": (_REGISTRATION, decoding(three)),
        "lenient_count": (_REGISTRATION, lenient_count),
        "dies": (_TRANSFER, dies),
        "guessed_dummy": (_TRANSFER, decoding(guessed_dummy)),
        "padded": (("mori", "TransferInfo"), encoding(padded)),
        "cut_text": (_TRANSFER, decoding(cut_text)),
        "spaces": (_TRANSFER, spaces),
        "through_float": (_TRANSFER, decoding(through_float)),
    }.items()
}


def __getattr__(name: str) -> Callable[[], Planted]:
    """``python:tests.conformance.fuzz.planted:make_three`` is a target."""
    fault = FAULTS.get(name.removeprefix("make_"))
    if fault is None:
        raise AttributeError(name)
    return partial(Planted, fault)
