"""Rules of concepts: one meaning, one kind of value, one unit, whoever sends it."""

from __future__ import annotations

from collections.abc import Iterator

from pdwire_codegen.diagnostics import did_you_mean
from pdwire_codegen.draft import Draft, DraftField, DraftMessage
from pdwire_codegen.kinds import kind_of
from pdwire_codegen.rules.rule import Finding, Rule, at, each_message_of


def unknown_concept(draft: Draft, message: DraftMessage) -> Iterator[Finding]:
    """Concepts are those of concepts.toml."""
    for field in (*message.fields, *message.derived):
        if field.concept is not None and field.concept not in draft.concepts.docs:
            path = (*field.path, "concept")
            hint = did_you_mean(field.concept, draft.concepts.docs)
            yield at(message.document, path, f"unknown concept {field.concept!r}", hint)


def _uses(draft: Draft) -> Iterator[tuple[DraftMessage, DraftField]]:
    for message in draft.messages:
        for field in (*message.fields, *message.derived):
            if field.concept is not None:
                yield message, field


def concept_type(draft: Draft) -> Iterator[Finding]:
    """All fields of a concept have one kind of value."""
    first: dict[str, tuple[str, str]] = {}
    for message, field in _uses(draft):
        kind = kind_of(field.type)
        if kind is None or field.concept is None:
            continue
        place = f"{message.document.file}:{message.document.line(*field.path)}"
        value, where = first.setdefault(field.concept, (kind.value, place))
        if value != kind.value:
            text = f"concept {field.concept} is {kind.value} here and {value} at {where}"
            hint = "one concept has one kind of value; make them two concepts or correct a type"
            yield at(message.document, (*field.path, "type"), text, hint)


def _unit_of(field: DraftField) -> str | None:
    """The unit, ``""`` where none is written; ``None`` where one has to be and is not."""
    kind = kind_of(field.type)
    must = kind is None or kind.value.startswith("int")
    return field.unit if field.unit is not None or must else ""


def concept_unit(draft: Draft) -> Iterator[Finding]:
    """All fields of a concept have one unit: that of most of them, or of the first."""
    found: dict[str, dict[str, list[str]]] = {}
    for message, field in _uses(draft):
        unit = _unit_of(field)
        known = not unit or unit in draft.concepts.units
        if unit is not None and known and field.concept is not None:
            place = f"{message.document.file}:{message.document.line(*field.path)}"
            found.setdefault(field.concept, {}).setdefault(unit, []).append(place)
    for message, field in _uses(draft):
        unit, units = _unit_of(field), found.get(field.concept or "", {})
        if unit not in units or len(units) < 2:
            continue
        usual = max(units, key=lambda one: len(units[one]))
        if unit != usual:
            where = units[usual][0]
            text = f"concept {field.concept} has unit {unit!r} here and {usual!r} at {where}"
            hint = "one concept has one unit; correct it, or make them two concepts"
            yield at(message.document, (*field.path, "unit"), text, hint)


def unknown_unit(draft: Draft, message: DraftMessage) -> Iterator[Finding]:
    """A unit is one of those declared, or none."""
    units = draft.concepts.units
    for field in (*message.fields, *message.derived):
        if field.unit and field.unit not in units:
            near = did_you_mean(field.unit, units)
            hint = f'{near}; "" for none; new ones go under [unit] in concepts.toml'
            text = f"{field.table} {field.name} has the unknown unit {field.unit!r}"
            yield at(message.document, (*field.path, "unit"), text, hint)


RULES = (
    Rule(
        id="unknown-concept",
        holds="A field's concept is in concepts.toml.",
        check=each_message_of(unknown_concept),
    ),
    Rule(
        id="concept-type",
        holds="All fields of a concept have the same kind of value.",
        check=concept_type,
    ),
    Rule(
        id="concept-unit", holds="All fields of a concept have the same unit.", check=concept_unit
    ),
    Rule(
        id="unknown-unit",
        holds='A unit is one of [unit] in concepts.toml, or "".',
        check=each_message_of(unknown_unit),
    ),
)
