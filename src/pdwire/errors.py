"""Everything that a codec can raise, one rooted tree.

::

    WireError
    ├── UnknownMessageError      no layout recognises these frames
    ├── FrameCountError          a known message with a count no layout allows
    ├── FrameValueError          one frame's bytes are not a value of its field
    ├── InvariantError           frames that are each valid contradict each other
    └── LossyEncodeError         this layout cannot carry this value

Every error carries its place as attributes, so that a loop can count by kind without
parsing text, and says in its text what was expected, what came and, where one is likely,
the cause. ``UnknownLayoutError`` is not a ``WireError``: it is a caller's mistake (a
release or message that does not exist), never something a peer can provoke.
"""

from __future__ import annotations

import reprlib
from typing import Final

__all__ = [
    "AmbiguousMessageError",
    "FrameCountError",
    "FrameValueError",
    "InvariantError",
    "LossyEncodeError",
    "UnknownLayoutError",
    "UnknownMessageError",
    "WireError",
    "shorten",
]

_SHOWN: Final = 32
_LONGEST: Final = 2 * _SHOWN

# What came may be nested deeper or be a longer number than ``repr`` allows, and an error must
# not cost more than a glance at it.
_REPR: Final = reprlib.Repr()
_REPR.maxstring = _REPR.maxlong = _REPR.maxother = _LONGEST


def shorten(came: object) -> str:
    """What came, in at most one short line: bytes as a literal with their length."""
    if isinstance(came, bytes | bytearray | memoryview):
        size = came.nbytes if isinstance(came, memoryview) else len(came)
        head = bytes(came[:_SHOWN]) if not isinstance(came, memoryview) else _head(came)
        dots = "…" if size > _SHOWN else ""
        return f"{head!r}{dots} ({size} byte{'' if size == 1 else 's'})"
    text = _shown(came)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _shown(came: object) -> str:
    try:
        return _REPR.repr(came).replace("\n", " ")
    except ValueError:  # an integer of thousands of digits
        return f"a very long {type(came).__name__}"


def _head(view: memoryview) -> bytes:
    return bytes(view.cast("B")[:_SHOWN]) if view.contiguous else view.tobytes()[:_SHOWN]


class WireError(Exception):
    """Frames that are not a message, or a message that frames cannot carry.

    Attributes:
        message: backend and message, ``"mooncake TransferInfo"``; empty if not known.
        layout: layout id, ``"r8"``; empty if not known.
        frame: position in the layout, guard not counted; ``None`` if no single one.
        field: the frame's name; empty if no single one.
        expected: what the layout allows.
        came: what came instead, shortened.
        hint: a likely cause or what to do; empty if none is likely.
    """

    def __init__(
        self,
        expected: str,
        came: str,
        *,
        message: str = "",
        layout: str = "",
        frame: int | None = None,
        field: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(expected, came)
        self.expected = expected
        self.came = came
        self.message = message
        self.layout = layout
        self.frame = frame
        self.field = field
        self.hint = hint

    def __str__(self) -> str:
        place = " ".join(part for part in (self.message, self.layout) if part)
        if self.frame is not None:
            place += f" frame {self.frame}"
        if self.field:
            place += f" {self.field}"
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place or 'frames'}: expected {self.expected}, got {self.came}{hint}"


class UnknownMessageError(WireError):
    """No layout recognises these frames."""


class AmbiguousMessageError(UnknownMessageError):
    """Several layouts read these frames differently and no byte tells which it is."""


class FrameCountError(WireError):
    """A known message with a frame count that no layout, or not this one, allows."""


class FrameValueError(WireError):
    """One frame's bytes are not a value of its field."""


class InvariantError(WireError):
    """Frames that are each valid contradict each other."""


class LossyEncodeError(WireError):
    """This layout cannot carry this value."""


class UnknownLayoutError(LookupError):
    """No such backend, message, release or revision; the text names those that exist."""
