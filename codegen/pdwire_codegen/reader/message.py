"""Reads the message part of a message file: what it is, its fields, its invariants."""

from __future__ import annotations

from pdwire_codegen.draft import (
    MISSING,
    DraftAbsent,
    DraftField,
    DraftInvariant,
    DraftMessage,
    DraftRecognise,
    ReleaseList,
)
from pdwire_codegen.reader.layout import read_layout
from pdwire_codegen.tables import Sink, Table
from pdwire_codegen.toml_lines import Document


def read_message(document: Document, group: str, module: str, sink: Sink) -> DraftMessage:
    """One message file."""
    top = Table(document, (), document.data, sink)
    head = top.table("message", required=True) or Table(document, ("message",), {}, Sink())
    name = head.get("name", str, required=True)
    message = DraftMessage(
        document=document,
        group=group,
        module=module,
        name=name,
        class_name=head.get("class", str) or name,
        aliases=head.texts("aliases") or (),
        backends=head.texts("backends", required=True) or (),
        transport=head.get("transport", str) or "zmq",
        directions=_directions(head),
        doc=head.get("doc", str),
        guard=head.get("guard", str),
        recognise=_recognise(head),
        notes=head.texts("notes") or (),
        method=head.get("method", str),
        http_path=head.get("path", str),
        body=head.get("body", str),
        part=head.get("part", str),
        absent=tuple(_absent(name, table) for name, table in top.tables("absent")),
        fields=tuple(_field(name, table) for name, table in top.tables("field")),
        derived=tuple(_derived(name, table) for name, table in top.tables("derived")),
        layouts=tuple(read_layout(name, table) for name, table in top.tables("layout")),
        invariants=tuple(_invariant(table) for table in top.array("invariant")),
    )
    head.done()
    top.done()
    return message


def _directions(head: Table) -> tuple[str, ...]:
    """One string, or a list of them."""
    value = head.raw("direction", required=True)
    if isinstance(value, str):
        return (value,)
    if value is None:
        return ()
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return tuple(value)
    head.wrong("direction", "a string or a list of strings")
    return ()


def _recognise(head: Table) -> DraftRecognise | None:
    table = head.table("recognise")
    if table is None:
        return None
    recognise = DraftRecognise(
        frame=table.get("frame", int, required=True),
        equals=table.get("equals", str),
        is_=table.get("is", str),
    )
    table.done()
    return recognise


def read_releases(table: Table) -> ReleaseList:
    """The ``releases`` of a table."""
    items = table.texts("releases", required=True) or ()
    return ReleaseList(items=items, path=(*table.path, "releases"))


def _absent(name: str, table: Table) -> DraftAbsent:
    absent = DraftAbsent(
        backend=name,
        releases=read_releases(table),
        why=table.get("why", str, required=True),
    )
    table.done()
    return absent


def _meaning(table: Table, key: str) -> object:
    value = table.raw(key)
    return MISSING if value is None else value


def _field(name: str, table: Table) -> DraftField:
    field = DraftField(
        table="field",
        name=name,
        type=table.get("type", str, required=True),
        unit=table.get("unit", str),
        concept=table.get("concept", str, required=True),
        doc=table.get("doc", str),
        min=table.get("min", int),
        max=table.get("max", int),
        allowed=table.texts("allowed"),
        empty=_meaning(table, "empty"),
        writes_empty=table.get("writes_empty", bool),
        absent=_meaning(table, "absent"),
        ignorable=table.get("ignorable", bool) or False,
    )
    table.done()
    return field


def _derived(name: str, table: Table) -> DraftField:
    field = DraftField(
        table="derived",
        name=name,
        type=table.get("type", str, required=True),
        unit=table.get("unit", str),
        concept=table.get("concept", str, required=True),
        doc=table.get("doc", str),
        when=read_when(table, "when"),
    )
    table.done()
    return field


def read_when(table: Table, key: str) -> dict[str, str]:
    """Conditions of a derived field."""
    inner = table.table(key, required=True)
    if inner is None:
        return {}
    conditions = {name: inner.get(name, str) for name in inner.data}
    return {name: text for name, text in conditions.items() if text is not None}


def _invariant(table: Table) -> DraftInvariant:
    invariant = DraftInvariant(
        path=table.path,
        id=table.get("id", str, required=True),
        kind=table.get("kind", str, required=True),
        fields=table.texts("fields", required=True) or (),
        optional=table.texts("optional") or (),
        doc=table.get("doc", str),
        layouts=table.texts("layouts"),
    )
    table.done()
    return invariant
