"""Numbers that are none, or that are spelled or sized otherwise than the wire has them.

Rules:

* One number has one spelling. A spelling that every reader takes for the same number, if
  it takes it at all (`` 7 ``, ``+5``, ``007``, ``-0``), is refused as a SHOULD: nothing is
  misread, but the bytes do not come back the same. One that readers differ about
  (``1_000``, ``1e3``, ``0x10``, full-width digits) is a MUST: to one of them it is another
  number.
* A number out of range is a MUST: it indexes, allocates or addresses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pdwire_conformance.suite.case import Case, Level

from .prose import about, bytes_of
from .subject import Subject, refused

__all__ = ["RULES", "bad_decimals"]

Json = dict[str, Any]
_WIDTHS: Final = {"u32": 4, "u64": 8, "u32be": 4}

Spelled = tuple[str, bytes, Level, str]


def bad_decimals(slot: Json) -> Iterator[Spelled]:
    """Name, bytes, level and reason of everything that is not a decimal of this range."""
    for name, raw in _SAME.items():
        yield name, raw, Level.SHOULD, "It is a number, but not the one spelling that it has."
    for name, raw in _OTHER.items():
        yield name, raw, Level.MUST, "Some readers take it for one number, some for another."
    for name, raw in _NONE.items():
        yield name, raw, Level.MUST, "It is no number at all."
    low, high = int(slot["min"]), int(slot["max"])
    yield "below", str(low - 1).encode(), Level.MUST, f"The least value is {low}."
    yield "above", str(high + 1).encode(), Level.MUST, f"The greatest value is {high}."
    yield (
        "huge",
        b"9" * 4000,
        Level.MUST,
        (
            "4,000 digits are refused in no time: turning them into a number first is slow, and "
            "some languages stop at it."
        ),
    )


_SAME: Final = {
    "spaces": b" 7 ",
    "newline": b"7\n",
    "plus": b"+5",
    "minus-zero": b"-0",
    "zeros": b"007",
}
_OTHER: Final = {
    "underscore": b"1_000",
    "full-width": "７".encode(),  # noqa: RUF001 - the full-width digit is the point
    "exponent": b"1e3",
    "hex": b"0x10",
}
_NONE: Final = {
    "text-none": b"None",
    "not-ascii": b"\xff\xfe",
    "pickle": b"\x80\x05K\x07.",
    "nul": b"7\x00",
}


def decimals(at: Subject) -> Iterator[Case]:
    """Every bad decimal in every frame that holds one."""
    for slot in at.bench.slots.values():
        if slot["type"] != "dec" or "position" not in slot:
            continue
        for name, raw, level, why in _with_empty(slot, at):
            yield at.refuse(
                f"frame-{slot['position']}-{name}",
                at.bench.put(slot["position"], raw),
                level=level,
                purpose=f"{about(slot)} Here it is {bytes_of(raw)}.",
                why=why,
                expect=refused(slot),
                clauses=(at.clause(f"frame-{slot['position']}"),),
            )


def _with_empty(slot: Json, at: Subject) -> Iterator[Spelled]:
    for spelled in bad_decimals(slot):
        # Where the number tells the message, a tag of another one is not a bad number.
        if not (spelled[0] == "text-none" and slot["position"] == 0):
            yield spelled
    ruled = {rule["field"] for rule in at.layout["derivations"]}
    if "empty" not in slot and slot["field"] not in ruled:
        yield "empty", b"", Level.MUST, "An empty frame has no meaning here, and is not 0."


def widths(at: Subject) -> Iterator[Case]:
    """A number of fixed width in a frame of another."""
    for field, slot in at.bench.slots.items():
        width = _WIDTHS.get(slot["type"])
        if width is None or "position" not in slot:
            continue
        raw = at.bench.raw(field, at.bench.values[field], spelled=True)
        bad = {
            "short": raw[:-1],
            "long": raw + b"\x00",
            "double": raw + bytes(width),
            "text": b"7",
            "pickle": b"\x80\x05K\x07.",
        }
        if "empty" not in slot:
            bad["empty"] = b""
        for name, sent in bad.items():
            yield at.refuse(
                f"frame-{slot['position']}-{name}",
                at.bench.put(slot["position"], sent),
                purpose=f"{about(slot)} Here the frame has {len(sent)} bytes.",
                why=f"A frame that is not {width} bytes long is no such number; padding or "
                "cutting it makes another number, and memory is addressed with it.",
                expect=refused(slot),
                clauses=(at.clause(f"frame-{slot['position']}"),),
            )


RULES: Final = (decimals, widths)
