"""Arrays whose bytes are no array: wrong widths, and headers of nested lists that lie.

Rules: a length that is no multiple of the width is refused, never cut down. A nested list
uses every byte of its frame and announces nothing that is not there; what it announces is
held against what came before anything is allocated.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import pack
from typing import Any, Final

from pdwire_conformance.suite.case import Case, Level

from .prose import about
from .subject import Subject, refused

__all__ = ["RULES"]

Json = dict[str, Any]
_WIDTHS: Final = {"i32[]": 4, "u32[]": 4, "u64[]": 8, "i32[][]": 4, "u32[][]": 4, "u64[][]": 8}
_HUGE: Final = 2**32 - 1


def _arrays(at: Subject, *, nested: bool) -> Iterator[tuple[str, Json, int]]:
    for name, slot in at.bench.slots.items():
        if slot["type"] in _WIDTHS and slot["type"].endswith("[][]") is nested:
            yield name, slot, _WIDTHS[slot["type"]]


def flat(at: Subject) -> Iterator[Case]:
    """A flat array with a piece of an element."""
    for name, slot, width in _arrays(at, nested=False):
        raw = at.bench.body[slot["position"]]
        bad = {"short": raw[:-1], "long": raw + b"\x00", "one-byte": b"\x07"}
        bad |= {"pickle": b"\x80\x05K\x07.", "text": b"4,5"}
        if width == 8:
            bad["half"] = raw + bytes(4)
        for tag, sent in bad.items():
            yield at.refuse(
                f"frame-{slot['position']}-{tag}",
                at.bench.put(slot["position"], sent),
                purpose=f"{about(slot)} Here it has {len(sent)} bytes, no multiple of {width}.",
                why="Cutting the rest off drops or shifts elements, and each of them says where "
                "memory is written.",
                expect=refused(slot),
                clauses=(at.clause(f"frame-{slot['position']}"),),
            )
        yield from _like_a_pickle(at, name, slot, width)


def _like_a_pickle(at: Subject, name: str, slot: Json, width: int) -> Iterator[Case]:
    """Elements whose first bytes are those of a pickle: numbers like any other."""
    number = int.from_bytes(b"\x80\x05K\x07.\x00\x00\x00"[:width], "little")
    made = at.bench.given({name: [[number]] if "[][]" in slot["value_type"] else [number]})
    if made is not None:
        yield at.accept(
            f"frame-{slot['position']}-pickle-head",
            made[1],
            made[0],
            purpose=f"{about(slot)} Here its first bytes are 80 05, as a pickle's would be.",
            expectation="Read as the number that it is; no frame is ever unpickled.",
            clauses=(at.clause(f"frame-{slot['position']}"),),
        )


def nested(at: Subject) -> Iterator[Case]:
    """A nested list that is cut, goes on, or announces what is not there."""
    for name, slot, width in _arrays(at, nested=True):
        raw = at.bench.body[slot["position"]]
        for tag, (sent, words) in _lies(raw, width).items():
            yield at.refuse(
                f"frame-{slot['position']}-{tag}",
                at.bench.put(slot["position"], sent),
                level=Level.SHOULD if tag == "count-zero" else Level.MUST,
                purpose=f"{about(slot)} Here {words}.",
                why="No lists at all have one spelling, the empty frame."
                if tag == "count-zero"
                else "What is announced is not what came: reading on would take other bytes, or "
                "reserve memory that nothing fills.",
                expect=refused(slot),
                clauses=(at.clause(f"frame-{slot['position']}"),),
            )
        yield from _shapes(at, name, slot)


def _lies(raw: bytes, width: int) -> dict[str, tuple[bytes, str]]:
    """Bytes of nested lists that are none; ``raw`` has two lists, of two elements and one."""
    most = pack("<I", _HUGE)
    odd = width + width // 2
    body = raw[12:]
    return {
        "cut-element": (raw[:-width], "the last element is missing"),
        "cut-byte": (raw[:-1], "the last byte is missing"),
        "cut-lists": (raw[: 12 + width], "only the first element of the first list came"),
        "cut-lengths": (raw[:8], "two lists are announced and one length follows"),
        "header-short": (raw[:3], "there are 3 bytes, not even a count"),
        "header-only": (raw[:4], "two lists are announced and nothing follows"),
        "trailing": (raw + bytes(4), "4 zero bytes follow the last list"),
        "trailing-byte": (raw + b"\x00", "one byte follows the last list"),
        "count-huge": (most + raw[4:], "4,294,967,295 lists are announced"),
        "count-huge-alone": (most, "4,294,967,295 lists are announced and nothing follows"),
        "count-more": (pack("<I", 3) + raw[4:], "three lists are announced and two came"),
        "count-less": (pack("<I", 1) + raw[4:], "one list is announced and two came"),
        "count-zero": (bytes(4), "no lists are announced, in four bytes"),
        "length-huge": (
            pack("<III", 2, _HUGE, width) + body,
            "the first list is announced with 4 GiB",
        ),
        "length-odd": (
            pack("<II", 1, odd) + bytes(odd),
            f"the one list has {odd} bytes, one and a half elements",
        ),
        "big-endian": (pack(">III", 2, 2 * width, width) + body, "count and lengths are reversed"),
        "flat": (body, "the elements came without count and lengths, as releases before had them"),
        "pickle": (b"\x80\x05K\x07.", "it begins as a pickle does"),
    }


def _shapes(at: Subject, name: str, slot: Json) -> Iterator[Case]:
    one, two = at.bench.values[name][0]
    for tag, value, words in (
        ("one-list", [[one, two]], "one list"),
        ("empty-list", [[]], "one list with nothing in it, which is not the same as no lists"),
        ("uneven", [[], [one, two, one], [two]], "three lists, the first of them empty"),
    ):
        made = at.bench.given({name: value})
        if made is not None:
            yield at.accept(
                f"frame-{slot['position']}-{tag}",
                made[1],
                made[0],
                purpose=f"{about(slot)} Here there is {words}.",
                expectation="Read list by list; empty ones keep their place.",
                clauses=(at.clause(f"frame-{slot['position']}"),),
            )


RULES: Final = (flat, nested)
