"""Layouts of notification texts and of HTTP bodies.

Rules: a text comes apart in one way only (something that is no digit stands behind a
number, free text is last); an optional key or a tail has fields that may be missing.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from tests.codegen.strategies import words
from tests.codegen.strategies.fields import Drawn

Table = dict[str, Any]

_KEYS = st.sampled_from(
    ["page_size", "Key", "a b", 'q"', "é", "\\", "ключ", "x" * 60, "%", "a&b=c"]
)


@st.composite
def text_layouts(draw: st.DrawFn, chosen: list[Drawn]) -> Table:
    """``text`` of one layout that carries the chosen fields."""
    free = [field for field in chosen if field.type == "text"]
    told = [field for field in chosen if field.type != "text"] + free
    cut = draw(st.integers(0, len(told)) | st.just(len(told) - 1))
    head, tail = _pieces(draw, told[:cut]), _pieces(draw, told[cut:])
    if draw(st.booleans()) and not free:
        tail += draw(words.literals)
    if not tail:
        return {"text": head}
    optional = draw(st.sampled_from([True, True, False]))
    return {"text": f"{head}[{tail}]" if optional else head + tail}


def _pieces(draw: st.DrawFn, fields: list[Drawn]) -> str:
    return "".join(f"{draw(words.literals)}{{{field.name}}}" for field in fields)


@st.composite
def body_layouts(draw: st.DrawFn, chosen: list[Drawn]) -> Table:
    """``keys`` of one layout; a mapping alone is the whole body now and then."""
    if len(chosen) == 1 and chosen[0].type.endswith("{}") and draw(st.integers(0, 3)):
        return {"keys": {"*": chosen[0].name}}
    keys: Table = {}
    for field in draw(st.permutations(chosen)):
        key = draw(st.just(field.name) | _KEYS)
        entry: Any = field.name
        if draw(st.booleans()):
            entry = {"field": field.name, "optional": True}
        keys[key if key not in keys else f"{field.name}'"] = entry
    return {"keys": keys}
