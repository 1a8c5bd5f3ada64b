"""The spec as one JSON file: what the second reading and every other language stand on.

Rules: the shape is described by :mod:`json_schema` and changes only with its version;
order is that of the model; a value that fits one line stands on one line.
"""

from __future__ import annotations

import json

from pdwire_codegen.json_schema import SCHEMA
from pdwire_codegen.json_values import Json, meanings_json
from pdwire_codegen.model import (
    Backend,
    Derivation,
    Field,
    Frame,
    Invariant,
    Key,
    Layout,
    Message,
    Recognise,
    Spec,
)

SPEC_PATH = "src/pdwire/wire/spec.json"
SCHEMA_PATH = "docs/schema/spec.schema.json"
VERSION = "pdwire.spec/1"

_WIDTH = 100


def emit(spec: Spec) -> dict[str, str]:
    """The export and its JSON Schema, by path from the root."""
    return {SPEC_PATH: render(spec_json(spec)), SCHEMA_PATH: render(SCHEMA)}


def spec_json(spec: Spec) -> Json:
    """The whole spec as plain JSON values."""
    return {
        "schema": VERSION,
        "releases": list(spec.releases),
        "backends": [_backend(item) for item in spec.backends],
        "concepts": dict(sorted(spec.concepts.items())),
        "messages": [message_json(item) for item in spec.messages],
    }


def _backend(backend: Backend) -> Json:
    return {
        "name": backend.name,
        "doc": backend.doc,
        "inherits": backend.inherits,
        "releases": list(backend.releases),
    }


def message_json(message: Message) -> dict[str, Json]:
    """One message with its fields and layouts."""
    return {
        "name": message.name,
        "class": message.class_name,
        "group": message.group,
        "module": message.module,
        "backends": list(message.backends),
        "aliases": list(message.aliases),
        "transport": message.transport,
        "directions": list(message.directions),
        "doc": message.doc,
        "guard": message.guard,
        "recognise": _recognise(message.recognise),
        "notes": list(message.notes),
        "absent": {
            backend: {"releases": list(releases), "why": why}
            for backend, (releases, why) in message.absent.items()
        },
        "method": message.method,
        "path": message.path,
        "body": message.body,
        "part": message.part,
        "source": message.source,
        "fields": [_field(item) for item in message.fields],
        "invariants": [_invariant(item) for item in message.invariants],
        "layouts": [layout_json(item) for item in message.layouts],
    }


def _recognise(rule: Recognise | None) -> Json:
    if rule is None:
        return None
    if rule.equals is not None:
        return {"frame": rule.frame, "equals": rule.equals}
    return {"frame": rule.frame, "is": rule.is_}


def _field(field: Field) -> Json:
    return {
        "name": field.name,
        "type": field.type,
        "unit": field.unit,
        "concept": field.concept,
        "doc": field.doc,
        "min": field.min,
        "max": field.max,
        "allowed": list(field.allowed),
        **meanings_json(empty=field.empty),
        "writes_empty": field.writes_empty,
        **meanings_json(absent=field.absent),
        "ignorable": field.ignorable,
        "derived": field.derived,
    }


def layout_json(layout: Layout) -> dict[str, Json]:
    """One layout with all that travels, and its fingerprint."""
    return {
        "id": layout.id,
        "speakers": {name: list(releases) for name, releases in layout.speakers.items()},
        "doc": layout.doc,
        "notes": list(layout.notes),
        "unverified": layout.unverified,
        "counts": list(layout.counts),
        "counts_guard": False,
        "frames": [_frame(item) for item in layout.frames],
        "text": layout.text,
        "keys": [_key(item) for item in layout.keys],
        "derivations": [_derivation(item) for item in layout.derivations],
        "invariants": [_invariant(item) for item in layout.invariants],
        "fingerprint": layout.fingerprint,
    }


def _kind(frame: Frame) -> str:
    if frame.const is not None:
        return "const"
    return "field" if frame.length_of is None else "length"


def _frame(frame: Frame) -> Json:
    return {
        "position": frame.position,
        "name": frame.name,
        "kind": _kind(frame),
        "type": frame.type,
        "field": frame.field,
        "const": frame.const,
        "length_of": frame.length_of,
        "min": frame.min,
        "max": frame.max,
        "allowed": list(frame.allowed),
        **meanings_json(empty=frame.empty),
        "writes_empty": frame.writes_empty,
        **meanings_json(absent=frame.absent),
        "unread": frame.unread,
    }


def _key(key: Key) -> Json:
    return {
        "key": key.key,
        "field": key.field,
        "type": key.type,
        "optional": key.optional,
        **meanings_json(absent=key.absent),
    }


def _derivation(rule: Derivation) -> Json:
    return {"field": rule.field, "when": dict(rule.when)}


def _invariant(invariant: Invariant) -> Json:
    return {
        "id": invariant.id,
        "kind": invariant.kind,
        "fields": list(invariant.fields),
        "optional": list(invariant.optional),
        "doc": invariant.doc,
    }


def render(value: Json) -> str:
    """JSON text that a person can read and ``git diff`` can show, with a final newline."""
    return _render(value, "") + "\n"


def _render(value: Json, indent: str, lead: int = 0) -> str:
    """``value`` at ``indent``, where ``lead`` columns of its first line are taken."""
    line = json.dumps(value, ensure_ascii=False)
    room = _WIDTH - len(indent) - lead
    if not isinstance(value, dict | list) or not value or len(line) <= room:
        return line
    inner = indent + " "
    if isinstance(value, dict):
        heads = [json.dumps(key, ensure_ascii=False) + ": " for key in value]
        items = [
            inner + head + _render(item, inner, len(head))
            for head, item in zip(heads, value.values(), strict=True)
        ]
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    if not any(isinstance(item, dict | list) for item in value):
        return f"[\n{_filled(value, inner)}\n{indent}]"
    return "[\n" + ",\n".join(inner + _render(item, inner) for item in value) + f"\n{indent}]"


def _filled(items: list[Json], indent: str) -> str:
    """Scalars, as many on a line as fit."""
    lines = [indent]
    for item in items:
        word = json.dumps(item, ensure_ascii=False) + ", "
        if len(lines[-1]) + len(word.rstrip()) > _WIDTH and lines[-1] != indent:
            lines.append(indent)
        lines[-1] += word
    return "\n".join(line.rstrip() for line in lines).removesuffix(",")
