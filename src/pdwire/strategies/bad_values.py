"""Bytes that are no value of a frame, by what is wrong with them.

Rules: every strategy here gives only bytes that the type refuses, whatever was drawn;
nothing is tried out. Each belongs to one kind of fault, named in :data:`LABELS`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final, Literal

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from pdwire.reading.spec import REQUIRED, Slot
from pdwire.reading.types import build, slot_construct
from pdwire.strategies.scalars import filled

__all__ = ["LABELS", "bad_values", "listed_bad_values", "wrong_spellings"]

Bad = SearchStrategy[bytes]
LABELS: Final = ("width", "range", "spelling", "text", "empty", "nested", "msgpack")
"""Kinds of fault of one frame."""

_NUMBERS: Final = frozenset({"dec", "u32", "u64", "u32be"})
_WIDTHS: Final = {"i32": 4, "u32": 4, "u64": 8, "u32be": 4}
_TEXTS: Final[dict[str, tuple[bytes, ...]]] = {
    "text": (b"a b", b" a", b"a\n", b"\x00", b"\x7f", b"\xff", "é".encode()),
    "utf8": (b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf8\x88\x80\x80\x80"),
    "host": (
        b"a b", b"10.0.0.256", b"1.2.3", b"-a.b", b"a..b", b"[10.0.0.2]", b"h:1", b"1::2::3", b".",
        b"fe80::1%", b"fe80::1%e 0", b"[::1", b"a\n", b"\xff", b"x" * 254, "é".encode(),
    ),
    "hostport": (
        b"h", b"h:", b"h:0", b"h:65536", b"h:070", b"::1:5", b":5", b"[::1]", b"h:1:2", b"a b:1",
        b"[10.0.0.2]:1", b"h:1\n", b"h:-1", b"\xff:1",
    ),
    "flag": (b"2", b"00", b"01", b"true", b"True", b" 1", b"1\n", b"-1", b"\x01"),
    "names": (b"FOO", b",", b"VRAM,", b",VRAM", b"VRAM,,DRAM", b"vram", b" VRAM", b"VRAM;DRAM"),
}  # fmt: skip
_SPELLINGS: Final = (
    "+{}", "0{}", " {}", "{} ", "{}\n", "{}.0", "0x{}", "{}_0", "{}\x00", "--{}", "{}e0", "\uff17"
)  # fmt: skip
_FLAT: Final = (
    b"\x90",
    b"\xdd\xff\xff\xff\xff",
    b"\xdc\x00\x01\xc4\x00",
    b"\x91\xa1a",
    b"\x91\x01",
)
_MSGPACK: Final[dict[str, tuple[bytes, ...]]] = {
    "bin[]": (*_FLAT, b"\x91\xc0", b"\x91\x90", b"\xa1a", b"\x80", b"\xc1", b"\x91\xc5\x00\x01a"),
    "bin[][]": (b"\x90", b"\x91\xc4\x00", b"\x91\x91\xc0", b"\x91\xc0", b"\x91\x91\xa1a", b"\x91"),
    "bin?[][]": (b"\x90", b"\x91\xc4\x00", b"\x91\xc0", b"\x91\x91\xa1a", b"\x91\x91\xc5\x00\x01a"),
}  # fmt: skip


def bad_values(slot: Slot, *, ruled: bool = False) -> dict[str, Bad]:
    """Label -> bytes that the slot refuses; only labels that the type can have.

    ``ruled``: a derived rule speaks where the frame is empty, so an empty one is right.
    """
    found: dict[str, Bad | None] = {
        "width": _width(slot),
        "range": _range(slot),
        "spelling": wrong_spellings(slot) if slot.type == "dec" else _known(slot, ("flag",)),
        "text": _known(slot, ("text", "utf8", "host", "hostport", "names")),
        "empty": None if ruled else _empty(slot),
        "nested": _nested(slot),
        "msgpack": _msgpack(slot),
    }
    return {label: bad for label, bad in found.items() if bad is not None}


def _known(slot: Slot, types: tuple[str, ...]) -> Bad | None:
    return st.sampled_from(_TEXTS[slot.type]) if slot.type in types else None


def _empty(slot: Slot) -> Bad | None:
    """No bytes, where that means nothing and is no empty list either."""
    said = slot.empty is not REQUIRED or slot.type.endswith("[]") or slot.type == "bytes"
    return None if said or slot.kind != "field" else st.just(b"")


def wrong_spellings(slot: Slot) -> Bad:
    """Numbers in range that are not spelled as the one canonical decimal."""
    numbers = filled(slot)
    return st.tuples(st.sampled_from(_SPELLINGS), numbers).map(_spelled)


def _spelled(drawn: tuple[str, Any]) -> bytes:
    form, number = drawn
    return form.format(number).encode("utf-8")


def _range(slot: Slot) -> Bad | None:
    told = _outside(slot)
    return st.sampled_from(told) if told else None


def _outside(slot: Slot) -> list[bytes]:
    """Numbers just outside of the range, and far outside."""
    if slot.type not in _NUMBERS or slot.min is None or slot.max is None:
        return []
    far = (2**31, 2**32, 2**63, 2**64, 10**30, -(2**63), -(10**30))
    near = (slot.max + 1, slot.min - 1)
    numbers = [n for n in (*near, *far) if not slot.min <= n <= slot.max]
    if slot.type == "dec":
        return [b"%d" % number for number in numbers]
    width = _WIDTHS[slot.type]
    order: Literal["big", "little"] = "big" if slot.type.endswith("be") else "little"
    return [n.to_bytes(width, order) for n in numbers if 0 <= n < 1 << (8 * width)]


def _width(slot: Slot) -> Bad | None:
    """A broken item at the end, or a number of another width."""
    if slot.type in _NUMBERS - {"dec"}:
        whole = _WIDTHS[slot.type]
        sizes = [n for n in (1, whole - 1, whole + 1, 2 * whole, 64) if n != whole]
        return st.sampled_from([b"\x01" * n for n in sizes])
    kind, _, rest = slot.type.partition("[")
    if rest != "]" or kind not in _WIDTHS:
        return None
    extra = st.integers(1, _WIDTHS[kind] - 1)
    whole_items = st.integers(0, 3).map(lambda n: b"\x07" * (n * _WIDTHS[kind]))
    return st.tuples(whole_items, extra).map(lambda two: two[0] + b"\x01" * two[1])


def _nested(slot: Slot) -> Bad | None:
    """Headers that claim more or less than there is."""
    kind, _, rest = slot.type.partition("[")
    if rest != "][]" or kind not in _WIDTHS:
        return None
    bends = st.sampled_from(_BENDS)
    width = _WIDTHS[kind]
    return st.tuples(_built(slot), bends).map(lambda two: two[1](two[0], width))


def _built(slot: Slot) -> Bad:
    """A frame with bytes in it."""
    return filled(slot).map(lambda value: build(slot_construct(slot), value))


def _more(raw: bytes, _: int) -> bytes:
    return raw + b"\x00"


def _less(raw: bytes, width: int) -> bytes:
    """One item beyond the last component that the header tells of."""
    return raw + b"\x00" * width


def _odd_size(raw: bytes, _: int) -> bytes:
    size = struct.unpack_from("<I", raw, 4)[0]
    return raw[:4] + struct.pack("<I", size + 1) + raw[8:] + b"\x00"


def _overlong(raw: bytes, width: int) -> bytes:
    size = struct.unpack_from("<I", raw, 4)[0]
    return raw[:4] + struct.pack("<I", size + width) + raw[8:]


def _huge(raw: bytes, _: int) -> bytes:
    return struct.pack("<I", 2**32 - 1) + raw[4:]


def _cut(raw: bytes, _: int) -> bytes:
    return raw[:-1]


def _short(raw: bytes, _: int) -> bytes:
    return raw[:3]


def _none(_raw: bytes, _: int) -> bytes:
    """A header of no components: that is said by the empty frame."""
    return struct.pack("<I", 0)


def _msgpack(slot: Slot) -> Bad | None:
    if slot.type not in _MSGPACK:
        return None
    bends: tuple[Callable[[bytes], bytes], ...] = (lambda raw: raw + b"\x00", lambda raw: raw[:-1])
    bent = st.tuples(_built(slot), st.sampled_from(bends)).map(lambda two: two[1](two[0]))
    return st.one_of(st.sampled_from(_MSGPACK[slot.type]), bent)


_NESTED: Final[tuple[list[Any], ...]] = ([[7]], [[1, 2], [3]], [[]])
_BENDS: Final = (_more, _less, _odd_size, _overlong, _huge, _cut, _short, _none)


def listed_bad_values(slot: Slot, *, ruled: bool = False) -> dict[str, list[bytes]]:
    """The same kinds of fault without drawing: a few dozen spellings of each, always the same."""
    found = {
        "range": _outside(slot),
        "text": list(_TEXTS.get(slot.type, ())) if slot.type != "flag" else [],
        "empty": [] if ruled or _empty(slot) is None else [b""],
        "msgpack": list(_MSGPACK.get(slot.type, ())),
        "width": [],
        "nested": [],
        "spelling": list(_TEXTS["flag"]) if slot.type == "flag" else [],
    }
    if slot.type == "dec":
        edges = {slot.min or 0, max(slot.min or 0, 7), slot.max or 0}
        forms = [form for form in _SPELLINGS if "{}" in form]
        found["spelling"] = [form.format(n).encode() for form in forms for n in sorted(edges)]
    width = _WIDTHS.get(slot.type.split("[", maxsplit=1)[0], 0)
    if _width(slot) is not None:
        whole = slot.type.endswith("[]")
        wrong = [n for n in range(1, 2 * width + 2) if (n % width if whole else n != width)]
        found["width"] = [b"\x01" * n for n in wrong]
    if _nested(slot) is not None:
        good = [build(slot_construct(slot), value) for value in _NESTED]
        found["nested"] = [bend(raw, width) for raw in good for bend in _BENDS]
    return {label: bad for label, bad in found.items() if bad}
