"""Fields of a drawn message: every type, with ranges, words and meanings that fit.

Rules: everything is valid by construction; what depends on the layouts (which fields must
say what their absence means) is added when they are known.
"""

# ruff: noqa: ANN401 - values of every type are drawn here

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st
from tests.codegen.strategies import words

from pdwire_codegen.kinds import Kind, kind_of

Table = dict[str, Any]

INTEGERS = ("dec", "u32", "u64", "u32be")
TEXTS = ("text", "utf8", "host", "hostport")
FLAT = ("i32[]", "u32[]", "u64[]", "names", "bin[]")
NESTED = ("i32[][]", "u32[][]", "u64[][]", "bin[][]", "bin?[][]")
JSON = (
    "json:int", "json:str", "json:bool", "json:object", "json:int?", "json:str?", "json:bool?",
    "json:object?", "json:int[]", "json:str[]", "json:int[][]", "json:bool[]",
)  # fmt: skip
MAPPINGS = ("json:int{}", "json:str{}", "json:int[]{}", "json:bool{}")

_EXAMPLES = {
    "text": ("VRAM", "x"),
    "utf8": ("no memory", "délai"),
    "host": ("10.0.0.2", "::1"),
    "hostport": ("h:1", "[::1]:80"),
}
_ELEMENTS = {"i32": (-(2**31), 2**31 - 1), "u32": (0, 2**32 - 1), "u64": (0, 2**64 - 1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A field: its table, and what others need to know of it.

    ``bound`` fields stand in an invariant or a repetition, so that no layout narrows or
    flattens them; ``solid`` ones are never ``None``, for others count on them; ``repeats``
    ones have a repetition among their meanings.
    """

    name: str
    type: str
    table: Table
    bound: bool = False
    solid: bool = False
    repeats: bool = False
    derived: bool = False
    words: tuple[str, ...] = field(default=())

    @property
    def kind(self) -> Kind:
        """The row of its type."""
        kind = kind_of(self.type)
        assert kind is not None
        return kind

    @property
    def low(self) -> int:
        """The least value of an integer field."""
        return int(
            self.table.get("min", self.kind.first if self.kind.first is not None else -(2**63))
        )

    @property
    def high(self) -> int:
        """The greatest value of an integer field."""
        return int(
            self.table.get("max", self.kind.last if self.kind.last is not None else 2**64 - 1)
        )

    @property
    def nullable(self) -> bool:
        """Whether its own meanings or its type make it ``None``."""
        return self.kind.nullable or "none" in (self.table.get("empty"), self.table.get("absent"))

    def with_(self, **changes: Any) -> Drawn:
        """The same with more in its table."""
        return replace(self, table={**self.table, **changes})


def concept_of(kind: Kind, unit: str) -> str:
    """One concept per kind of value and unit, so that no two uses disagree."""
    kinds = kind.value.replace("[]", "-list").replace("{}", "-map")
    return f"{kinds}.{unit or 'none'}"


@st.composite
def drawn_fields(
    draw: st.DrawFn, name: str, types: tuple[str, ...], docs: st.SearchStrategy[str]
) -> Drawn:
    """One field without meanings."""
    chosen = draw(st.sampled_from(types))
    kind = kind_of(chosen)
    assert kind is not None
    unit = draw(st.sampled_from(words.UNITS))
    table: Table = {
        "type": chosen,
        "unit": unit,
        "concept": concept_of(kind, unit),
        "doc": draw(docs),
    }
    if kind.has_range and draw(st.booleans()):
        table |= draw(_ranges(kind))
    allowed = draw(_allowed(chosen))
    if allowed:
        table["allowed"] = list(allowed)
    if draw(st.integers(0, 3)) == 0:
        table["ignorable"] = True
    return Drawn(name=name, type=chosen, table=table, words=allowed)


@st.composite
def _ranges(draw: st.DrawFn, kind: Kind) -> Table:
    least = kind.low if kind.low is not None else -(2**40)
    most = kind.high if kind.high is not None else 2**40
    low = draw(st.sampled_from([n for n in (0, 1, -1, -5, 2, 2000) if least <= n <= most]))
    high = draw(
        st.sampled_from(
            [n for n in (low, low + 1, low + 9, 65535, 2**31, most) if low <= n <= most]
        )
    )
    bounds = {"min": low, "max": high}
    drop = draw(st.sampled_from(["", "", "min", "max"]))
    if drop == "min" and high < (kind.first or 0):
        drop = ""
    if drop == "max" and kind.last is not None and low > kind.last:
        drop = ""
    bounds.pop(drop, None)
    return bounds


@st.composite
def _allowed(draw: st.DrawFn, chosen: str) -> tuple[str, ...]:
    if chosen == "names":
        return tuple(draw(st.lists(words.words, unique=True, min_size=1, max_size=3)))
    if chosen in ("text", "json:str", "json:str[]") and draw(st.booleans()):
        return tuple(draw(st.lists(words.words, unique=True, min_size=1, max_size=3)))
    if chosen in ("utf8", "host", "hostport") and draw(st.integers(0, 3)) == 0:
        return tuple(word for word in _EXAMPLES[chosen] if " " not in word and word.isascii())
    return ()


@st.composite
def literals(draw: st.DrawFn, field: Drawn) -> Any:
    """A value of the field's own type, as a meaning says it."""
    kind = field.kind
    if kind.is_list:
        return []
    if kind.is_int:
        near = [
            n
            for n in (0, 1, -1, field.low, field.high)
            if field.low <= n <= field.high or (n == -1 < field.high and not field.solid)
        ]
        return draw(st.sampled_from(near))
    if kind.value == "bool":
        return draw(st.booleans())
    if kind.value == "bytes":
        return draw(st.sampled_from(["", "x", "é"]))
    if kind.value == "str":
        some = field.words or _EXAMPLES.get(field.type, ("a", "b c"))
        return draw(st.sampled_from(some if field.solid else ("", *some)))
    return "none"


def meanings(field: Drawn) -> st.SearchStrategy[Any]:
    """What an empty or a missing frame of the field means: nothing, or a value."""
    if field.solid:
        return literals(field)
    return st.just("none") | literals(field) | literals(field)


def repetitions(field: Drawn, others: tuple[Drawn, ...]) -> list[Table]:
    """Every repetition that the field can mean."""
    if not field.kind.is_list or field.kind.is_nested or field.type == "json:bool[]":
        return []
    likes = [other.name for other in others if _is_like(other, field)]
    return [
        {source: word, "like": like} for like in likes for source, word in _repeated(field, others)
    ]


def _is_like(other: Drawn, field: Drawn) -> bool:
    return other.kind.is_list and other.name != field.name and _is_steady(other)


def _is_steady(other: Drawn) -> bool:
    """Whether a repetition can count on the field."""
    return not (other.repeats or other.nullable or "ignorable" in other.table)


def _repeated(field: Drawn, others: tuple[Drawn, ...]) -> list[tuple[str, Any]]:
    if field.kind.value == "str[]":
        word = field.words[0] if field.words else "w"
        return [("repeat", word)] + [
            ("repeat_field", other.name)
            for other in others
            if other.kind.value == "str" and _is_steady(other) and _fit(other, field)
        ]
    if field.type == "bin[]":
        return [("repeat_field", o.name) for o in others if o.type == "bytes" and _is_steady(o)]
    low, high = _ELEMENTS.get(field.type.removesuffix("[]"), (field.low, field.high))
    return [("repeat", low)] + [
        ("repeat_field", other.name)
        for other in others
        if other.kind.is_int
        and _is_steady(other)
        and low <= min(other.low, *_numbers(other))
        and other.high <= high
    ]


def _numbers(other: Drawn) -> list[int]:
    """What empty and missing frames of an integer field mean, -1 for nothing among them."""
    told = (other.table.get("empty"), other.table.get("absent"))
    return [what for what in told if isinstance(what, int)] or [other.low]


def _fit(source: Drawn, field: Drawn) -> bool:
    """Whether every text of ``source`` is a word of ``field``; an empty one never is."""
    if "" in (source.table.get("empty"), source.table.get("absent")):
        return False
    return not field.words or (bool(source.words) and set(source.words) <= set(field.words))
