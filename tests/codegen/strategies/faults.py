"""Faults put into a drawn spec, by the id of the rule that has to find them.

Rules: a fault takes the parsed files of a valid spec and changes them, or says that there is
no place for it; whatever else becomes wrong by it is not its business.
"""

# ruff: noqa: ANN401 - a file is whatever it holds

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from tests.codegen.strategies.frames import field_of

Data = dict[str, dict[str, Any]]
"""The parsed files of a protocol by path."""

Draw = Callable[[st.SearchStrategy[Any]], Any]
Fault = Callable[[Draw, Data], bool]

_HIDDEN = ("Layout", "ValueError", "Draft", "Place", "COUNTS", "Any", "int", "frames", "m", "f3")


def messages(files: Data) -> list[dict[str, Any]]:
    """The message files."""
    return [data for path, data in sorted(files.items()) if "/" in path]


def _one(draw: Draw, options: list[Any]) -> Any:
    return draw(st.sampled_from(options)) if options else None


def _field(draw: Draw, files: Data, suits: Callable[[dict[str, Any]], bool]) -> Any:
    fields = [field for data in messages(files) for field in data["field"].values()]
    return _one(draw, [field for field in fields if suits(field)])


def twice_the_class(draw: Draw, files: Data) -> bool:
    """A second message with the class of the first, in its group, in any case of letters."""
    path = _one(draw, [path for path in sorted(files) if "/" in path])
    head = files[path]["message"]
    again = {**head, "name": "AGAIN", "class": head.get("class", head["name"]), "aliases": []}
    again["class"] = draw(st.sampled_from([again["class"], again["class"].upper()]))
    files[path.replace(".toml", "_again.toml")] = {**files[path], "message": again}
    return True


def hidden_name(draw: Draw, files: Data) -> bool:
    _one(draw, messages(files))["message"]["class"] = draw(st.sampled_from(_HIDDEN))
    return True


def odd_unit(draw: Draw, files: Data) -> bool:
    _field(draw, files, lambda _: True)["unit"] = draw(st.sampled_from(["furlong", "Bytes", " "]))
    return True


def two_units(draw: Draw, files: Data) -> bool:
    fields = [field for data in messages(files) for field in data["field"].values()]
    concepts = [field["concept"] for field in fields]
    field = _field(draw, files, lambda field: concepts.count(field["concept"]) > 1)
    if field is None:
        return False
    field["unit"] = draw(st.sampled_from([u for u in ("", "bytes", "rank") if u != field["unit"]]))
    return True


def no_words(draw: Draw, files: Data) -> bool:
    words = ("text", "utf8", "host", "hostport", "names", "json:str", "json:str[]")
    field = _field(draw, files, lambda field: field["type"] in words)
    if field is not None:
        field["allowed"] = []
    return field is not None


def circle(draw: Draw, files: Data) -> bool:
    """Numbers of one layout, each below the next, and the last below the first."""
    options = [
        (data, numbers)
        for data in messages(files)
        for layout in data["layout"].values()
        if len(numbers := _numbers(data, layout)) > 1
    ]
    if not options:
        return False
    data, numbers = _one(draw, options)
    chosen = draw(st.permutations(numbers))[: draw(st.integers(2, len(numbers)))]
    data["invariant"] = [
        {"id": f"order-{place}", "kind": "less", "fields": [low, high], "doc": "In order."}
        for place, (low, high) in enumerate(zip(chosen, [*chosen[1:], chosen[0]], strict=True))
    ]
    return True


def _numbers(data: dict[str, Any], layout: dict[str, Any]) -> list[str]:
    entries = [*layout.get("frames", {}).values(), *layout.get("keys", {}).values()]
    names = [name for entry in entries if (name := field_of(entry)) is not None]
    integers = ("dec", "u32", "u64", "u32be", "json:int", "json:int?")
    return [name for name in names if data["field"][name]["type"] in integers]


def silent_default(draw: Draw, files: Data) -> bool:
    """A frame of the newest layout that cannot say what its field is unless it is given."""
    options = []
    for data in messages(files):
        *_, layout = data["layout"].values()
        frames = layout.get("frames", {})
        least = layout.get("counts", [len(frames)])[0]
        for place in [*frames][:least]:
            name = field_of(frames[place])
            if name is not None and name not in data["derived"]:
                options.append((data["field"][name], frames[place]))
    if not options:
        return False
    field, entry = _one(draw, options)
    for table in (field, entry):
        if isinstance(table, dict):
            table.pop("empty", None)
            table.pop("writes_empty", None)
    field["absent"] = "none"
    return True


FAULTS: dict[str, Fault] = {
    "duplicate-class": twice_the_class,
    "reserved-class": hidden_name,
    "unknown-unit": odd_unit,
    "concept-unit": two_units,
    "allowed-empty": no_words,
    "invariant-contradiction": circle,
    "unsendable-default": silent_default,
}
