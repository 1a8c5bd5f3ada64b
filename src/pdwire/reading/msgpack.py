"""The two msgpack shapes of the protocol as constructs: arrays of bin, arrays of those.

Rules: only array, bin and (one level down) nil are known, each with the shortest header
that its size allows; anything else is refused. An announced size is held against what is
left of the frame before anything is read for it. None at all is the empty frame.
"""

from __future__ import annotations

from typing import Any

import construct as c

from pdwire.reading.errors import Refused, shorten_value
from pdwire.reading.streams import bounded

_NIL = 0xC0
_BIN = {0xC4: c.Int8ub, 0xC5: c.Int16ub, 0xC6: c.Int32ub}
_ARRAY = {0xDC: c.Int16ub, 0xDD: c.Int32ub}
_FIXARRAY = {0x90 | size: c.Computed(size) for size in range(16)}


def _tag(known: dict[int, Any], what: str) -> Any:  # noqa: ANN401 - construct has no types
    def decode(tag: int, _: object) -> int:
        if tag not in known:
            raise Refused(what, f"tag {tag:#04x}")
        return tag

    return c.ExprAdapter(c.Int8ub, decode, lambda tag, _context: tag)


def _bin_tag(size: int) -> int:
    return next(tag for tag, head in _BIN.items() if size < 1 << (8 * head.sizeof()))


def _array_tag(size: int) -> int:
    if size < len(_FIXARRAY):
        return 0x90 | size
    return next(tag for tag, head in _ARRAY.items() if size < 1 << (8 * head.sizeof()))


def _shortest(came: int, tag: int) -> None:
    if came != tag:
        raise Refused(f"the shortest header, tag {tag:#04x}", f"tag {came:#04x}")


def _bin(*, nil: bool) -> Any:  # noqa: ANN401
    heads = {**_BIN, _NIL: c.Computed(0)} if nil else _BIN
    what = "bytes or nil" if nil else "bytes"
    whole = c.Struct(
        "tag" / _tag(heads, f"msgpack {what}"),
        "size" / bounded(c.Switch(c.this.tag, heads), each=1, what="bytes"),
        "body" / c.Bytes(c.this.size),
    )

    def decode(read: Any, _: object) -> bytes | None:  # noqa: ANN401
        if read.tag == _NIL:
            return None
        _shortest(read.tag, _bin_tag(read.size))
        return bytes(read.body)

    def encode(value: object, _: object) -> dict[str, object]:
        if nil and value is None:
            return {"tag": _NIL, "size": 0, "body": b""}
        if not isinstance(value, bytes | bytearray | memoryview):
            raise Refused(what, shorten_value(value))
        body = bytes(value)
        return {"tag": _bin_tag(len(body)), "size": len(body), "body": body}

    return c.ExprAdapter(whole, decode, encode)


def _array(element: Any) -> Any:  # noqa: ANN401
    heads = {**_FIXARRAY, **_ARRAY}
    whole = c.Struct(
        "tag" / _tag(heads, "a msgpack array"),
        "size" / bounded(c.Switch(c.this.tag, heads), each=1, what="elements"),
        "items" / c.Array(c.this.size, element),
    )

    def decode(read: Any, _: object) -> list[Any]:  # noqa: ANN401
        _shortest(read.tag, _array_tag(read.size))
        return list(read["items"])

    def encode(value: object, _: object) -> dict[str, object]:
        if not isinstance(value, list | tuple):
            raise Refused("a list", shorten_value(value))
        size = len(value)
        return {"tag": _array_tag(size), "size": size, "items": list(value)}

    return c.ExprAdapter(whole, decode, encode)


def bins(*, deep: bool, nil: bool = False) -> Any:  # noqa: ANN401
    """``bin[]``, or ``bin[][]`` when ``deep``; with ``nil`` an item may be nil."""
    array = _array(_array(_bin(nil=nil))) if deep else _array(_bin(nil=False))
    whole = c.FocusedSeq("array", "array" / array, "end" / c.Terminated)

    def decode(raw: bytes, _: object) -> list[Any]:
        value: list[Any] = list(whole.parse(raw)) if raw else []
        if raw and not value:
            raise Refused("no elements to be the empty frame", "an empty msgpack array")
        return value

    def encode(value: object, _: object) -> bytes:
        built: bytes = b"" if value in ([], ()) else whole.build(value)
        return built

    return c.ExprAdapter(c.GreedyBytes, decode, encode)
