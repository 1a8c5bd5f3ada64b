"""Flat and nested integer arrays as constructs.

Rules: a flat array is its elements and nothing else. A nested list is a ``u32`` count,
that many ``u32`` byte lengths, then the bodies; it uses every byte, and a list of no
components is the empty frame, never a count of zero. Counts and lengths are held against
what is left of the frame before anything is read for them.
"""

from __future__ import annotations

from typing import Any

import construct as c

from pdwire.reading.errors import Refused, shorten_value
from pdwire.reading.streams import bounded, left

_ELEMENTS = {"i32": c.Int32sl, "u32": c.Int32ul, "u64": c.Int64ul}
_RANGES = {"i32": (-(2**31), 2**31 - 1), "u32": (0, 2**32 - 1), "u64": (0, 2**64 - 1)}


def flat(kind: str) -> Any:  # noqa: ANN401 - construct has no types
    """Little-endian ``kind`` elements; the length is a multiple of their width."""
    element = _ELEMENTS[kind]
    width: int = element.sizeof()

    def decode(raw: bytes, _: object) -> list[int]:
        if len(raw) % width:
            raise Refused(f"{kind} elements: a multiple of {width} bytes", f"{len(raw)} bytes")
        return list(c.Array(len(raw) // width, element).parse(raw))

    def encode(value: object, _: object) -> bytes:
        numbers = _integers(kind, value)
        built: bytes = c.Array(len(numbers), element).build(numbers)
        return built

    return c.ExprAdapter(c.GreedyBytes, decode, encode)


def _integers(kind: str, value: object) -> list[int]:
    if not isinstance(value, list | tuple):
        raise Refused(f"a list of {kind}", shorten_value(value))
    low, high = _RANGES[kind]
    for item in value:
        if isinstance(item, bool) or not isinstance(item, int) or not low <= item <= high:
            raise Refused(f"a list of {kind}", f"{shorten_value(item)} in it")
    return list(value)


def _some(count: int, _: object) -> int:
    if count == 0:
        raise Refused("no components to be the empty frame", "a count of 0")
    return count


def _lengths(width: int) -> Any:  # noqa: ANN401
    def decode(lengths: list[int], context: Any) -> list[int]:  # noqa: ANN401
        for place, length in enumerate(lengths):
            if length % width:
                raise Refused(
                    f"component {place} to have a multiple of {width} bytes", f"{length} bytes"
                )
        if sum(lengths) != left(context):
            raise Refused(
                f"components of {sum(lengths)} bytes together",
                f"{left(context)} bytes behind the lengths",
            )
        return lengths

    return c.ExprAdapter(
        c.Array(c.this.count, c.Int32ul), decode, lambda lengths, _context: lengths
    )


def _frame(width: int) -> Any:  # noqa: ANN401
    some = c.ExprAdapter(c.Int32ul, _some, lambda count, _context: count)
    body = c.Bytes(lambda context: context.lengths[context._index])  # noqa: SLF001
    return c.Struct(
        "count" / bounded(some, each=4, what="components"),
        "lengths" / _lengths(width),
        "bodies" / c.Array(c.this.count, body),
        c.Terminated,
    )


def nested(kind: str) -> Any:  # noqa: ANN401
    """A list of flat arrays."""
    part = flat(kind)
    frame = _frame(_ELEMENTS[kind].sizeof())

    def decode(raw: bytes, _: object) -> list[list[int]]:
        if not raw:
            return []
        if len(raw) < 4:
            raise Refused("a u32 count of components", f"{len(raw)} bytes")
        return [part.parse(body) for body in frame.parse(raw).bodies]

    def encode(value: object, _: object) -> bytes:
        if not isinstance(value, list | tuple):
            raise Refused(f"a list of lists of {kind}", shorten_value(value))
        bodies = [part.build(component) for component in value]
        if not bodies:
            return b""
        lengths = [len(body) for body in bodies]
        told = {"count": len(bodies), "lengths": lengths, "bodies": bodies}
        built: bytes = frame.build(told)
        return built

    return c.ExprAdapter(c.GreedyBytes, decode, encode)
