"""Rules of invariants and derived fields."""

from __future__ import annotations

from collections.abc import Iterator

from pdwire_codegen.diagnostics import did_you_mean
from pdwire_codegen.draft import DraftField, DraftInvariant, DraftMessage
from pdwire_codegen.facts import may_be_none, placed
from pdwire_codegen.kinds import Kind, kind_of
from pdwire_codegen.rules.rule import Finding, Path, Rule, at, each_message

KINDS = ("same_length", "same_count", "less", "needs")
CONDITIONS = ("empty", "none", "negative", "falsy")


def invariant_kind(message: DraftMessage) -> Iterator[Finding]:
    """The kind is one of the language; ids are not repeated."""
    seen: set[str] = set()
    for item in message.invariants:
        if item.kind is not None and item.kind not in KINDS:
            hint = did_you_mean(item.kind, KINDS)
            yield at(message.document, (*item.path, "kind"), f"unknown kind {item.kind!r}", hint)
        if item.id in seen:
            text = f"a second invariant {item.id!r}"
            yield at(message.document, (*item.path, "id"), text, "give it an id of its own")
        seen.add(item.id or "")


def invariant_field(message: DraftMessage) -> Iterator[Finding]:
    """Invariants speak of fields of the message, and excuse only their own."""
    fields = message.everything()
    for item in message.invariants:
        for name in item.fields:
            if name not in fields:
                text = f"invariant {item.id} names the unknown field {name!r}"
                hint = did_you_mean(name, fields)
                yield at(message.document, (*item.path, "fields"), text, hint)
        for name in item.optional:
            if name not in item.fields:
                text = f"invariant {item.id} excuses {name!r}, which it does not check"
                hint = did_you_mean(name, item.fields)
                yield at(message.document, (*item.path, "optional"), text, hint)


def invariant_arity(message: DraftMessage) -> Iterator[Finding]:
    """`less` and `needs` have two fields, the others at least two; no field twice."""
    for item in message.invariants:
        if item.kind not in KINDS or ("fields" not in _given(message, item)):
            continue
        exact = item.kind in ("less", "needs")
        few = len(item.fields) < 2 or (exact and len(item.fields) != 2)
        if few or len(set(item.fields)) != len(item.fields):
            text = f"invariant {item.id}: {item.kind} cannot have fields {list(item.fields)}"
            hint = f"{item.kind} takes {'two' if exact else 'two or more'} different fields"
            yield at(message.document, (*item.path, "fields"), text, hint)


def _given(message: DraftMessage, item: DraftInvariant) -> set[str | int]:
    depth = len(item.path)
    return {
        path[depth]
        for path in message.document.lines
        if path[:depth] == item.path and len(path) > depth
    }


def invariant_type(message: DraftMessage) -> Iterator[Finding]:
    """Lengths are those of lists, counts those of lists, and numbers are compared."""
    fields = message.everything()
    for item in message.invariants:
        for name in item.fields:
            kind = kind_of(fields[name].type) if name in fields else None
            if kind is None or (wanted := _wanted(item.kind, kind)) is None:
                continue
            text = f"invariant {item.id}: {name} is {kind.name}, and {item.kind} needs {wanted}"
            yield at(message.document, (*item.path, "fields"), text, "name other fields")
        yield from _mixed(message, item)


def _mixed(message: DraftMessage, item: DraftInvariant) -> Iterator[Finding]:
    fields = message.everything()
    kinds = [kind_of(fields[name].type) for name in item.fields if name in fields]
    nested = {kind.is_nested for kind in kinds if kind is not None and kind.is_list}
    if item.kind == "same_length" and len(nested) > 1:
        text = f"invariant {item.id}: a nested list has a shape, and a flat one a length"
        yield at(message.document, (*item.path, "fields"), text, "same_count counts components")


def _wanted(invariant: str | None, kind: Kind) -> str | None:
    """What the invariant needs instead of this type, or ``None`` if it will do."""
    if invariant in ("same_length", "same_count") and not kind.is_list:
        return "lists"
    if invariant == "less" and not kind.is_int:
        return "integers"
    return None


def invariant_layout(message: DraftMessage) -> Iterator[Finding]:
    """An invariant holds in some layout, and the layouts it names have its fields."""
    carried = {layout.id: _values(message, layout.id) for layout in message.layouts}
    fields = message.everything()
    for item in message.invariants:
        if not all(name in fields for name in item.fields):
            continue
        for name in item.layouts or ():
            path: Path = (*item.path, "layouts")
            if name not in carried:
                text = f"invariant {item.id} names the unknown layout {name!r}"
                yield at(message.document, path, text, did_you_mean(name, carried))
            elif not set(item.fields) <= carried[name]:
                lacking = ", ".join(sorted(set(item.fields) - carried[name]))
                text = f"invariant {item.id}: layout {name} has no {lacking}"
                yield at(message.document, path, text, "name layouts that have all its fields")
        if item.layouts is None and not any(set(item.fields) <= have for have in carried.values()):
            text = f"no layout has all the fields of invariant {item.id}"
            yield at(message.document, (*item.path, "fields"), text, "it would never be checked")


