r"""Captured frames as text: hex lines, quoted text, JSON.

Hex lines hold one frame each: hex digits, with or without ``0x`` and blanks, or text in
double quotes (escapes ``\"``, ``\\``, ``\n``, ``\r``, ``\t``, ``\x7f``), or both one behind
the other; ``""`` is the empty frame. A blank line or ``---`` ends a message, ``#`` begins
a comment.

JSON is a list of hex strings (one message), a list of such lists, an object with the key
``frames``, or one of these per line. Hex strings are read as above, without the quotes.

Rules: input that is none of this is a :class:`CaptureError` with line and column, both
counted from 1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_TOKEN = re.compile(r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?:0[xX])?(?P<hex>[0-9A-Fa-f]*))')
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}


class CaptureError(ValueError):
    """Input that cannot be read, and where."""

    def __init__(self, line: int, column: int, problem: str) -> None:
        super().__init__(f"line {line}, column {column}: {problem}")
        self.line = line
        self.column = column
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Capture:
    """The frames of one message, and the line that it begins on."""

    frames: tuple[bytes, ...]
    line: int


def parse(raw: bytes) -> list[Capture]:
    """Every message in ``raw``.

    Raises:
        CaptureError: the input is in none of the known forms.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        column = error.start - before.rfind(b"\n")
        what = "not text; hex-dump binary captures, one frame a line"
        raise CaptureError(before.count(b"\n") + 1, column, what) from error
    if text.lstrip()[:1] in {"[", "{"}:
        return list(_json(text))
    return list(_lines(text))


def _lines(text: str) -> Iterator[Capture]:
    frames: list[bytes] = []
    start = 1
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if bare.startswith("#"):
            continue
        if not bare or set(bare) == {"-"}:
            if frames:
                yield Capture(tuple(frames), start)
            frames = []
            continue
        if not frames:
            start = number
        frames.append(_frame(line, number))
    if frames:
        yield Capture(tuple(frames), start)


def _frame(line: str, number: int) -> bytes:
    """One line's frame."""
    parts: list[bytes] = []
    at = 0
    while line[at:].strip() and not line[at:].lstrip().startswith("#"):
        found = _TOKEN.match(line, at)
        if found is None or found.end() == at or not found[0].strip():
            blanks = len(line[at:]) - len(line[at:].lstrip())
            raise CaptureError(number, at + blanks + 1, _complaint(line[at + blanks :]))
        if found["text"] is not None:
            parts.append(_quoted(found["text"], number, found.start("text") + 1))
        else:
            parts.append(_hex(found["hex"], number, found.start("hex") + 1))
        at = found.end()
    return b"".join(parts)


def _complaint(rest: str) -> str:
    if rest.startswith('"'):
        return "the quoted text does not end"
    return f"{rest[0]!r} is neither hex nor quoted text"


def _hex(digits: str, number: int, column: int) -> bytes:
    if len(digits) % 2:
        raise CaptureError(number, column, f"an odd number of hex digits ({len(digits)})")
    return bytes.fromhex(digits)


def _quoted(token: str, number: int, column: int) -> bytes:
    def replace(found: re.Match[str]) -> str:
        if found[1] is not None:
            return chr(int(found[1], 16))
        if found[2] not in _ESCAPES:
            what = f"unknown escape \\{found[2]}"
            raise CaptureError(number, column + 1 + found.start(), what)
        return _ESCAPES[found[2]]

    body = token[1:-1]
    if body.isascii():
        return _ESCAPE.sub(replace, body).encode("latin-1")
    if "\\x" in body:
        raise CaptureError(number, column, "text beyond ASCII and \\x escapes do not mix")
    return _ESCAPE.sub(replace, body).encode("utf-8")


def _json(text: str) -> Iterator[Capture]:
    """One document, or one per line."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError as error:
        lines = text.split("\n")
        if not _is_json(next(line for line in lines if line.strip())):
            raise CaptureError(error.lineno, error.colno, f"not JSON: {error.msg}") from error
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield from _document(_line(line, number), line, number)
    except RecursionError as error:
        raise CaptureError(1, 1, "JSON nested too deeply") from error
    else:
        yield from _document(whole, text, 1)


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _line(line: str, number: int) -> Any:  # noqa: ANN401 - JSON
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise CaptureError(number, error.colno, f"not JSON: {error.msg}") from error
    except RecursionError as error:
        raise CaptureError(number, 1, "JSON nested too deeply") from error


def _document(value: object, text: str, number: int) -> Iterator[Capture]:
    """The messages in one JSON value; ``text`` is where it stands, from line ``number`` on."""
    if isinstance(value, dict):
        value = value.get("frames")
    if not isinstance(value, list):
        raise CaptureError(number, 1, "neither a list of frames nor an object with frames")
    if value and all(isinstance(each, list | dict) for each in value):
        for each in value:
            yield from _document(each, text, number)
        return
    yield Capture(tuple(_json_frame(each, text, number) for each in value), number)


def _json_frame(value: object, text: str, number: int) -> bytes:
    digits = re.sub(r"\s|^0[xX]", "", value) if isinstance(value, str) else None
    try:
        if digits is not None:
            return bytes.fromhex(digits)
    except ValueError:
        pass
    spelled = json.dumps(value, ensure_ascii=False)
    at = max(text.find(spelled), 0)
    before = text[:at]
    shown = spelled if len(spelled) <= 40 else f"{spelled[:40]}…"
    raise CaptureError(
        number + before.count("\n"), at - before.rfind("\n"), f"not a string of hex: {shown}"
    )
