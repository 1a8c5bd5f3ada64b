"""Which messages and layouts frames fit, best first.

Rules: exact fits come first, then those with the least wrong. The guard, the tag and the
frame count weigh most, because they are what tells messages apart. Layouts whose guard,
tag and count rule them out are not read further while others are left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pdwire.reading.bodies import parse_body
from pdwire.reading.errors import Refused
from pdwire.reading.frames import GUARD_ENDING
from pdwire.reading.interpret import Reading
from pdwire.reading.result import Annotation
from pdwire.reading.spec import Layout, Message, Spec
from pdwire.reading.texts import split
from pdwire.reading.types import same

_GUARD, _NO_GUARD, _TAG = 60, 30, 60
_COUNT, _PER_FRAME = 25, 5
_FRAME = 10
_UNLIKE = 60
"""From here on frames are more unlike a message than like it."""

_READ_AT_LEAST = 8
_DECIMAL = re.compile(rb"-?[0-9]+")

Candidate = tuple[Message, Layout]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Frames as one layout reads them, and how much is wrong (0: nothing)."""

    annotation: Annotation
    penalty: int

    @property
    def message(self) -> Message:
        """The message that was tried."""
        return self.annotation.message

    @property
    def layout(self) -> Layout:
        """The layout that was tried."""
        return self.annotation.layout

    @property
    def exact(self) -> bool:
        """Whether the layout accepts the frames."""
        return self.annotation.exact

    @property
    def plausible(self) -> bool:
        """Whether the frames are more like this message than not."""
        return self.penalty < _UNLIKE


def candidates(
    spec: Spec,
    *,
    backend: str | None = None,
    message: str | None = None,
    release: str | None = None,
    layout: str | None = None,
) -> list[Candidate]:
    """The layouts that are left by what is already known about the frames."""
    return [
        (each, one)
        for each in (spec.messages if message is None else spec.find(message))
        for one in each.layouts
        if (layout is None or one.id == layout) and _speaks(one, backend, release)
    ]


def _speaks(layout: Layout, backend: str | None, release: str | None) -> bool:
    return any(
        (backend is None or name == backend) and (release is None or release in releases)
        for name, releases in layout.speakers.items()
    )


def rank(reading: Reading, frames: Sequence[bytes], among: Iterable[Candidate]) -> list[Fit]:
    """Every layout worth naming, best first; of equals, the newest."""
    glances = sorted(
        ((_glance(message, layout, frames), message, layout) for message, layout in among),
        key=lambda glance: glance[0],
    )
    worth = [each for each in glances if each[0] == 0]
    if len(worth) < _READ_AT_LEAST:
        worth = glances[:_READ_AT_LEAST]
    fits = [_fit(reading, penalty, message, layout, frames) for penalty, message, layout in worth]
    newest = {release: place for place, release in enumerate(reading.spec.releases)}
    return sorted(fits, key=lambda fit: (fit.penalty, -_age(fit.layout, newest)))


def _age(layout: Layout, newest: dict[str, int]) -> int:
    return max(
        (newest.get(each, -1) for told in layout.speakers.values() for each in told), default=-1
    )


def _fit(
    reading: Reading, glance: int, message: Message, layout: Layout, frames: Sequence[bytes]
) -> Fit:
    annotation = reading.annotate(message, layout.id, frames)
    told = {"guard", "count"}
    others = [fault for fault in annotation.faults if fault.kind not in told]
    if _tag_missed(message, frames):
        others = [fault for fault in others if fault.position != 0]
    penalty = 0 if annotation.exact else max(1, glance + _FRAME * len(others))
    return Fit(annotation=annotation, penalty=penalty)


def _glance(message: Message, layout: Layout, frames: Sequence[bytes]) -> int:
    """What guard, tag and count alone say against a layout."""
    if message.transport != "zmq":
        return _COUNT + _TAG if len(frames) != 1 else _unlike(message, layout, frames[0])
    body, penalty = _behind_guard(message, frames)
    if _tag_missed(message, frames):
        penalty += _TAG
    if len(body) not in layout.counts:
        away = min(abs(len(body) - count) for count in layout.counts)
        penalty += _COUNT + _PER_FRAME * min(away, 20)
    return penalty


def _behind_guard(message: Message, frames: Sequence[bytes]) -> tuple[Sequence[bytes], int]:
    guarded = bool(frames) and frames[0].endswith(GUARD_ENDING)
    if message.guard is None:
        return frames, 0
    if guarded:
        return frames[1:], 0 if frames[0] == message.guard.encode("ascii") else _GUARD
    return frames, _NO_GUARD


def _tag_missed(message: Message, frames: Sequence[bytes]) -> bool:
    """Whether the frame that the message is known by says something else."""
    told = message.recognise or {}
    body, _ = _behind_guard(message, frames)
    frame = body[told.get("frame", 0)] if len(body) > told.get("frame", 0) else b""
    if "equals" in told:
        tag: bytes = told["equals"].encode("utf-8")
        return frame != tag
    return told.get("is") == "decimal" and _DECIMAL.fullmatch(frame) is None


def _unlike(message: Message, layout: Layout, raw: bytes) -> int:
    try:
        if message.transport == "http":
            parse_body(message, raw)
        else:
            split(message, layout, raw)
    except Refused:
        return _TAG
    return 0


def families(fits: Iterable[Fit]) -> list[list[Fit]]:
    """Exact fits, those together that are one message and read the same values."""
    found: list[list[Fit]] = []
    for fit in fits:
        if not fit.exact:
            continue
        home = next((family for family in found if _alike(family[0], fit)), None)
        if home is None:
            found.append([fit])
        else:
            home.append(fit)
    return found


def _alike(one: Fit, other: Fit) -> bool:
    return one.message.key == other.message.key and not differing(one, other)


def differing(one: Fit, other: Fit) -> list[str]:
    """The fields that two layouts of one message read differently."""
    mine, theirs = one.annotation.values, other.annotation.values
    return [name for name in mine if name not in theirs or not same(mine[name], theirs[name])]
