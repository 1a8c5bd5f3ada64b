"""Text of a peer, made fit to be shown.

Rules:

* What a testee said is data. Control characters, direction marks and lone surrogates are
  written as escapes, so that no text moves a cursor, breaks XML or hides what follows.
* Nothing is cut without saying so: ``…`` where text ends, the length where bytes end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

__all__ = ["KEPT", "cut", "cut_hex", "frame_text", "kind_of", "printable"]

KEPT: Final = "\n\t"
_NUMBER: Final = re.compile(r"\b(?:0x)?[0-9a-f]*\d[0-9a-f]*\b", re.IGNORECASE)


def printable(text: str, kept: str = "") -> str:
    r"""``text`` with everything that does not print as an escape: ``\x1b``, ``\u202e``.

    ``kept`` are characters that stay as they are, for instance :data:`KEPT`.
    """
    if text.isprintable():
        return text
    if kept:
        return re.sub(f"[^{re.escape(kept)}]+", lambda found: printable(found[0]), text)
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else repr(char)


def cut(text: str, width: int) -> str:
    """One line of at most ``width`` characters."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= width else line[: max(width - 1, 0)] + "…"


def cut_hex(frame: str, most: int) -> str:
    """A frame's hex, at most ``most`` bytes of it; a longer one ends in its length."""
    size = len(frame) // 2
    return frame if size <= most else f"{frame[: 2 * most]}… ({size:,} bytes)"


def frame_text(frame: str) -> str:
    """A frame as text in quotes where it is printable ASCII, else nothing."""
    try:
        text = bytes.fromhex(frame).decode("ascii")
    except ValueError:  # not ASCII, or the stream's hex is none
        return ""
    return f'"{text}"' if text and text.isprintable() else ""


def kind_of(parts: Sequence[str]) -> str:
    """What remains of texts when numbers and a value's own words are left out.

    Two failures of one kind differ in positions, sizes or drawn values alone.
    """
    return " | ".join(_NUMBER.sub("#", _head(part)) for part in parts)


def _head(part: str) -> str:
    return "values" if part.startswith("{") else part.partition(":")[0]
