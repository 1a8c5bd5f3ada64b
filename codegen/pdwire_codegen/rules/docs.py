"""Rules of documentation: nothing without a line that says what it is."""

from __future__ import annotations

from collections.abc import Iterator

from pdwire_codegen.draft import Draft, DraftMessage
from pdwire_codegen.facts import by_age
from pdwire_codegen.kinds import kind_of
from pdwire_codegen.rules.rule import Finding, Path, Rule, at, each_message


def _blank(text: str | None) -> bool:
    return text is None or not text.strip()


def _undocumented(draft: Draft, message: DraftMessage) -> Iterator[tuple[str, Path]]:
    if _blank(message.doc):
        yield f"message {message.shown}", ("message", "doc")
    for field in (*message.fields, *message.derived):
        if _blank(field.doc):
            yield f"{field.table} {field.name}", (*field.path, "doc")
    for layout in by_age(draft, message)[1:]:
        if _blank(layout.doc):
            yield f"layout {layout.id}", (*layout.path, "doc")
    for invariant in message.invariants:
        if _blank(invariant.doc):
            yield f"invariant {invariant.id or ''}", (*invariant.path, "doc")


def missing_doc(draft: Draft) -> Iterator[Finding]:
    """Messages, fields, layouts behind the first, invariants, backends, concepts."""
    for message in draft.messages:
        for what, path in _undocumented(draft, message):
            yield at(message.document, path, f"{what} has no doc", 'add doc = "…"')
    for backend in draft.protocol.backends:
        if _blank(backend.doc):
            where = ("backend", backend.name, "doc")
            yield at(draft.protocol.document, where, f"backend {backend.name} has no doc", "")
    for name, doc in draft.concepts.docs.items():
        if _blank(doc):
            yield at(draft.concepts.document, ("concept", name), f"concept {name} says nothing")
    for name, doc in draft.concepts.units.items():
        if _blank(doc):
            yield at(draft.concepts.document, ("unit", name), f"unit {name} says nothing")


def missing_unit(message: DraftMessage) -> Iterator[Finding]:
    """A number says what it counts, if only that it has no unit."""
    for field in message.fields:
        kind = kind_of(field.type)
        if kind is None or not kind.value.startswith("int"):
            continue
        if field.unit is None:
            text = f"field {field.name} is a number without a unit"
            yield at(message.document, field.path, text, 'add unit = "…" ("" if it has none)')


def unused_concept(draft: Draft) -> Iterator[Finding]:
    """A concept is what some field means."""
    used = {
        field.concept for message in draft.messages for field in (*message.fields, *message.derived)
    }
    for name in draft.concepts.docs:
        if name not in used:
            path = ("concept", name)
            yield at(draft.concepts.document, path, f"no field has the concept {name}", "drop it")


RULES = (
    Rule(
        id="missing-doc",
        holds="Messages, fields, later layouts, invariants, backends, concepts, units have a doc.",
        check=missing_doc,
    ),
    Rule(
        id="missing-unit",
        holds='A field of numbers has a unit, or unit = "".',
        check=each_message(missing_unit),
    ),
    Rule(id="unused-concept", holds="Every concept is that of a field.", check=unused_concept),
)
