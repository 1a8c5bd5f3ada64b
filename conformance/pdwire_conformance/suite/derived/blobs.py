"""Opaque bytes, and the msgpack lists that Mori describes memory with.

Rules: opaque bytes are kept whatever they are. Of msgpack only arrays, byte strings and,
where it is allowed, nil are understood; whatever a header announces is held against what
came, and a header is the shortest that does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pdwire_conformance.suite.case import Case, Level

from .prose import about
from .subject import Subject, refused

__all__ = ["RULES"]

Json = dict[str, Any]
Lies = dict[str, tuple[bytes, str]]


def opaque(at: Subject) -> Iterator[Case]:
    """Bytes that look like something are bytes all the same."""
    for name, slot in at.bench.slots.items():
        if slot["type"] != "bytes":
            continue
        for tag, raw, words in (
            ("pickle-head", b"\x80\x05K\x07.", "it begins 80 05, as a pickle does"),
            ("not-ascii", b"\xff\xfe\x00", "it is no text"),
            ("blank", b"", "it has no bytes"),
        ):
            made = at.bench.given({name: {"hex": raw.hex()}})
            if made is not None:
                yield at.accept(
                    f"frame-{slot['position']}-{tag}",
                    made[1],
                    made[0],
                    purpose=f"{about(slot)} Here {words}.",
                    expectation="Kept as it came: nobody looks into it, and nothing is unpickled.",
                    clauses=(at.clause(f"frame-{slot['position']}"),),
                )


def msgpack(at: Subject) -> Iterator[Case]:
    """Lists of byte strings that are none, or announce what is not there."""
    for slot in at.bench.slots.values():
        if not slot["type"].startswith("bin"):
            continue
        raw = at.bench.body[slot["position"]]
        deep = slot["type"].endswith("[][]")
        for tag, (sent, words) in (_common(raw) | _shaped(slot["type"], deep=deep)).items():
            spelled = tag in _SPELLED
            yield at.refuse(
                f"frame-{slot['position']}-{tag}",
                at.bench.put(slot["position"], sent),
                level=Level.SHOULD if spelled else Level.MUST,
                purpose=f"{about(slot)} Here {words}.",
                why="The same list has a shorter spelling, and that is the only one."
                if spelled
                else "It is not that list: reading on would take other bytes for a memory "
                "description, or reserve memory that nothing fills.",
                expect=refused(slot),
                clauses=(at.clause(f"frame-{slot['position']}"),),
            )


_SPELLED: Final = frozenset({"empty-array", "long-bin", "long-array"})


def _common(raw: bytes) -> Lies:
    return {
        "array-huge": (b"\xdd\xff\xff\xff\xff", "4,294,967,295 elements are announced in 5 bytes"),
        "array-16-huge": (b"\xdc\xff\xff" + raw[1:], "65,535 elements are announced"),
        "cut": (raw[:-1], "the last byte is missing"),
        "trailing": (raw + b"\x00", "a byte follows the list"),
        "twice": (raw + raw, "the list is there twice"),
        "map": (b"\x81\xa1a\x01", "it is a map"),
        "nil": (b"\xc0", "it is nil"),
        "deep": (b"\x91" * 5000, "5,000 arrays stand in each other"),
        "pickle": (b"\x80\x05K\x07.", "it begins as a pickle does"),
        "plain-bin": (b"\xc4\x01a", "a byte string stands alone, in no list"),
        "empty-array": (b"\x90", "an array without elements stands for the empty frame"),
    }


def _shaped(kind: str, *, deep: bool) -> Lies:
    outer = b"\x91\x91" if deep else b"\x91"
    found = {
        "bin-huge": (outer + b"\xc6\xff\xff\xff\xff", "a string of 4 GiB is announced"),
        "bin-cut": (outer + b"\xc4\x05abc", "a string of 5 bytes is announced and 3 came"),
        "str": (outer + b"\xa1a", "an element is text, not bytes"),
        "int": (outer + b"\x07", "an element is a number"),
        "ext": (outer + b"\xd4\x01\x00", "an element is an extension"),
        "long-bin": (outer + b"\xc5\x00\x01a", "a string's header is longer than it has to be"),
    }
    single = b"\xc4\x01a"
    if deep:
        found["flat"] = (b"\x91" + single, "the strings stand in one list instead of lists")
        found["long-array"] = (
            b"\xdc\x00\x01\x91" + single,
            "the array's header is longer than it has to be",
        )
    else:
        found["nested"] = (b"\x91\x91" + single, "the strings stand in a list of lists")
        found["long-array"] = (
            b"\xdc\x00\x01" + single,
            "the array's header is longer than it has to be",
        )
    if "?" not in kind:
        found["element-nil"] = (outer + b"\xc0", "an element is nil")
    return found


RULES: Final = (opaque, msgpack)
