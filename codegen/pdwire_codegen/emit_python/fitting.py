"""Lines of code that are too long, split as the formatter would.

Rules: a line that fits is left alone. A longer one is split in its last brackets, at
their commas or operators, and so on inside; brackets and commas in literals are no
brackets and no commas. What cannot be split stays long and right.
"""

from __future__ import annotations

import re

__all__ = ["WIDTH", "alternatives", "fit", "operands"]

WIDTH = 100

_STRING = re.compile(r'[rbf]{0,2}(?:"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\')')
_CLOSING = {")": "(", "]": "[", "}": "{"}
_OPERATORS = (" if ", " else "), (" or ",), (" and ",), (" == ", " != ", " < ", " >= ")


def fit(line: str) -> list[str]:
    """The line, or the lines that it is split into."""
    if len(line) <= WIDTH:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    code = line.strip().rstrip(",:")
    tail = line.strip()[len(code) :]
    if tail == "," and len(parts := _parts(code, *_OPERATORS[0])) > 1:
        return _operands(parts, indent, tail)
    opened = _opening(code)
    if opened is None:
        return [line]
    inner = _inside(code[opened + 1 : -1], f"{indent}    ", grouping=_is_grouping(code, opened))
    return [indent + code[: opened + 1], *inner, indent + code[-1] + tail]


def alternatives(code: str) -> list[str]:
    """An expression as the parts of a choice: a value, ``if`` a test, ``else`` another."""
    return [part.strip() for part in _parts(code, *_OPERATORS[0])]


def operands(code: str, word: str) -> list[str]:
    """What ``and`` or ``or`` joins outside of brackets."""
    return [part.strip().removeprefix(f"{word} ") for part in _parts(code, f" {word} ")]


def _inside(body: str, indent: str, *, grouping: bool) -> list[str]:
    """What stands in brackets, on one line, or an item or an operand a line."""
    one = indent + body
    if len(one) <= WIDTH:
        return [one]
    items = _parts(body, ", ")
    if not grouping or len(items) > 1:
        return [part for item in items for part in fit(f"{indent}{item.rstrip(',')},")]
    for operators in _OPERATORS:
        if len(parts := _parts(body, *operators)) > 1:
            return _operands(parts, indent, "")
    return fit(one)


def _operands(parts: list[str], indent: str, tail: str) -> list[str]:
    """Each operand on a line of its own, its operator in front."""
    lines = [indent + part for part in parts]
    lines[-1] += tail
    return [part for line in lines for part in fit(line)]


def _parts(code: str, *operators: str) -> list[str]:
    """The code cut at operators outside of brackets; each stays with what is behind it.

    A comma does not: it is at the end of what is before it, and dropped.
    """
    mask, depth, start = _masked(code), 0, 0
    parts: list[str] = []
    for place, char in enumerate(mask):
        depth += (char in "([{") - (char in ")]}")
        found = next((op for op in operators if not depth and mask.startswith(op, place)), None)
        if found is not None and place >= start:
            parts.append(code[start:place])
            start = place + (2 if found == ", " else 1)
    return [*parts, code[start:]]


def _opening(code: str) -> int | None:
    """Where the bracket at the end of the code was opened; ``None`` where there is none."""
    mask = _masked(code)
    if mask[-1:] not in _CLOSING:
        return None
    depth = 0
    for place in range(len(mask) - 1, -1, -1):
        depth += (mask[place] in ")]}") - (mask[place] in "([{")
        if depth == 0:
            return place if place < len(code) - 2 else None
    return None


def _is_grouping(code: str, opened: int) -> bool:
    """Whether round brackets only keep an expression together: nothing is called."""
    before = code[:opened].rstrip(" ")
    called = (
        bool(before) and before == code[:opened] and (before[-1].isalnum() or before[-1] in "_)]")
    )
    return code[opened] == "(" and not called


def _masked(code: str) -> str:
    """The code with every literal blotted out, as long as before."""
    return _STRING.sub(lambda found: "~" * len(found[0]), code)
