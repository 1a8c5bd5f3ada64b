"""The codec cases that people wrote: ``files/*.toml``, live ones apart.

Rules:

* A table ``[[case]]`` asks one question: ``decode`` or ``recognise`` frames, or ``encode``
  values; what is right is ``accept``, ``refuse``, ``gives``, ``recognised`` or
  ``ambiguous``. The schema in ``schema/`` says which keys there are.
* Frames are a list in the notation of :mod:`.notation`, or a base message from
  ``bases.toml`` that is changed: ``{ base = "…", put = { 5 = "None" }, take = 7 }``.
  Positions count the guard, as whoever looks at a socket does.
* ``inputs`` asks the same of several: each has a ``name``, which the slug ends with, and
  words (``say``) that stand for ``{say}`` in the case's purpose.
* One table is one case per backend, whose name is the last part of the slug.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from pdwire_conformance.proof.spec import load_spec

from .case import (
    Accept,
    Ambiguous,
    Case,
    Check,
    Decode,
    Encode,
    Frames,
    Level,
    Recognise,
    Recognised,
    Refuse,
    Role,
)
from .notation import frame_of

__all__ = ["FILES", "CaseFileError", "read_cases", "schema", "written_cases"]

Json = dict[str, Any]
Bases = Mapping[str, list[str]]
FILES: Final = Path(__file__).parent / "files"
_BASES: Final = "bases.toml"


class CaseFileError(ValueError):
    """A file of cases that cannot be read: file, line, case, what was expected, what came."""


@cache
def written_cases() -> tuple[Case, ...]:
    """Every written codec case, file by file; ``CaseFileError`` when one is wrong."""
    bases = read_bases(FILES / _BASES)
    paths = [path for path in sorted(FILES.glob("*.toml")) if path.name != _BASES]
    return tuple(
        case
        for path in paths
        if not path.name.startswith("live-")
        for case in read_cases(path, bases)
    )


@cache
def schema() -> Json:
    """The JSON Schema of a file of cases."""
    text = files("pdwire_conformance.suite").joinpath("schema", "case.schema.json").read_text()
    told: Json = json.loads(text)
    return told


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(schema())


def _toml(path: Path) -> tuple[str, Json]:
    text = path.read_text(encoding="utf-8")
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CaseFileError(f"{path.name}: {error}") from error


def read_bases(path: Path) -> Bases:
    """The base messages, by name."""
    bases: Bases = _toml(path)[1]["base"]
    return bases


def read_cases(path: Path, bases: Bases) -> Iterator[Case]:
    """The cases of one file; ``CaseFileError`` names file, line and case."""
    text, told = _toml(path)
    fault = best_match(_validator().iter_errors(told))
    if fault is not None:
        raise CaseFileError(_fault(path, text, told, list(fault.absolute_path), fault.message))
    for number, table in enumerate(told["case"]):
        try:
            for one in _each_input(table):
                yield from _cases(one, bases, path.name)
        except (KeyError, ValueError) as error:
            raise CaseFileError(_fault(path, text, told, ["case", number], str(error))) from error


def _fault(path: Path, text: str, told: Json, where: list[Any], message: str) -> str:
    """The place of a fault as far as TOML lets it be known: the line of the case's slug."""
    place, rest = path.name, where
    if len(where) > 1 and where[0] == "case":
        slug = told["case"][where[1]].get("slug", "")
        rest = where[2:]
        found = re.search(rf"^slug\s*=\s*['\"]{re.escape(str(slug))}['\"]", text, re.MULTILINE)
        line = text.count("\n", 0, found.start()) + 1 if found else 0
        place = f"{path.name}:{line}: case {slug or where[1]}"
    pointer = "".join(f"/{part}" for part in rest)
    return f"{place}{f', at {pointer}' if pointer else ''}: {message}"


def _each_input(table: Json) -> Iterator[Json]:
    if "inputs" not in table:
        yield table
        return
    common = {key: value for key, value in table.items() if key != "inputs"}
    for given in table["inputs"]:
        one = {**common, **{key: given[key] for key in given if key not in {"name", "say"}}}
        one["slug"] = f"{table['slug']}-{given['name']}"
        for key in ("purpose", "expectation"):
            one[key] = table[key].replace("{say}", given.get("say", given["name"]))
        yield one