def _values(message: DraftMessage, layout_id: str) -> set[str]:
    """Fields that have a value from a layout's own frames, or from a rule on them."""
    layout = next(item for item in message.layouts if item.id == layout_id)
    derived = {item.name for item in message.derived}
    return {name for name, _ in placed(layout)} | derived


def _rules(message: DraftMessage) -> Iterator[tuple[str, dict[str, str], Path]]:
    """Every derived rule: the field, its conditions, its place."""
    for item in message.derived:
        yield item.name, item.when, (*item.path, "when")
    for layout in message.layouts:
        for name, when in layout.derived.items():
            yield name, when, (*layout.path, "derived", name)


def derived_field(message: DraftMessage) -> Iterator[Finding]:
    """A rule derives a declared field from other declared fields."""
    fields = message.everything()
    derived = {item.name for item in message.derived}
    for layout in message.layouts:
        for name in layout.derived:
            if name not in derived:
                path = (*layout.path, "derived", name)
                hint = did_you_mean(name, derived) if derived else f"add [derived.{name}]"
                text = f"layout {layout.id} derives {name!r}, which has no [derived]"
                yield at(message.document, path, text, hint)
            elif not layout.frames and name in dict(placed(layout)):
                path = (*layout.path, "derived", name)
                text = f"layout {layout.id} says {name} itself, and has a rule for it"
                yield at(message.document, path, text, "only a frame may leave it to a rule")
    for name, when, path in _rules(message):
        for source in when:
            if source not in fields or source == name or source in derived:
                text = f"{name} is derived from {source!r}, which is no other field, or derived too"
                hint = did_you_mean(source, set(fields) - derived)
                yield at(message.document, (*path, source), text, hint)
            elif fields[source].ignorable:
                text = f"{name} is derived from {source}, which may be dropped"
                yield at(message.document, (*path, source), text, "a rule looks at what was sent")


def derived_condition(message: DraftMessage) -> Iterator[Finding]:
    """A condition is one of the language, and can hold for its field's type."""
    fields = message.everything()
    for name, when, path in _rules(message):
        if not when and message.document.lines.get(path):
            yield at(message.document, path, f"the rule of {name} has no condition", "")
        for source, condition in when.items():
            if condition not in CONDITIONS:
                text = f"unknown condition {condition!r}"
                hint = did_you_mean(condition, CONDITIONS)
                yield at(message.document, (*path, source), text, hint)
            elif source in fields and not _can_hold(message, fields[source], condition):
                text = f"{source} is {fields[source].type} and is never {condition}"
                hint = "lists, bytes and texts are empty; integers are negative or falsy; "
                hint += 'a field is none where "none" is what its empty or absent frame means'
                yield at(message.document, (*path, source), text, hint)


def _can_hold(message: DraftMessage, field: DraftField, condition: str) -> bool:
    kind = kind_of(field.type)
    if kind is None:
        return True
    if condition == "empty":
        return kind.is_list or kind.value in ("bytes", "str")
    if condition == "negative":
        return kind.is_int
    if condition == "none":
        return may_be_none(message, field)
    return kind.is_int or kind.value == "bool"


def derived_type(message: DraftMessage) -> Iterator[Finding]:
    """A rule gives true or false; a frame of the same name carries the same thing."""
    fields = {item.name: item for item in message.fields}
    for item in message.derived:
        kind = kind_of(item.type)
        if kind is not None and kind.value != "bool":
            text = f"derived {item.name} is {item.type}, and a rule gives true or false"
            yield at(message.document, (*item.path, "type"), text, 'use type = "flag"')
        twin = fields.get(item.name)
        if twin is not None and (twin.type, twin.concept) != (item.type, item.concept):
            text = f"field and derived {item.name} differ in type or concept"
            yield at(message.document, item.path, text, "they are one field")


RULES = (
    Rule(
        id="invariant-kind",
        holds="An invariant is of a known kind and has an id of its own.",
        check=each_message(invariant_kind),
    ),
    Rule(
        id="invariant-field",
        holds="Invariants name fields of the message and excuse only their own.",
        check=each_message(invariant_field),
    ),
    Rule(
        id="invariant-arity",
        holds="An invariant has as many fields as its kind takes.",
        check=each_message(invariant_arity),
    ),
    Rule(
        id="invariant-type",
        holds="An invariant's fields have types that its kind can compare.",
        check=each_message(invariant_type),
    ),
    Rule(
        id="invariant-layout",
        holds="An invariant's layouts exist and have all its fields.",
        check=each_message(invariant_layout),
    ),
    Rule(
        id="derived-field",
        holds="A derived rule is that of a declared field and looks at other fields.",
        check=each_message(derived_field),
    ),
    Rule(
        id="derived-condition",
        holds="A condition is known and can hold for its field.",
        check=each_message(derived_condition),
    ),
    Rule(
        id="derived-type",
        holds="A derived field is a flag, and agrees with the field of its name.",
        check=each_message(derived_type),
    ),
)
