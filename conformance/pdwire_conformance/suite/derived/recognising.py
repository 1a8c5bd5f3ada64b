"""What a multipart is, when only the backend is known.

Rules: an answer is proved by the bytes. Layouts that read the same values are no
contradiction and are all named. Where two layouts read different values, saying so, or
refusing, is right; choosing is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import pack
from typing import Any, Final

from pdwire_conformance.suite.case import (
    Ambiguous,
    Case,
    Frames,
    Level,
    Recognise,
    Recognised,
    Refuse,
)

from .prose import bytes_of
from .subject import Subject
from .values import largest, smallest

__all__ = ["RULES"]

Json = dict[str, Any]


_STRANGE: Final = ("unknown-message", "frame-count", "frame-value")


def proved(at: Subject) -> Iterator[Case]:
    """Each good message of the layout, and what its bytes prove."""
    if at.message["recognise"] is None:
        return
    for name, frames in _messages(at):
        yield from _recognised(at, f"recognise-{name}", frames)
    yield from _recognised(
        at, "recognise-direction", at.bench.frames, direction=at.message["directions"][0]
    )


def _messages(at: Subject) -> Iterator[tuple[str, Frames]]:
    yield "plain", at.bench.frames
    for name, make in (("smallest", smallest), ("largest", largest)):
        values = make(at.message, at.layout)
        made = at.bench.written(values) if values is not None else None
        if made is not None:
            yield name, made[1]


def _recognised(at: Subject, what: str, frames: Frames, *, direction: str = "") -> Iterator[Case]:
    fits = at.shelf.readers(at.backend, frames, direction)
    names = {bench.key for bench, _ in fits}
    alike = len(names) == 1 and all(values == fits[0][1] for _, values in fits)
    layouts = tuple(bench.layout["id"] for bench, _ in fits)
    told = " and ".join(f"{bench.message['name']} {bench.layout['id']}" for bench, _ in fits)
    way = f" on the way {direction}" if direction else ""
    yield at.case(
        what,
        level=Level.MUST,
        purpose=f"What a socket of {at.backend} gets{way}, knowing nothing else of the peer: "
        f"{at.spoken}, "
        f"{len(frames)} frames.",
        expectation=f"Recognised as {at.message['name']}: the layouts that its bytes fit are "
        f"{', '.join(layouts)}, and they read the same."
        if alike
        else f"Said to be ambiguous, or refused: {told} all fit and read different values.",
        check=Recognise(
            frames=frames,
            expect=Recognised(message=at.message["name"], layouts=layouts)
            if alike
            else Ambiguous(),
            direction=direction,
        ),
        clauses=(at.recognise,),
    )


def flattened(at: Subject) -> Iterator[Case]:
    """A flat list that also reads as a nested one: releases differ about such a frame."""
    for name, slot in at.bench.slots.items():
        flat = slot["value_type"].endswith("[][]") and not slot["type"].endswith("[][]")
        if not flat or at.message["transport"] != "zmq" or slot["type"].startswith("bin"):
            continue
        width = 8 if slot["type"].startswith("u64") else 4
        for tag, items in (("zero", [0]), ("header", _header(width)), ("lie", [1, 0, 9])):
            made = at.bench.given({name: [items]})
            if made is not None:
                yield from _recognised(at, f"recognise-{name}-{tag}", made[1])


def _header(width: int) -> list[int]:
    """A flat list whose bytes are one list of one element."""
    raw = pack("<II", 1, width) + bytes([9]).ljust(width, b"\x00")
    return [int.from_bytes(raw[n : n + width], "little") for n in range(0, len(raw), width)]


def unknown(at: Subject) -> Iterator[Case]:
    """Frames that no layout of the backend begins like, once per message."""
    if at.message["recognise"] is None or at.layout is not at.message["layouts"][-1]:
        return
    guard = at.bench.frames[: at.bench.shift]
    rest = at.bench.body[1:]
    for tag, frames in {
        "unknown-tag": (*guard, b"NO_SUCH_TAG", *rest),
        "empty-first": (*guard, b"", *rest),
        "pickle-first": (*guard, b"\x80\x05K\x07.", *rest),
        "not-ascii-first": (*guard, b"\xff\xfe", *rest),
    }.items():
        if at.shelf.readers(at.backend, frames):
            continue
        yield at.case(
            f"recognise-{tag}",
            level=Level.MUST,
            purpose=f"The frames of {at.spoken}, with something else where the message "
            f"says what it is: {bytes_of(frames[len(guard)])}.",
            expectation="Refused: no message begins like this, and none is guessed.",
            check=Recognise(frames=frames, expect=Refuse(kinds=_STRANGE)),
            clauses=(at.recognise,),
        )


RULES: Final = (proved, flattened, unknown)
