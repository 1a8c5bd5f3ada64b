"""The types of the spec language: what value each carries and within which bounds.

Rules: one row per type of ``docs/spec-language.md``; ``value`` is the kind of value a
reader gets, so two types with one ``value`` may stand for each other in a layout.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MAX_63 = 2**63 - 1
_JSON = re.compile(r"json:(int|str|bool|object)((?:\[\]|\{\}){0,2})(\?)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One type.

    ``value`` is ``int``, ``bool``, ``str``, ``bytes`` or ``object``, with
    ``[]`` per level of nesting (``{}`` for a mapping from strings). ``low``/``high`` are
    the hard bounds of an int type and ``first``/``last`` its default range.
    """

    name: str
    value: str
    low: int | None = None
    high: int | None = None
    first: int | None = None
    last: int | None = None
    json: bool = False
    nullable: bool = False

    @property
    def is_int(self) -> bool:
        """Whether the value is one integer."""
        return self.value == "int"

    @property
    def has_range(self) -> bool:
        """Whether min and max apply, to the value or (in JSON) to each of its elements."""
        return self.is_int or (self.json and self.value.startswith("int"))

    @property
    def is_list(self) -> bool:
        """Whether the value has elements, so that an empty frame is the empty list."""
        return self.value.endswith("[]")

    @property
    def is_nested(self) -> bool:
        """Whether the value is a list of components."""
        return self.value.endswith("[][]")

    @property
    def is_word(self) -> bool:
        """Whether ``allowed`` may restrict the value."""
        return self.value == "str" or self.name in ("names", "json:str[]")


def _unsigned(name: str, bits: int) -> Kind:
    top = 2**bits - 1
    return Kind(name=name, value="int", low=0, high=top, first=0, last=top)


_ROWS = (
    Kind(name="dec", value="int", low=-(2**63), high=2**64 - 1, first=0, last=_MAX_63),
    Kind(name="flag", value="bool"),
    _unsigned("u32", 32),
    _unsigned("u64", 64),
    _unsigned("u32be", 32),
    *(Kind(name=name, value="str") for name in ("text", "utf8", "host", "hostport")),
    Kind(name="bytes", value="bytes"),
    *(Kind(name=f"{width}[]", value="int[]") for width in ("i32", "u32", "u64")),
    *(Kind(name=f"{width}[][]", value="int[][]") for width in ("i32", "u32", "u64")),
    Kind(name="names", value="str[]"),
    Kind(name="bin[]", value="bytes[]"),
    *(Kind(name=name, value="bytes[][]") for name in ("bin[][]", "bin?[][]")),
)

ELEMENTS = {"i32[]": (-(2**31), 2**31 - 1), "u32[]": (0, 2**32 - 1), "u64[]": (0, 2**64 - 1)}
"""Bounds of what stands in an array of a fixed width."""

KINDS = {row.name: row for row in _ROWS}
"""Every type but the ``json:`` family, which :func:`kind_of` spells out."""

UNITS = {
    "address": "A place in memory or on the network.",
    "bytes": "Bytes.",
    "count": "How many there are of something, or which in a row of them.",
    "id": "A number or name that stands for something.",
    "index": "A place in a list, from 0.",
    "pages": "KV pages.",
    "port": "A TCP port.",
    "rank": "A process of a parallel group, from 0.",
    "tokens": "Tokens.",
}
"""The units of a protocol that declares none of its own under ``[unit]``."""

NOTIFICATION_TYPES = ("dec", "flag", "text")
QUERY_TYPES = ("dec", "flag", "text")
LENGTH_TYPES = ("dec", "u32", "u64", "u32be")


def kind_of(name: str | None) -> Kind | None:
    """The type called ``name``, or ``None`` when the language has no such type."""
    if name is None:
        return None
    if name in KINDS:
        return KINDS[name]
    match = _JSON.fullmatch(name)
    if match is None:
        return None
    first, last = (-(2**63), 2**64 - 1) if match[1] == "int" else (None, None)
    value, nullable = match[1] + match[2], match[3] == "?"
    return Kind(name=name, value=value, first=first, last=last, json=True, nullable=nullable)


def may_stand_for(layout: Kind, field: Kind) -> bool:
    """Whether a layout may encode a field of one type as another.

    Same kind of value, or one component of a nested field as a flat array. What has no nil
    in it cannot take one.
    """
    if layout.name == "bin?[][]" != field.name:
        return False
    return layout.value == field.value or (layout.value + "[]" == field.value and field.is_nested)