def _cases(table: Json, bases: Bases, origin: str) -> Iterator[Case]:
    for backend in table["backends"]:
        releases = tuple(_releases(table, backend))
        if not releases:
            raise ValueError(f"no release of {backend} is left by message, layouts and releases")
        layouts = table.get("layouts", ())
        yield Case(
            slug=f"{table['slug']}/{backend}",
            level=Level(table["level"]),
            role=Role.CODEC,
            backend=backend,
            releases=releases,
            purpose=_line(table["purpose"]),
            expectation=_line(table["expectation"]),
            check=_check(table, bases),
            message=table.get("message", ""),
            layout=layouts[0] if len(layouts) == 1 else "",
            clauses=tuple(table.get("clauses", ())),
            reports=tuple(table.get("reports", ())),
            origin=origin,
            tags=tuple(table.get("tags", ())),
        )


def _line(text: str) -> str:
    return " ".join(text.split())


def _releases(table: Json, backend: str) -> Iterable[str]:
    """Releases of the backend that have the message in one of the layouts, oldest first."""
    spec = load_spec()
    allowed = _allowed(table.get("releases", ".."), spec["releases"])
    spoken = [
        release
        for message in spec["messages"]
        if message["name"] == table.get("message", message["name"])
        for layout in message["layouts"]
        if layout["id"] in table.get("layouts", (layout["id"],))
        for release in layout["speakers"].get(backend, ())
    ]
    return [release for release in spec["releases"] if release in allowed and release in spoken]


def _allowed(told: str | list[str], order: list[str]) -> list[str]:
    ends = told if isinstance(told, list) else [end for end in told.split("..") if end]
    for release in ends:
        if release not in order:
            raise ValueError(f"no release {release}; there are {order[0]} to {order[-1]}")
    if isinstance(told, list):
        return told
    first, _, last = told.partition("..")
    begin = order.index(first) if first else 0
    return order[begin : order.index(last) + 1 if last else len(order)]


_ANSWERS: Final = {
    "decode": ("accept", "refuse"),
    "encode": ("gives", "refuse"),
    "recognise": ("recognised", "ambiguous", "refuse"),
}


def _check(table: Json, bases: Bases) -> Check:
    asked = next((question for question in _ANSWERS if question in table), None)
    if asked is None:
        raise ValueError(f"it asks nothing: one of {', '.join(_ANSWERS)} is needed")
    if not any(answer in table for answer in _ANSWERS[asked]):
        *most, last = _ANSWERS[asked]
        raise ValueError(f"{asked} needs {', '.join(most)} or {last}")
    return _CHECKS[asked](table, bases)


def _decode(table: Json, bases: Bases) -> Check:
    expect = _refuse(table) if "refuse" in table else Accept(values=_values(table, "accept"))
    return Decode(frames=_frames(table["decode"], bases), expect=expect)


def _encode(table: Json, bases: Bases) -> Check:
    wanted = _refuse(table) if "refuse" in table else _frames(table["gives"], bases)
    return Encode(values=_values(table, "encode"), expect=wanted)


def _recognise(table: Json, bases: Bases) -> Check:
    frames = _frames(table["recognise"], bases)
    return Recognise(frames=frames, expect=_recognised(table), direction=table.get("direction", ""))


_CHECKS: Final = {"decode": _decode, "encode": _encode, "recognise": _recognise}


def _recognised(table: Json) -> Recognised | Ambiguous | Refuse:
    if "refuse" in table:
        return _refuse(table)
    if "ambiguous" in table:
        return Ambiguous()
    told = table["recognised"]
    return Recognised(message=told["message"], layouts=tuple(told.get("layouts", ())))


def _refuse(table: Json) -> Refuse:
    told = table["refuse"]
    return Refuse(
        kinds=tuple(told.get("kinds", ())), frame=told.get("frame"), field=told.get("field", "")
    )


def _values(table: Json, key: str) -> Json:
    """Values as the JSON export has them; TOML has no null, so ``none`` names those fields."""
    return {**table[key], **dict.fromkeys(table.get("none", ()))}


def _frames(told: list[str] | Json, bases: Bases) -> Frames:
    if isinstance(told, list):
        return tuple(map(frame_of, told))
    if told["base"] not in bases:
        raise ValueError(f"no base message {told['base']!r}; there are {', '.join(bases)}")
    frames = list(bases[told["base"]])
    for position, frame in told.get("put", {}).items():
        if int(position) >= len(frames):
            raise ValueError(f"put {position}: {told['base']} has {len(frames)} frames")
        frames[int(position)] = frame
    frames = frames[: told.get("take", len(frames))]
    return tuple(map(frame_of, [*frames, *told.get("add", ())]))
