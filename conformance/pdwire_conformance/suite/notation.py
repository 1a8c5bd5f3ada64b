"""Frames as people write them: text, little-endian arrays, nested lists, hex.

Rules: a frame is one string, and its first characters say what it is. Whatever fits none
of the forms is text, in UTF-8; ``text:`` says so where the text looks like another form.
A form that is begun and cannot be read is an error, never text.

==================  ==============================================================
``4,5 or None``     text, as it stands; the empty string is the empty frame
``text:hex:7``      text that would be read as another form
``i32[4,5]``        little-endian numbers: ``i32``, ``u32``, ``u64``
``ii[[7],[]]``      nested list of i32: a u32 count, u32 byte lengths, the bodies
``uu[[7]]``         the same of u32; ``UU[[7]]`` of u64
``u64:4096``        one number of that width: ``u32``, ``u64``, big-endian ``u32be``
``hex:80 05``       these bytes
``zero:8``          so many zero bytes
``long:9*4000``     a character so many times
``hex:80 05 + …``   forms that are joined with `` + `` are one frame
==================  ==============================================================
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from typing import Final

__all__ = ["FORMS", "NotationError", "frame_of"]

_FLAT: Final = re.compile(r"(i32|u32|u64)\[([-0-9, ]*)\]")
_NESTED: Final = re.compile(r"(ii|uu|UU)(\[\[.*\]\])")
_LONG: Final = re.compile(r"(.)\*([0-9]{1,8})")
_CODES: Final = {"i32": "i", "u32": "I", "u64": "Q", "ii": "i", "uu": "I", "UU": "Q"}
_SINGLE: Final = {"u32": "<I", "u64": "<Q", "u32be": ">I"}
FORMS: Final = (
    "text, text:…, i32[…], u32[…], u64[…], ii[[…]], uu[[…]], UU[[…]], u32:N, u64:N, "
    "u32be:N, hex:…, zero:N, long:C*N, and ' + ' between forms"
)


class NotationError(ValueError):
    """A frame that cannot be read; the text says which, why, and what forms there are."""


def frame_of(told: str) -> bytes:
    """The bytes of one frame.

    Raises:
        NotationError: a form that is begun and cannot be read.
    """
    parts = told.split(" + ")
    joined = len(parts) > 1 and any(map(_is_form, parts))
    try:
        return b"".join(map(_frame, parts)) if joined else _frame(told)
    except (ValueError, struct.error) as error:
        raise NotationError(f"no frame {told!r}: {error}; forms: {FORMS}") from error


def _is_form(part: str) -> bool:
    return part.partition(":")[0] in _PREFIXES or _begun(part) is not None


def _begun(told: str) -> str | None:
    found = re.match(r"(i32|u32|u64|ii|uu|UU)\[", told)
    return None if found is None else found[1]


def _frame(told: str) -> bytes:
    prefix, colon, rest = told.partition(":")
    if colon and prefix in _PREFIXES:
        return _PREFIXES[prefix](rest)
    if _begun(told) is None:
        return told.encode("utf-8")
    if (flat := _FLAT.fullmatch(told)) is not None:
        return _packed(_CODES[flat[1]], [int(each) for each in flat[2].split(",") if each.strip()])
    if (nested := _NESTED.fullmatch(told)) is not None:
        return _lists(_CODES[nested[1]], json.loads(nested[2]))
    raise ValueError("the brackets hold no numbers, or do not close")


def _packed(code: str, numbers: list[int]) -> bytes:
    return struct.pack(f"<{len(numbers)}{code}", *numbers)


def _lists(code: str, lists: list[list[int]]) -> bytes:
    bodies = [_packed(code, each) for each in lists]
    return _packed("I", [len(bodies), *map(len, bodies)]) + b"".join(bodies)


def _single(form: str) -> Callable[[str], bytes]:
    return lambda rest: struct.pack(form, int(rest))


def _long(rest: str) -> bytes:
    found = _LONG.fullmatch(rest)
    if found is None:
        raise ValueError("expected a character, * and how often, as in long:9*4000")
    return found[1].encode("utf-8") * int(found[2])


def _zero(rest: str) -> bytes:
    size = int(rest)
    if not 0 <= size <= 1 << 20:
        raise ValueError(f"{size} zero bytes; 0 to {1 << 20} can be written so")
    return bytes(size)


_PREFIXES: Final[dict[str, Callable[[str], bytes]]] = {
    "text": lambda rest: rest.encode("utf-8"),
    "hex": bytes.fromhex,
    "zero": _zero,
    "long": _long,
    **{name: _single(form) for name, form in _SINGLE.items()},
}
