"""The wrong-peer matrix: every layout's decoder given the messages of others.

Rules:

* What is given to a decoder: every other layout of the message, the newest layout of
  every other message of any backend, and every layout of those that has a frame count of
  the decoder's own, for those are the dangerous ones.
* The strict reading decides: what it refuses is a case. What it accepts with the values
  that were sent is no fault of anybody, and what it accepts with other values cannot be
  told from the bytes: those are the ambiguous ones of :mod:`.recognising`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pdwire_conformance.suite.case import Case, Refuse

from .bench import Bench
from .subject import Subject

__all__ = ["RULES"]

Json = dict[str, Any]


def strangers(at: Subject) -> Iterator[Case]:
    """Every message that this decoder must not take for its own."""
    for other in at.shelf.travelling(at.message["transport"]):
        if other.clause == at.bench.clause:
            continue
        same = other.key == at.bench.key
        newest = other.layout is other.message["layouts"][-1]
        if same or newest or _counted_alike(at.bench, other):
            yield from _given(at, other, same=same)


def _counted_alike(mine: Bench, other: Bench) -> bool:
    return mine.message["transport"] == "zmq" and _fits(mine, other)


def _fits(mine: Bench, other: Bench) -> bool:
    """Whether the other's frames, guard and all, have a number that this layout reads."""
    return len(other.frames) - mine.shift in mine.layout["counts"]


def _given(at: Subject, other: Bench, *, same: bool) -> Iterator[Case]:
    if _fits(at.bench, other) and at.bench.read(other.frames) is not None:
        return
    name, layout = other.message["name"], other.layout["id"]
    speakers: Json = other.layout["speakers"]
    backend, releases = next(iter(speakers.items()))
    whose = "the same message" if same else f"{backend}'s {name}"
    span = releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"
    clauses = (at.clause("count"),) if at.message["transport"] == "zmq" else ()
    yield at.refuse(
        f"layout-{layout}" if same else f"peer-{other.message['group']}-{name}-{layout}",
        other.frames,
        purpose=f"The decoder of {at.spoken} is given {whose} as {span} sends it "
        f"(layout {layout}, {len(other.frames)} "
        f"{'frame' if len(other.frames) == 1 else 'frames'}).",
        why="It is a valid message of another layout: read as this one, its frames would stand "
        "for other fields.",
        expect=Refuse(),
        clauses=(*clauses, *((at.recognise,) if at.message["recognise"] else _own(at))),
    )


def _own(at: Subject) -> tuple[str, ...]:
    if at.layout["text"]:
        return (at.clause("text"),)
    return tuple(at.clause(f"key-{key['key']}") for key in at.layout["keys"] if not key["optional"])


RULES: Final = (strangers,)
