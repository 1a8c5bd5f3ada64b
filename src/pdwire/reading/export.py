"""Loads the JSON export of the spec.

Rules: loading checks no more than the shape it needs; whether a spec makes sense is the
compiler's business.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pdwire.reading.spec import (
    REQUIRED,
    Backend,
    Derivation,
    Field,
    Given,
    Invariant,
    Key,
    Layout,
    Meaning,
    Message,
    Repeat,
    Slot,
    Spec,
    Value,
)

SCHEMA = "pdwire.spec/1"


def _value(raw: Any) -> Value:  # noqa: ANN401 - JSON
    if isinstance(raw, dict) and set(raw) == {"hex"}:
        return bytes.fromhex(raw["hex"])
    return raw  # type: ignore[no-any-return]


def _meaning(entry: Mapping[str, Any], key: str) -> Meaning:
    if key not in entry:
        return REQUIRED
    raw = entry[key]
    if "repeat" in raw:
        told = raw["repeat"]
        return Repeat(
            like=told["like"], word=_value(told.get("word")), from_field=told.get("from_field")
        )
    return Given(value=_value(raw["value"]))


def _typed(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What fields and frames have in common."""
    return {
        "name": entry["name"],
        "type": entry["type"],
        "min": entry.get("min"),
        "max": entry.get("max"),
        "allowed": tuple(entry.get("allowed") or ()),
        "empty": _meaning(entry, "empty"),
        "writes_empty": bool(entry.get("writes_empty", False)),
        "absent": _meaning(entry, "absent"),
    }


def _field(entry: Mapping[str, Any]) -> Field:
    return Field(
        **_typed(entry),
        unit=entry.get("unit") or "",
        concept=entry.get("concept") or "",
        doc=entry.get("doc") or "",
        ignorable=bool(entry.get("ignorable", False)),
        derived=bool(entry.get("derived", False)),
    )


def _slot(entry: Mapping[str, Any]) -> Slot:
    return Slot(
        **_typed(entry),
        position=entry["position"],
        kind=entry["kind"],
        field=entry.get("field"),
        const=entry.get("const"),
        length_of=entry.get("length_of"),
        unread=bool(entry.get("unread", False)),
    )


def _key(entry: Mapping[str, Any]) -> Key:
    return Key(
        key=entry["key"],
        field=entry["field"],
        type=entry["type"],
        optional=bool(entry.get("optional", False)),
        absent=_meaning(entry, "absent"),
    )


def _invariant(entry: Mapping[str, Any]) -> Invariant:
    return Invariant(
        id=entry["id"],
        kind=entry["kind"],
        fields=tuple(entry["fields"]),
        optional=tuple(entry.get("optional") or ()),
        doc=entry.get("doc") or "",
    )


def _layout(entry: Mapping[str, Any]) -> Layout:
    return Layout(
        id=entry["id"],
        speakers={name: tuple(spoken) for name, spoken in entry["speakers"].items()},
        doc=entry.get("doc") or "",
        notes=tuple(entry.get("notes") or ()),
        unverified=entry.get("unverified"),
        counts=tuple(entry.get("counts") or ()),
        frames=tuple(_slot(each) for each in entry.get("frames") or ()),
        text=entry.get("text"),
        keys=tuple(_key(each) for each in entry.get("keys") or ()),
        derivations=tuple(
            Derivation(field=each["field"], when=tuple(each["when"].items()))
            for each in entry.get("derivations") or ()
        ),
        invariants=tuple(_invariant(each) for each in entry.get("invariants") or ()),
        fingerprint=entry.get("fingerprint") or "",
    )


def _message(entry: Mapping[str, Any]) -> Message:
    told = ("guard", "recognise", "body", "method", "path", "part")
    maybe: dict[str, Any] = {key: entry.get(key) for key in told}
    return Message(
        name=entry["name"],
        class_name=entry.get("class") or "",
        group=entry["group"],
        module=entry.get("module") or "",
        backends=tuple(entry["backends"]),
        transport=entry["transport"],
        directions=tuple(entry["directions"]),
        doc=entry.get("doc") or "",
        fields=tuple(_field(each) for each in entry["fields"]),
        layouts=tuple(_layout(each) for each in entry["layouts"]),
        absent={
            name: (tuple(told["releases"]), told["why"])
            for name, told in (entry.get("absent") or {}).items()
        },
        source=entry.get("source") or "",
        aliases=tuple(entry.get("aliases") or ()),
        notes=tuple(entry.get("notes") or ()),
        **maybe,
    )


def spec_from_json(data: Mapping[str, Any]) -> Spec:
    """The spec in ``data``, a document of schema ``pdwire.spec/1``; ``ValueError`` otherwise."""
    if data.get("schema") != SCHEMA:
        raise ValueError(f"not a {SCHEMA} document: schema is {data.get('schema')!r}")
    return Spec(
        releases=tuple(data["releases"]),
        backends=tuple(
            Backend(
                name=each["name"],
                releases=tuple(each["releases"]),
                doc=each.get("doc") or "",
                inherits=each.get("inherits"),
            )
            for each in data["backends"]
        ),
        messages=tuple(_message(each) for each in data["messages"]),
        concepts=dict(data.get("concepts") or {}),
    )


def load_spec(path: Path) -> Spec:
    """The spec in the file ``path``."""
    return spec_from_json(json.loads(path.read_text(encoding="utf-8")))


@cache
def packaged_spec() -> Spec:
    """The spec that this version of pdwire was built from."""
    text = files("pdwire").joinpath("wire", "spec.json").read_text(encoding="utf-8")
    return spec_from_json(json.loads(text))
