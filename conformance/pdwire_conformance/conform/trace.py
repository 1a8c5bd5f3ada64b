"""The wire as a report shows it: what was sent, what came, frame by frame with names.

Names come from the layout of the case's own release; a guard and a position that the layout
does not have are called so. Frames are hex, as they travelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from pdwire_conformance.proof.spec import layout_of
from pdwire_conformance.suite.case import Decode, Encode, Recognise
from pdwire_conformance.testees.protocol import Answer

from .events import TraceLine
from .judge import show
from .select import Item

__all__ = ["frame_names", "trace_of"]

_GUARD = "guard"
_BEYOND = "(not in the layout)"


def frame_names(backend: str, message: str, release: str, frames: Sequence[str]) -> tuple[str, ...]:
    """A name for each frame (hex) of a multipart; empty where no layout is known."""
    try:
        guard, names = _layout(backend, message, release)
    except KeyError:
        return ()
    told = list(names)
    if guard and frames and bytes.fromhex(frames[0]) == guard.encode():
        told.insert(0, _GUARD)
    return tuple(told[n] if n < len(told) else _BEYOND for n in range(len(frames)))


@cache
def _layout(backend: str, message: str, release: str) -> tuple[str, tuple[str, ...]]:
    told, layout = layout_of(backend, message, release)
    if not layout["frames"]:
        return "", (str(told.get("part") or told["transport"]),)
    return told["guard"] or "", tuple(frame["name"] for frame in layout["frames"])


def trace_of(
    item: Item, answer: Answer | None = None, *, at_s: float = 0.0
) -> tuple[TraceLine, ...]:
    """What a codec case sent and what came; without an answer, only what was sent."""
    came = () if answer is None else (_came(item, answer, at_s),)
    return (_sent(item), *came, *_wanted(item))


def _sent(item: Item) -> TraceLine:
    case, release = item.case, item.release
    match case.check:
        case Decode(frames=frames):
            return _line(item, "sent", f"decode {case.message}, {case.backend} {release}", frames)
        case Recognise(frames=frames, direction=direction):
            way = f", {direction}" if direction else ""
            return _line(item, "sent", f"recognise, {case.backend}{way}", frames)
        case Encode(values=values):
            text = f"encode {case.message}, {case.backend} {release}: {show(values)}"
            return TraceLine(way="sent", text=text)
    raise ValueError(f"{case.slug} is a live case: its script has a trace of its own")


def _came(item: Item, answer: Answer, at_s: float) -> TraceLine:
    if (frames := answer.get("frames")) is not None:
        octets = tuple(bytes.fromhex(str(frame)) for frame in frames)
        return _line(item, "came", f"{len(octets)} frames", octets, at_s)
    return TraceLine(way="came", text=show(answer), at_s=at_s)


def _wanted(item: Item) -> tuple[TraceLine, ...]:
    """The frames that encoding should have given: beside what came they tell most."""
    match item.case.check:
        case Encode(expect=tuple() as frames):
            return (_line(item, "note", "expected", frames),)
    return ()


def _line(item: Item, way: str, text: str, frames: Sequence[bytes], at_s: float = 0.0) -> TraceLine:
    told = tuple(frame.hex() for frame in frames)
    names = frame_names(item.case.backend, item.case.message, item.release, told)
    return TraceLine(way=way, text=text, frames=told, names=names, at_s=at_s)
