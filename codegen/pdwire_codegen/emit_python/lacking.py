"""Fields that a layout does not carry: what they read as, and what is lost in writing.

The same for frames, texts and bodies: a derived field comes from the layout's rule, any
other from what its absence means; encoding a value that differs from that would lose
it, so it is refused unless the spec lets it go.
"""

from __future__ import annotations

from pdwire_codegen.emit_python import expressions as ex
from pdwire_codegen.emit_python.writing import call, choice, literal
from pdwire_codegen.model import Field, Layout, Message, Repeat

__all__ = ["assignments", "losses", "places"]


def _lacking(message: Message, held: set[str]) -> list[Field]:
    return [field for field in message.fields if field.name not in held]


def places(message: Message, layout: Layout, held: set[str]) -> list[str]:
    """``_NO_X = Place(…)`` of each field that would be lost."""
    rules = {rule.field for rule in layout.derivations}
    lines: list[str] = []
    for field in _lacking(message, held):
        if field.ignorable:
            continue
        says = "what the layout's rule derives"
        if field.name not in rules:
            says = "the value that its absence means, for this layout does not carry it"
        args = ["_L", "None", literal(field.name), literal(says)]
        lines += call(f"_NO_{field.name.upper()} = Place", args)
    return lines


def assignments(
    message: Message, layout: Layout, held: set[str]
) -> tuple[list[str], list[str], list[str]]:
    """``m.x = …`` of each such field: those that stand alone, repetitions, derived ones.

    A repetition counts on what stands alone, a rule on either.
    """
    rules = {rule.field: rule for rule in layout.derivations}
    alone: list[str] = []
    repeated: list[str] = []
    derived: list[str] = []
    for field in _lacking(message, held):
        head = f"        m.{field.name} = "
        if field.name in rules:
            derived += choice(head, ex.holds(rules[field.name], message, layout, "m", held))
        else:
            line = head + ex.meaning(field.absent, field, "m")
            (repeated if isinstance(field.absent, Repeat) else alone).append(line)
    return alone, repeated, derived


def losses(message: Message, layout: Layout, held: set[str]) -> list[str]:
    """``if …: lossy(…)`` of each such field."""
    rules = {rule.field: rule for rule in layout.derivations}
    lines: list[str] = []
    for field in _lacking(message, held):
        if field.ignorable:
            continue
        value = f"message.{field.name}"
        if field.name in rules:
            rule = ex.holds(rules[field.name], message, layout, "message", held)
            lines += choice("        derived = ", rule)
            test = f"{value} is not derived"
        else:
            test = ex.differs(field.absent, value, "message")
        lines += [f"        if {test}:", f"            lossy(_NO_{field.name.upper()}, {value})"]
    return lines
