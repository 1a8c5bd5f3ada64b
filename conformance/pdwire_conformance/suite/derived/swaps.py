"""Neighbouring frames that changed places.

Rules: only swaps that the strict reading refuses are cases. Two frames of one type cannot
be told apart by their bytes; that a decoder reads them in order is seen by their values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pdwire_conformance.suite.case import Case, Refuse

from .subject import Subject

__all__ = ["RULES"]

Json = dict[str, Any]


def neighbours(at: Subject) -> Iterator[Case]:
    """Each frame in the place of the next."""
    for one, two in zip(at.layout["frames"], at.layout["frames"][1:], strict=False):
        here, there = one["position"], two["position"]
        frames = list(at.bench.filled)
        a, b = here + at.bench.shift, there + at.bench.shift
        frames[a], frames[b] = frames[b], frames[a]
        sent = tuple(frames)
        if at.bench.read(sent) is not None:
            continue
        yield at.refuse(
            f"frame-{here}-and-{there}-swapped",
            sent,
            purpose=f"{at.spoken} with frames {here} ({one['name']}) and {there} ({two['name']}) "
            "in each other's place.",
            why="A decoder that is off by one frame reads every frame behind it as another; "
            "bytes that are no value of their place give it away.",
            expect=Refuse(kinds=("unknown-message", "frame-value", "invariant")),
            clauses=(at.clause(f"frame-{here}"), at.clause(f"frame-{there}")),
        )


RULES: Final = (neighbours,)
