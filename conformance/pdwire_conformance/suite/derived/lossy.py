"""Values that a layout cannot carry: refused by the encoder, never dropped or bent.

Rules: what is lost on the way is lost silently unless the encoder says so. Fields that
the spec marks ignorable are the exception, and are cases of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pdwire_conformance.suite.case import Case, Refuse

from .good import lacking
from .prose import about, doc_of, shown
from .subject import Subject
from .values import INTEGERS, plain_value

__all__ = ["RULES"]

Json = dict[str, Any]
_LOSSY: Final = ("lossy-encode",)


def ranges(at: Subject) -> Iterator[Case]:
    """Numbers out of range, to be sent."""
    for name, slot in at.bench.slots.items():
        if slot["type"] not in INTEGERS or "position" not in slot:
            continue
        yield at.encode(
            f"frame-{slot['position']}-above-encode",
            at.bench.values | {name: int(slot["max"]) + 1},
            Refuse(kinds=("lossy-encode", "invariant")),
            purpose=f"{about(slot)} The value to send is one above the greatest.",
            expectation="Refused: the frame cannot say it, and a smaller number is another one.",
            clauses=(at.clause(f"frame-{slot['position']}"),),
        )


def missing(at: Subject) -> Iterator[Case]:
    """Fields of the message that the layout has no place for, with a value all the same."""
    fields = {field["name"]: field for field in at.message["fields"]}
    for name in lacking(at.bench):
        field = fields[name]
        value = _other(field, at.bench.values[name])
        if value == at.bench.values[name]:
            continue  # there is no other
        values = at.bench.values | {name: value}
        if field["ignorable"]:
            yield at.encode(
                f"without-{name}",
                values,
                at.bench.frames,
                purpose=f"Field {name}: {doc_of(field)} This layout has no place for it; the "
                f"value to send is {shown(value)}.",
                expectation="Sent without it: the spec marks the field as one that may be lost.",
                clauses=(at.clause(f"field-{name}/absent"),),
            )
            continue
        yield at.encode(
            f"without-{name}",
            values,
            Refuse(kinds=_LOSSY, field=name),
            purpose=f"Field {name}: {doc_of(field)} This layout has no place for it; the "
            f"value to send is {shown(value)}, not what its lack means.",
            expectation="Refused: the reader would take it for "
            f"{shown(at.bench.values[name])} without a word.",
            clauses=(at.clause(f"field-{name}/absent"),),
        )


def _other(field: Json, usual: object) -> object:
    """A value of the field that its lack does not mean."""
    slot = {**field, "value_type": field["type"]}
    for place in (0, 1, 2):
        value = plain_value(slot, place)
        if value != usual:
            return value
    return field["allowed"][-1] if field["allowed"] else usual


def nests(at: Subject) -> Iterator[Case]:
    """Two lists where the layout's frame has room for one."""
    for name, slot in at.bench.slots.items():
        if not slot["value_type"].endswith("[][]") or slot["type"].endswith("[][]"):
            continue
        one = at.bench.values[name][0]
        yield at.encode(
            f"frame-{slot['position']}-two-lists-encode",
            at.bench.values | {name: [one, one]},
            Refuse(kinds=_LOSSY, frame=slot["position"], field=name),
            purpose=f"{about(slot)} In this layout the frame is one list; the value to send has "
            "two.",
            expectation="Refused: one behind the other they would arrive as a single list.",
            clauses=(at.clause(f"frame-{slot['position']}"),),
        )


RULES: Final = (ranges, missing, nests)
