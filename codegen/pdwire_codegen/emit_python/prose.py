"""Texts for people inside generated code: docstrings, and the text under a field.

Rules: whatever a spec says comes out as it was said, wrapped; quotes and backslashes
never end or bend the literal around them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from pdwire_codegen.emit_python.fitting import WIDTH

__all__ = ["Prose", "docstring", "prose"]


class Prose(str):
    """A line of text: never taken for code, however long it is."""

    __slots__ = ()


def docstring(
    text: str, indent: str = "", *, rest: Iterable[str] = (), brief: str = ""
) -> list[str]:
    """A docstring: a summary line, then the other paragraphs, wrapped.

    Where the first paragraph is longer than a line, its first sentence is the summary;
    where that is too long as well, ``brief`` is.
    """
    paragraphs = [*_summarised(" ".join(text.split()), WIDTH - len(indent) - 6, brief), *rest]
    first = _apart(_escape(paragraphs[0]), ending=len(paragraphs) == 1)
    if len(paragraphs) == 1:
        return [Prose(f'{indent}"""{first}"""')]
    lines = ['"""' + first]
    for paragraph in paragraphs[1:]:
        lines += ["", *_wrap(_escape(paragraph), WIDTH - len(indent))]
    return [Prose(indent + line if line else "") for line in [*lines, '"""']]


def _summarised(text: str, room: int, brief: str) -> list[str]:
    if len(text) <= room:
        return [text]
    head, dot, tail = text.partition(". ")
    if dot and len(head) < room:
        return [f"{head}.", tail]
    return [brief or textwrap.shorten(text, room - 2, placeholder=" …."), text]


def prose(text: str, indent: str = "") -> list[str]:
    """The text under a field: a bare string, wrapped."""
    told = _apart(_escape(" ".join(text.split())), ending=True)
    return [Prose(indent + line) for line in _wrap(f'"""{told}"""', WIDTH - len(indent))]


def _wrap(text: str, room: int) -> list[str]:
    out: list[str] = []
    for line in text.split("\n"):
        out += textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False) or [""]
    return out


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', "'''")


def _apart(text: str, *, ending: bool) -> str:
    """A blank between a quote of the text and those around it."""
    before = " " if text.startswith('"') else ""
    behind = " " if ending and text.endswith('"') else ""
    return f"{before}{text}{behind}"
