"""Rules of notification texts: they parse, and come apart in one way only."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from pdwire_codegen.draft import DraftMessage
from pdwire_codegen.facts import template_of
from pdwire_codegen.rules.rule import Finding, Rule, at, each_message
from pdwire_codegen.texts import Part, Template, TextError, parse_text


def text_form(message: DraftMessage) -> Iterator[Finding]:
    """Braces and brackets are in order, and the text is printable ASCII."""
    for layout in message.layouts:
        if layout.text is None:
            continue
        path = (*layout.path, "text")
        hint = '"{room}_kv_{chunk_id}[_{pp_rank}]"'
        try:
            parse_text(layout.text)
        except TextError as error:
            yield at(message.document, path, f"text of {layout.id}: {error}", hint)
        if not layout.text.isascii() or not layout.text.isprintable():
            yield at(message.document, path, f"text of {layout.id} is not printable ASCII", hint)


def text_adjacent(message: DraftMessage) -> Iterator[Finding]:
    """Something stands between two placeholders."""
    for layout in message.layouts:
        template = template_of(layout)
        for left, right in _pairs(template.parts if template else ()):
            if left.field is not None and right.field is not None:
                path = (*layout.path, "text")
                text = f"text of {layout.id}: nothing separates {left.field} and {right.field}"
                yield at(message.document, path, text, "no reader could tell where one ends")


def _pairs(parts: tuple[Part, ...]) -> Iterator[tuple[Part, Part]]:
    return pairwise(parts)


def text_ambiguous(message: DraftMessage) -> Iterator[Finding]:
    """A text comes apart in one way: numbers end at a non-digit, free text is last."""
    for layout in message.layouts:
        template = template_of(layout)
        if template is None:
            continue
        for wrong in _ambiguities(message, template):
            path = (*layout.path, "text")
            hint = "separate numbers by other characters; a text may only be the last placeholder"
            yield at(message.document, path, f"text of {layout.id}: {wrong}", hint)


def _ambiguities(message: DraftMessage, template: Template) -> Iterator[str]:
    fields = message.everything()
    numbers = {name for name, item in fields.items() if item.type in ("dec", "flag")}
    free = [name for name in template.fields if name in fields and fields[name].type == "text"]
    for left, right in _pairs(template.parts):
        if left.field in numbers and right.literal and right.literal[0] in "0123456789":
            yield f"{left.field} runs into the digits behind it"
    last = template.parts[-1].field if template.parts else None
    for name in free:
        if name != last:
            yield f"{name} is free text, takes the rest, and is not at the end"


RULES = (
    Rule(
        id="text-form",
        holds="A text is printable ASCII with {fields} and one [optional tail] at its end.",
        check=each_message(text_form),
    ),
    Rule(
        id="text-adjacent",
        holds="Two placeholders do not touch.",
        check=each_message(text_adjacent),
    ),
    Rule(
        id="text-ambiguous",
        holds="A text comes apart in one way only.",
        check=each_message(text_ambiguous),
    ),
)
