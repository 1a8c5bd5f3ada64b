"""Frames as a live case writes them, and the placeholders in them.

Rules:

* ``i32[4,5]``, ``u32[…]``, ``i64[…]`` and ``u64[…]`` are little-endian arrays; ``ii[[7],[]]``
  is a nested list of int32s; ``hex:8005`` is those bytes; ``long:1000`` is so many bytes ``x``;
  everything else is itself, in UTF-8.
* ``${name}`` stands for a value that only the running case knows: the number of a room, the
  address of the peer that the suite plays. A text that is nothing but a placeholder keeps
  the value's type.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from typing import Any, Final, TypeAlias

__all__ = ["NotationError", "Value", "filled", "frame_of"]

Value: TypeAlias = Any
"""A value of a script: text, a number, a truth value, a list, or a table of them."""

_PLACE: Final = re.compile(r"\$\{([A-Za-z_.0-9]+)\}")
_ARRAY: Final = re.compile(r"([iu])(32|64)\[([-0-9, ]*)\]")
_CODES: Final = {("i", "32"): "i", ("u", "32"): "I", ("i", "64"): "q", ("u", "64"): "Q"}
_LARGEST: Final = 1 << 28


class NotationError(ValueError):
    """A frame or a placeholder that cannot be read; the text says which and why."""


def filled(value: Value, known: Callable[[str], Value]) -> Value:
    """The value with every placeholder replaced, in lists and tables as well.

    ``known`` gives a placeholder's value; ``KeyError`` from it becomes
    :class:`NotationError`.
    """
    if isinstance(value, str):
        return _text(value, known)
    if isinstance(value, list | tuple):
        return [filled(item, known) for item in value]
    if isinstance(value, dict):
        return {name: filled(item, known) for name, item in value.items()}
    return value


def _text(text: str, known: Callable[[str], Value]) -> Value:
    def of(name: str) -> Value:
        try:
            return known(name)
        except KeyError:
            raise NotationError(f"no placeholder ${{{name}}} here, in {text!r}") from None

    whole = _PLACE.fullmatch(text)
    if whole is not None:
        return of(whole[1])
    return _PLACE.sub(lambda found: str(of(found[1])), text)


def frame_of(text: object) -> bytes:
    """The bytes of one frame, placeholders replaced already.

    Raises:
        NotationError: an array, a nested list, hex or a length that cannot be read.
    """
    told = str(text)
    try:
        return _frame(told)
    except (ValueError, struct.error) as error:
        raise NotationError(f"no frame {told!r}: {error}") from error


def _frame(told: str) -> bytes:
    if (found := _ARRAY.fullmatch(told)) is not None:
        numbers = [int(each) for each in found[3].split(",") if each.strip()]
        return struct.pack(f"<{len(numbers)}{_CODES[found[1], found[2]]}", *numbers)
    if told.startswith("ii[["):
        return _nested(json.loads(told[2:]))
    if told.startswith("hex:"):
        return bytes.fromhex(told[4:])
    if told.startswith("long:"):
        size = int(told[5:])
        if not 0 <= size <= _LARGEST:
            raise ValueError(f"{size} bytes; at most {_LARGEST} are sent")
        return b"x" * size
    return told.encode()


def _nested(lists: list[list[int]]) -> bytes:
    packed = struct.pack("<I", len(lists))
    for each in lists:
        packed += struct.pack(f"<I{len(each)}i", len(each), *each)
    return packed
