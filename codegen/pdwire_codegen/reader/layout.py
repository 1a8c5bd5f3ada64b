"""Reads ``[layout.x]``: frames, notification text or keys."""

from __future__ import annotations

import re

from pdwire_codegen.draft import MISSING, DraftFrame, DraftKey, DraftLayout, ReleaseList
from pdwire_codegen.tables import Table

_POSITION = re.compile(r"\d{1,4}")


def read_layout(name: str, table: Table) -> DraftLayout:
    """One layout."""
    items = table.texts("releases", required=True) or ()
    layout = DraftLayout(
        id=name,
        releases=ReleaseList(items=items, path=(*table.path, "releases")),
        backends=table.texts("backends"),
        doc=table.get("doc", str),
        notes=table.texts("notes") or (),
        unverified=table.get("unverified", str),
        counts=table.integers("counts"),
        frames=_frames(table),
        text=table.get("text", str),
        keys=_keys(table),
        derived=_derived(table),
        given=tuple(table.data),
    )
    table.done()
    return layout


def _frames(table: Table) -> tuple[DraftFrame, ...]:
    inner = table.table("frames")
    if inner is None:
        return ()
    frames = [frame for key in inner.data if (frame := _frame(inner, key)) is not None]
    return tuple(sorted(frames, key=lambda frame: (frame.position is None, frame.position or 0)))


def _frame(frames: Table, key: str) -> DraftFrame | None:
    """A field's name, or a table."""
    position = int(key) if _POSITION.fullmatch(key) else None
    path = (*frames.path, key)
    value = frames.data[key]
    if isinstance(value, str):
        return DraftFrame(key=key, position=position, path=path, field=value, given=("field",))
    if not isinstance(value, dict):
        frames.wrong(key, "a field's name or a table")
        return DraftFrame(key=key, position=position, path=path)
    table = Table(frames.document, path, value, frames.sink)
    empty, absent = table.raw("empty"), table.raw("absent")
    frame = DraftFrame(
        key=key,
        position=position,
        path=path,
        field=table.get("field", str),
        const=table.get("const", str),
        length_of=table.get("length_of", str),
        name=table.get("name", str),
        type=table.get("type", str),
        min=table.get("min", int),
        max=table.get("max", int),
        empty=MISSING if empty is None else empty,
        absent=MISSING if absent is None else absent,
        writes_empty=table.get("writes_empty", bool),
        unread=table.get("unread", bool) or False,
        given=tuple(table.data),
    )
    table.done()
    return frame


def _keys(table: Table) -> tuple[DraftKey, ...]:
    inner = table.table("keys")
    if inner is None:
        return ()
    return tuple(_key(inner, key) for key in inner.data)


def _key(keys: Table, key: str) -> DraftKey:
    path = (*keys.path, key)
    value = keys.data[key]
    if isinstance(value, str):
        return DraftKey(key=key, path=path, field=value)
    if not isinstance(value, dict):
        keys.wrong(key, "a field's name or a table")
        return DraftKey(key=key, path=path, field=None)
    table = Table(keys.document, path, value, keys.sink)
    absent = table.raw("absent")
    read = DraftKey(
        key=key,
        path=path,
        field=table.get("field", str, required=True),
        optional=table.get("optional", bool) or False,
        absent=MISSING if absent is None else absent,
    )
    table.done()
    return read


def _derived(table: Table) -> dict[str, dict[str, str]]:
    """``[layout.x.derived]``: derived field to its conditions."""
    rules: dict[str, dict[str, str]] = {}
    for name, inner in table.tables("derived"):
        conditions = {key: inner.get(key, str) for key in inner.data}
        rules[name] = {key: text for key, text in conditions.items() if text is not None}
    return rules
