"""The grammar of notification texts: literals, ``{placeholders}``, one optional tail.

Rules: a text is read from left to right and must come apart in one way only; the tail
stands in square brackets at the end; brackets and braces have no other meaning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(r"\{([^{}\[\]]*)\}|([^{}\[\]]+)|([\[\]{}])")


class TextError(ValueError):
    """A text that is not of the grammar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A literal, or the place of a field."""

    literal: str | None = None
    field: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A parsed text: what must be there, and the tail that may be missing."""

    head: tuple[Part, ...]
    tail: tuple[Part, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """Head and tail in order."""
        return self.head + self.tail

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of all placeholders in order."""
        return tuple(part.field for part in self.parts if part.field is not None)

    @property
    def optional(self) -> tuple[str, ...]:
        """Names of the placeholders in the tail."""
        return tuple(part.field for part in self.tail if part.field is not None)


def parse_text(text: str) -> Template:
    """Take a text apart; raises :class:`TextError` that says what is wrong with it."""
    head, bracket, rest = text.partition("[")
    if not bracket:
        return Template(head=_parts(head))
    tail, bracket, behind = rest.partition("]")
    if not bracket:
        raise TextError("the bracket of the optional tail is not closed")
    if behind:
        raise TextError("nothing may stand behind the optional tail")
    if not tail:
        raise TextError("the optional tail is empty")
    return Template(head=_parts(head), tail=_parts(tail))


def _parts(text: str) -> tuple[Part, ...]:
    parts: list[Part] = []
    for match in _TOKEN.finditer(text):
        if match[3]:
            raise TextError(f"a stray {match[3]!r}")
        if match[2] is not None:
            parts.append(Part(literal=match[2]))
        elif not match[1]:
            raise TextError("a placeholder without a name")
        else:
            parts.append(Part(field=match[1]))
    return tuple(parts)
