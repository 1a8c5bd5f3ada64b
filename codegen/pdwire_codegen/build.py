"""A clean draft to the model.

Rules: no checks here. Whatever a rule promises is relied upon; what was folded for the
rules is folded by the same functions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, cast

from pdwire_codegen.draft import (
    Draft,
    DraftField,
    DraftKey,
    DraftLayout,
    DraftMessage,
    DraftProtocol,
)
from pdwire_codegen.facts import (
    absent_of,
    by_age,
    derivation_of,
    fold,
    meaning_of,
    placed,
    range_of,
    speakers,
    with_heirs,
)
from pdwire_codegen.kinds import Kind, kind_of
from pdwire_codegen.lock import fingerprint
from pdwire_codegen.meanings import empty_of, writes_empty_of
from pdwire_codegen.model import (
    REQUIRED,
    Backend,
    Condition,
    Derivation,
    Field,
    Invariant,
    InvariantKind,
    Key,
    Layout,
    Message,
    Recognise,
    Transport,
)

Body = Literal["json", "query"]
Part = Literal["request", "response"]
Sign = Literal["decimal", "guard"]


def build_backends(protocol: DraftProtocol) -> tuple[Backend, ...]:
    """Backends in file order."""
    return tuple(
        Backend(
            name=item.name,
            doc=item.doc or "",
            releases=protocol.releases_of(item.name),
            inherits=item.inherits,
        )
        for item in protocol.backends
    )


def build_message(draft: Draft, written: DraftMessage) -> Message:
    """One message with its layouts, oldest first, fingerprints included."""
    assert written.name is not None
    assert written.class_name is not None
    message = Message(
        name=written.name,
        class_name=written.class_name,
        group=written.group,
        module=written.module,
        backends=_backends(draft.protocol, written),
        transport=cast(Transport, written.transport),
        directions=written.directions,
        doc=_text(written.doc),
        fields=_fields(written),
        layouts=tuple(_layout(draft, written, item) for item in by_age(draft, written)),
        invariants=_invariants(written, None),
        aliases=written.aliases,
        guard=written.guard,
        recognise=_recognise(written),
        notes=written.notes,
        absent=_absent(draft.protocol, written),
        method=written.method,
        path=written.http_path,
        body=cast(Body | None, written.body),
        part=cast(Part | None, written.part),
        source=f"protocol/{written.group}/{written.module}.toml",
    )
    layouts = tuple(
        replace(layout, fingerprint=fingerprint(message, layout)) for layout in message.layouts
    )
    return replace(message, layouts=layouts)


def _text(doc: str | None) -> str:
    """A doc without the blanks around it."""
    return (doc or "").strip()


def _backends(protocol: DraftProtocol, written: DraftMessage) -> tuple[str, ...]:
    """The message's own backends, each followed by those that inherit from it."""
    return tuple(name for own in written.backends for name in (own, *protocol.children(own)))


def _recognise(written: DraftMessage) -> Recognise | None:
    rule = written.recognise
    if rule is None or rule.frame is None:
        return None
    return Recognise(frame=rule.frame, equals=rule.equals, is_=cast(Sign | None, rule.is_))


def _absent(
    protocol: DraftProtocol, written: DraftMessage
) -> dict[str, tuple[tuple[str, ...], str]]:
    """Per backend, those that inherit included: releases that it has, and why."""
    absent: dict[str, tuple[tuple[str, ...], str]] = {}
    for item in written.absent:
        named = absent_of(protocol, written, item.backend)
        for backend in (item.backend, *protocol.children(item.backend)):
            having = protocol.releases_of(backend)
            releases = tuple(release for release in named if release in having)
            if releases:
                absent[backend] = (releases, _text(item.why))
    return absent


def _fields(written: DraftMessage) -> tuple[Field, ...]:
    """Fields in file order; derived ones without a frame of their own behind them."""
    derived = {item.name for item in written.derived}
    fields = [_field(written, item, derived=item.name in derived) for item in written.fields]
    own = {item.name for item in written.fields}
    fields += [
        _field(written, item, derived=True) for item in written.derived if item.name not in own
    ]
    return tuple(fields)


def _field(written: DraftMessage, item: DraftField, *, derived: bool) -> Field:
    kind = _kind(item.type)
    low, high = range_of(kind, item.min, item.max)
    empty = empty_of(meaning_of(item.empty, kind), kind)
    return Field(
        name=item.name,
        type=kind.name,
        unit=item.unit or "",
        concept=item.concept or "",
        doc=_text(item.doc),
        min=low,
        max=high,
        allowed=item.allowed or (),
        empty=empty,
        writes_empty=writes_empty_of(empty, written=item.writes_empty, bounds=(low, high)),
        absent=meaning_of(item.absent, kind),
        ignorable=item.ignorable,
        derived=derived,
        line=written.document.line(*item.path),
    )


def _kind(name: str | None) -> Kind:
    kind = kind_of(name)
    assert kind is not None
    return kind


def _layout(draft: Draft, written: DraftMessage, item: DraftLayout) -> Layout:
    frames = [frame for entry in item.frames if (frame := fold(written, item, entry)) is not None]
    return Layout(
        id=item.id,
        speakers=with_heirs(draft.protocol, speakers(draft.protocol, written, item)),
        doc=_text(item.doc),
        notes=item.notes,
        unverified=item.unverified,
        counts=_counts(written, item),
        frames=tuple(frames),
        text=item.text,
        keys=tuple(_key(written, key) for key in item.keys),
        derivations=_derivations(written, item),
        invariants=_invariants(written, item),
        line=written.document.line(*item.path),
    )


def _counts(written: DraftMessage, item: DraftLayout) -> tuple[int, ...]:
    """Frame counts allowed; a notification or body is one frame."""
    if written.transport != "zmq":
        return (1,)
    return item.counts or (len(item.frames),)


def _key(written: DraftMessage, item: DraftKey) -> Key:
    field = written.everything()[item.field or ""]
    kind = _kind(field.type)
    own = meaning_of(item.absent, kind)
    absent = meaning_of(field.absent, kind) if own is REQUIRED else own
    return Key(
        key=item.key,
        field=field.name,
        type=kind.name,
        optional=item.optional,
        absent=absent if item.optional else REQUIRED,
    )


def _derivations(written: DraftMessage, layout: DraftLayout) -> tuple[Derivation, ...]:
    found = [(item.name, derivation_of(written, layout, item.name)) for item in written.derived]
    return tuple(
        Derivation(
            field=name,
            when=tuple((source, cast(Condition, condition)) for source, condition in when.items()),
        )
        for name, when in found
        if when is not None
    )


def _invariants(written: DraftMessage, layout: DraftLayout | None) -> tuple[Invariant, ...]:
    """Those that apply to a layout, or all of them."""
    return tuple(
        Invariant(
            id=item.id or "",
            kind=cast(InvariantKind, item.kind),
            fields=item.fields,
            doc=_text(item.doc),
            optional=item.optional,
        )
        for item in written.invariants
        if layout is None or _applies(written, layout, item.layouts, item.fields)
    )


def _applies(
    written: DraftMessage,
    layout: DraftLayout,
    named: tuple[str, ...] | None,
    fields: tuple[str, ...],
) -> bool:
    if named is not None:
        return layout.id in named
    carried = {name for name, _ in placed(layout)} | {item.name for item in written.derived}
    return set(fields) <= carried
