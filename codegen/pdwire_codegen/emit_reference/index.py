"""The index: backends, messages, concepts."""

from __future__ import annotations

from pdwire_codegen.emit_reference.markdown import paragraph, section, table
from pdwire_codegen.emit_reference.words import MARK, directions, page_path, releases
from pdwire_codegen.model import Message, Spec


def index_page(spec: Spec) -> str:
    """The index's text."""
    messages, layouts = len(spec.messages), sum(len(item.layouts) for item in spec.messages)
    lines = [
        MARK.format(source="protocol/"),
        "",
        "# Reference",
        "",
        *paragraph(
            f"{messages} messages in {layouts} layouts, as spoken by {len(spec.releases)} releases "
            f"({spec.releases[0]} – {spec.releases[-1]}). The language of the spec is described in "
            "[spec-language.md](../spec-language.md), its rules in [rules.md](rules.md)."
        ),
        *section("Backends", [*_backends(spec), ""]),
        *_groups(spec),
        *section("Concepts", [*_concepts(spec), ""]),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _backends(spec: Spec) -> list[str]:
    rows = [
        (item.name, releases(item.releases, spec.releases), item.inherits or "", item.doc)
        for item in spec.backends
    ]
    return table(("Backend", "Releases", "Inherits from", "What it is"), rows)


def _groups(spec: Spec) -> list[str]:
    lines: list[str] = []
    for group in dict.fromkeys(item.group for item in spec.messages):
        rows = [_row(item) for item in spec.messages if item.group == group]
        head = ("Message", "Direction", "Backends", "Layouts", "Purpose")
        lines += section(f"Messages: {group}", [*table(head, rows), ""])
    return lines


def _row(message: Message) -> tuple[str, ...]:
    return (
        f"[{message.name}]({page_path(message)})",
        directions(message),
        ", ".join(message.backends),
        str(len(message.layouts)),
        message.doc,
    )


def _concepts(spec: Spec) -> list[str]:
    """Every concept, and the messages that have a field of it."""
    rows = []
    for name, doc in sorted(spec.concepts.items()):
        users = [
            f"[{item.name}]({page_path(item)})"
            for item in spec.messages
            if any(field.concept == name for field in item.fields)
        ]
        rows.append((name, doc, ", ".join(users)))
    return table(("Concept", "What it means", "Messages"), rows)
