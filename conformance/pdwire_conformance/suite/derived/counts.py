"""How many frames a message has: each allowed number, and every other from none to one more.

Rules: positions never move, so a message that is cut is cut at its end. One frame too
many is an empty frame, the one that is easiest to overlook.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pdwire_conformance.suite.case import Case, Refuse

from .prose import shown
from .subject import Subject

__all__ = ["RULES"]

Json = dict[str, Any]


def allowed(at: Subject) -> Iterator[Case]:
    """A message of every frame count that the layout has, apart from the fullest."""
    for count in at.layout["counts"][:-1]:
        gone = [f for f in at.layout["frames"][count:] if "value" in f.get("absent", {})]
        lacks = {frame["field"]: frame["absent"]["value"] for frame in gone}
        made = at.bench.given(lacks)
        if made is None or len(made[1]) != count + at.bench.shift:
            continue
        names = " and ".join(lacks)
        clauses = (
            at.clause("count"),
            *(at.clause(f"field-{name}/absent") for name in lacks),
        )
        yield at.accept(
            f"count-{count}",
            made[1],
            made[0],
            purpose=f"{at.spoken} may end early: here it has {count} frames, without {names}.",
            expectation="Accepted; " + _meanings(lacks) + ".",
            clauses=clauses,
        )
        yield at.encode(
            f"count-{count}-encode",
            made[0],
            made[1],
            purpose=f"{at.spoken} whose last values are what missing frames mean: {names}.",
            expectation=f"{count} frames: what a missing frame says already is not sent.",
            clauses=clauses,
        )


def _meanings(lacks: dict[str, object]) -> str:
    return ", ".join(f"{name} is {shown(value)}" for name, value in lacks.items())


def ladder(at: Subject) -> Iterator[Case]:
    """Every frame count that is not allowed, from none to one more than the most."""
    body, counts = at.bench.body, at.layout["counts"]
    guard = at.bench.frames[: at.bench.shift]
    told = " or ".join(map(str, counts))
    for count in range(max(counts) + 2):
        if count in counts:
            continue
        frames = (*guard, *body[:count], *((b"",) if count > len(body) else ()))
        yield at.refuse(
            f"count-{count}",
            frames,
            purpose=f"{at.spoken} has {told} frames; here {_are(count)}"
            + (", the guard not counted." if guard else "."),
            why="Positions mean nothing in a message that was cut, glued or made for another "
            "release: whatever is read from it stands for something else.",
            expect=Refuse(kinds=_kinds(at, count)),
            clauses=(at.clause("count"),),
        )
    if guard:
        yield at.refuse(
            "no-frames",
            (),
            purpose=f"An empty multipart where {at.spoken} is expected: not even the guard.",
            why="There is nothing to read, and the loop that received it goes on.",
            expect=Refuse(kinds=("unknown-message", "frame-count")),
            clauses=(at.clause("count"), at.recognise),
        )


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count or 'none'}"


def _kinds(at: Subject, count: int) -> tuple[str, ...]:
    """Without the frame that tells the message, it is another one, or a short one."""
    if at.message["transport"] != "zmq":
        return ("frame-count", "frame-value")
    return ("frame-count",) if count else ("frame-count", "unknown-message")


RULES: Final = (allowed, ladder)
