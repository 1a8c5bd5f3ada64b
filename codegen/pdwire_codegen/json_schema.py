"""JSON Schema (draft 2020-12) of the spec's JSON export.

Rules: strict; a key that is not described is refused, so that the export cannot grow
without this file saying what the new key means.
"""

from __future__ import annotations

from pdwire_codegen.json_values import Json


def _texts(description: str) -> Json:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _maybe(kind: str, description: str) -> Json:
    return {"type": [kind, "null"], "description": description}


def _text(description: str) -> Json:
    return {"type": "string", "description": description}


def _flag(description: str) -> Json:
    return {"type": "boolean", "description": description}


def _list(name: str, description: str) -> Json:
    items: Json = {"$ref": f"#/$defs/{name}"}
    return {"type": "array", "items": items, "description": description}


def _object(properties: dict[str, Json], optional: tuple[str, ...] = ()) -> dict[str, Json]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [key for key in properties if key not in optional],
        "properties": properties,
    }


def _map(values: Json, description: str) -> Json:
    return {"type": "object", "additionalProperties": values, "description": description}


_MEANING: Json = {"$ref": "#/$defs/meaning"}
_RELEASES = _texts("Releases, oldest first.")

_TYPED: dict[str, Json] = {
    "min": _maybe("integer", "Smallest value; null for types without a range."),
    "max": _maybe("integer", "Largest value; null for types without a range."),
    "allowed": _texts("The only words; empty: any."),
    "empty": _MEANING,
    "writes_empty": _flag("Whether the value that an empty frame means is written as one."),
    "absent": _MEANING,
}

_DEFS: dict[str, Json] = {
    "meaning": {
        "description": "What an empty or a missing frame means. No key: such a frame is refused.",
        "oneOf": [
            _object({"value": {"description": "A value of the field's type, or null."}}),
            _object({"repeat": {"$ref": "#/$defs/repeat"}}),
        ],
    },
    "repeat": {
        "description": "One element per element of the field `like`: a word, or another field.",
        "oneOf": [
            _object({"like": {"type": "string"}, "word": {"type": ["string", "integer"]}}),
            _object({"like": {"type": "string"}, "from_field": {"type": "string"}}),
        ],
    },
    "backend": _object(
        {
            "name": _text("Name of the backend."),
            "doc": _text("What it is."),
            "inherits": _maybe("string", "The backend whose messages it speaks."),
            "releases": _RELEASES,
        }
    ),
    "field": _object(
        {
            "name": _text("Name of the field, the same in every layout."),
            "type": _text("Type, as in docs/spec-language.md."),
            "unit": _text("Unit; empty: none."),
            "concept": _text("Key of `concepts`."),
            "doc": _text("What the value means."),
            **_TYPED,
            "ignorable": _flag("Whether a layout without the field drops it silently."),
            "derived": _flag("Whether a rule gives the value where no frame does."),
        },
        optional=("empty", "absent"),
    ),
    "frame": _object(
        {
            "position": {"type": "integer", "minimum": 0, "description": "Guard not counted."},
            "name": _text("The field's name, or that of a constant or length."),
            "kind": {"enum": ["field", "const", "length"]},
            "type": _text("Type in this layout; `const` for constants."),
            "field": _maybe("string", "The field that travels here."),
            "const": _maybe("string", "The bytes that always travel here, ASCII."),
            "length_of": _maybe("string", "The field whose length in bytes travels here."),
            **_TYPED,
            "unread": _flag("Sent, and no release reads it."),
        },
        optional=("empty", "absent"),
    ),
    "key": _object(
        {
            "key": _text("Key of the body; `*`: the whole body."),
            "field": _text("The field that it carries."),
            "type": _text("Type of the value."),
            "optional": _flag("Whether the key may be missing."),
            "absent": _MEANING,
        },
        optional=("absent",),
    ),
    "derivation": _object(
        {
            "field": _text("The derived field: true when all conditions hold."),
            "when": _map({"enum": ["empty", "none", "negative", "falsy"]}, "Field to condition."),
        }
    ),
    "invariant": _object(
        {
            "id": _text("Id of the rule within the message."),
            "kind": {"enum": ["same_length", "same_count", "less", "needs"]},
            "fields": _texts("The fields that it relates, in order."),
            "optional": _texts("Not checked while one of these is empty."),
            "doc": _text("The rule in words."),
        }
    ),
    "layout": _object(
        {
            "id": _text("Id within the message."),
            "speakers": _map(_RELEASES, "Backend to the releases that speak this layout."),
            "doc": _text("What changed against the layout before."),
            "notes": _texts("Where peers disagree, and the like."),
            "unverified": _maybe("string", "Why no real peer could be run against it."),
            "counts": {
                "type": "array",
                "items": {"type": "integer", "minimum": 1},
                "description": "Frame counts allowed, ascending.",
            },
            "counts_guard": {"const": False, "description": "Counts and positions skip the guard."},
            "frames": _list("frame", "Frames by position; empty for texts and bodies."),
            "text": _maybe("string", "A notification's text."),
            "keys": _list("key", "Keys of an HTTP body."),
            "derivations": _list("derivation", "Derived rules that apply here."),
            "invariants": _list("invariant", "Invariants that apply here."),
            "fingerprint": {
                "type": "string",
                "pattern": "^[0-9a-f]{64}$",
                "description": "SHA-256 of the canonical layout, as in protocol/released.lock.",
            },
        }
    ),
    "recognise": {
        "description": "How a message announces itself: a constant, a decimal, its guard.",
        "oneOf": [
            {"type": "null"},
            _object({"frame": {"type": "integer"}, "equals": {"type": "string"}}),
            _object({"frame": {"type": "integer"}, "is": {"enum": ["decimal", "guard"]}}),
        ],
    },
    "message": _object(
        {
            "name": _text("Name, one per backend and group."),
            "class": _text("The generated class."),
            "group": _text("Package of the generated class."),
            "module": _text("Module of the generated class."),
            "backends": _texts("Backends that have it, inheriting ones included."),
            "aliases": _texts("Other spellings of the name."),
            "transport": {"enum": ["zmq", "notification", "http"]},
            "directions": _texts("Each `a -> b`."),
            "doc": _text("What it is for."),
            "guard": _maybe("string", "A frame before frame 0 that positions do not count."),
            "recognise": {"$ref": "#/$defs/recognise"},
            "notes": _texts("What holds for every layout."),
            "absent": _map(
                _object({"releases": _RELEASES, "why": _text("Why they lack it.")}),
                "Backend to the releases that do not have the message.",
            ),
            "method": _maybe("string", "HTTP method."),
            "path": _maybe("string", "HTTP path."),
            "body": {"enum": ["json", "query", None]},
            "part": {"enum": ["request", "response", None]},
            "source": _text("The spec file, from the project's root."),
            "fields": _list("field", "Fields of the message."),
            "invariants": _list("invariant", "All invariants of the message."),
            "layouts": _list("layout", "Layouts, oldest first."),
        }
    ),
}

SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "pdwire spec export",
    **_object(
        {
            "schema": {"const": "pdwire.spec/1"},
            "releases": _RELEASES,
            "backends": _list("backend", "Backends and the releases that have them."),
            "concepts": _map({"type": "string"}, "What a value means, whoever sends it."),
            "messages": _list("message", "Every message, by group and file."),
        }
    ),
    "$defs": _DEFS,
}
