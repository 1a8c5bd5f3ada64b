"""One message's page."""

from __future__ import annotations

from pdwire_codegen.emit_reference.markdown import bullets, paragraph, section, table
from pdwire_codegen.emit_reference.positions import (
    KEY_LEGEND,
    LEGEND,
    key_table,
    position_table,
    speaker_table,
    text_table,
)
from pdwire_codegen.emit_reference.words import (
    MARK,
    code,
    counts,
    directions,
    limits,
    meaning,
    recognition,
    releases,
    title,
    transport,
)
from pdwire_codegen.model import (
    REQUIRED,
    Derivation,
    Field,
    Frame,
    Invariant,
    Layout,
    Message,
    Spec,
)


def message_page(message: Message, spec: Spec) -> str:
    """The page's text."""
    lines = [
        MARK.format(source=message.source),
        "",
        f"# {title(message)}",
        "",
        *paragraph(message.doc),
        *table(("", ""), _facts(message)),
        "",
        *section("Releases", [*speaker_table(message, spec), "", *_absent(message, spec)]),
        *section(_heading(message), [*_positions(message), ""]),
        *section("Fields", [*_fields(message), ""]),
        *section("Rules", _rules(message)),
        *section("Notes", bullets(message.notes)),
        *section(
            "Layouts", [line for item in message.layouts for line in _layout(message, item, spec)]
        ),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _facts(message: Message) -> list[tuple[str, str]]:
    guard = (
        f"{code(message.guard)} before frame 0; positions and counts skip it"
        if message.guard
        else ""
    )
    facts = [
        ("Direction", directions(message)),
        ("Backends", ", ".join(message.backends)),
        ("Travels as", transport(message)),
        ("Guard", guard),
        ("Recognised by", recognition(message.recognise)),
        ("Aliases", ", ".join(map(code, message.aliases))),
        ("Class", code(f"pdwire.wire.{message.group}.{message.class_name}")),
        ("Spec", code(message.source)),
    ]
    return [fact for fact in facts if fact[1]]


def _heading(message: Message) -> str:
    return {"zmq": "Positions", "http": "Keys", "notification": "Texts"}[message.transport]


def _positions(message: Message) -> list[str]:
    if message.transport == "http":
        return [*key_table(message), "", KEY_LEGEND]
    if message.transport == "notification":
        return text_table(message)
    return [*position_table(message), "", LEGEND]


def _absent(message: Message, spec: Spec) -> list[str]:
    """Why releases lack the message, backends of one reason together."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for backend, (names, why) in message.absent.items():
        grouped.setdefault((releases(names, spec.releases), why), []).append(backend)
    return bullets(
        [f"Absent in {', '.join(names)} {span}: {why}." for (span, why), names in grouped.items()]
    )


def _fields(message: Message) -> list[str]:
    rows = [_field(item) for item in message.fields]
    head = ("Field", "Type", "Unit", "Values", "Empty frame", "Missing", "Concept", "Meaning")
    return table(head, rows)


def _field(field: Field) -> tuple[str, ...]:
    empty = "" if field.empty == () else meaning(field.empty)
    if empty and field.writes_empty:
        empty += ", written so"
    doc = field.doc + (" *Derived.*" if field.derived else "")
    doc += " *Dropped silently where a layout has no place for it.*" if field.ignorable else ""
    return (
        code(field.name),
        code(field.type),
        field.unit,
        limits(field.min, field.max, field.allowed),
        empty,
        meaning(field.absent),
        field.concept,
        doc,
    )


def _rules(message: Message) -> list[str]:
    everywhere = len(message.layouts)
    rules: list[str] = []
    for item in message.invariants:
        where = [layout.id for layout in message.layouts if item in layout.invariants]
        span = "" if len(where) == everywhere else f" In {', '.join(where)}."
        rules.append(f"{code(item.id)} ({_invariant(item)}): {item.doc}{span}")
    return bullets([*rules, *_derived(message)])


def _invariant(item: Invariant) -> str:
    names = ", ".join(map(code, item.fields))
    excused = f", unless {' or '.join(map(code, item.optional))} is empty" if item.optional else ""
    return f"{item.kind.replace('_', ' ')}: {names}{excused}"


def _derived(message: Message) -> list[str]:
    """Each derived rule with the layouts in which it holds."""
    found: dict[Derivation, list[str]] = {}
    for layout in message.layouts:
        for rule in layout.derivations:
            found.setdefault(rule, []).append(layout.id)
    return [
        f"{code(rule.field)} in {', '.join(where)}: {_conditions(rule)}."
        for rule, where in found.items()
    ]


def _conditions(rule: Derivation) -> str:
    words = [f"{code(field)} is {condition}" for field, condition in rule.when]
    return "true when " + " and ".join(words).replace("is falsy", "is none or 0")


def _layout(message: Message, layout: Layout, spec: Spec) -> list[str]:
    spoken: dict[str, list[str]] = {}
    for backend, names in layout.speakers.items():
        spoken.setdefault(releases(names, spec.releases), []).append(backend)
    who = "; ".join(f"{', '.join(names)} {span}" for span, names in spoken.items())
    facts = [f"Spoken by {who}."]
    if message.transport == "zmq":
        facts.append(f"{counts(layout.counts, message.guard)}.")
    facts.append(f"Fingerprint {code(layout.fingerprint[:16])}.")
    own = [note for frame in layout.frames if (note := _own(message, frame))]
    unverified = [f"Not verified: {layout.unverified}"] if layout.unverified else []
    return [
        f"### {layout.id}",
        "",
        *paragraph(layout.doc),
        *paragraph(" ".join(facts)),
        *bullets([*own, *unverified, *layout.notes]),
    ]


def _own(message: Message, frame: Frame) -> str:
    """What a layout makes of a field that the table of fields does not say."""
    if frame.field is None:
        return ""
    field = message.field_named(frame.field)
    said: list[str] = []
    if frame.type != field.type:
        said.append(f"is {code(frame.type)}")
    if (frame.min, frame.max) != (field.min, field.max):
        said.append(f"has values {limits(frame.min, frame.max, ())}")
    if frame.empty not in (field.empty, ()):
        word = meaning(frame.empty)
        said.append(f"means {word} when empty" if word else "may not be empty")
    if frame.absent is not REQUIRED and frame.absent != field.absent:
        said.append(f"means {meaning(frame.absent)} when missing")
    return f"Frame {frame.position}, {code(frame.field)}, {' and '.join(said)}." if said else ""
