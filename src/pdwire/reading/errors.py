"""What a reading says when bytes or values are not what the spec allows.

Rules: nothing else is ever raised for bad input; every text is shortened, so an error
never grows with what arrived.

    Refused        one frame, one key, one value: what was expected, what came
    ReadingError   the same with its place: message, layout, position, field
"""

from __future__ import annotations

from typing import Literal

Kind = Literal["guard", "count", "value", "length", "invariant", "lossy", "unknown"]
"""``lossy`` only when encoding; ``unknown``: no such message, layout or field."""

_TEXT_SHOWN = 40
_BYTES_SHOWN = 16


def shorten(raw: bytes) -> str:
    """``raw`` in at most some 70 characters: quoted when printable, else hex with its size."""
    if raw and all(0x20 <= byte <= 0x7E for byte in raw[: _TEXT_SHOWN + 1]):
        text = raw[:_TEXT_SHOWN].decode("ascii")
        return f'"{text}"' if len(raw) <= _TEXT_SHOWN else f'"{text}…" ({len(raw)} bytes)'
    if not raw:
        return "an empty frame"
    shown = raw[:_BYTES_SHOWN].hex(" ", 4)
    tail = "…" if len(raw) > _BYTES_SHOWN else ""
    return f"{shown}{tail} ({len(raw)} byte{'s' if len(raw) != 1 else ''})"


def shorten_value(value: object) -> str:
    """Any value in at most some 50 characters."""
    if isinstance(value, bytes | bytearray | memoryview):
        return shorten(bytes(value[: _TEXT_SHOWN + 1]))
    if isinstance(value, list | tuple):
        first = ", ".join(shorten_value(item) for item in value[:3])
        return f"[{first}{', …' if len(value) > 3 else ''}] ({len(value)})"[: _TEXT_SHOWN * 2]
    if isinstance(value, int) and abs(value) >= 10**_TEXT_SHOWN:
        return "a huge integer"
    text = repr(value)
    return text if len(text) <= _TEXT_SHOWN else f"{text[:_TEXT_SHOWN]}…"


class Refused(Exception):
    """Bytes or a value that a type does not allow; ``came`` is ``None`` for "what was given"."""

    def __init__(self, expected: str, came: str | None = None) -> None:
        super().__init__(expected, came)
        self.expected = expected
        self.came = came


class ReadingError(ValueError):
    """The place and the reason; ``position`` is ``None`` where no single frame is at fault."""

    def __init__(
        self,
        *,
        kind: Kind,
        message: str,
        layout: str,
        position: int | None,
        field: str | None,
        expected: str,
        came: str,
    ) -> None:
        self.kind = kind
        self.message = message
        self.layout = layout
        self.position = position
        self.field = field
        self.expected = expected
        self.came = came
        super().__init__(str(self))

    def __str__(self) -> str:
        place = [f"{self.message} {self.layout}".strip()]
        if self.position is not None:
            place.append(f"frame {self.position}")
        if self.field is not None:
            place.append(self.field)
        return f"{', '.join(place)}: expected {self.expected}, came {self.came}"
