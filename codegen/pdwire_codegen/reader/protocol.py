"""Reads ``protocol.toml`` and ``concepts.toml``."""

from __future__ import annotations

import re

from pdwire_codegen.draft import DraftBackend, DraftConcepts, DraftProtocol
from pdwire_codegen.tables import Sink, Table
from pdwire_codegen.toml_lines import Document

_RELEASE = re.compile(r"(\d+(?:\.\d+)*)(?:\.post(\d+))?")


def read_protocol(document: Document, sink: Sink) -> DraftProtocol:
    """Releases and backends."""
    top = Table(document, (), document.data, sink)
    written = top.texts("releases", required=True) or ()
    ages = {release: age for release in written if (age := age_of(release)) is not None}
    backends = tuple(_backend(name, table) for name, table in top.tables("backend"))
    top.done()
    releases = tuple(sorted(ages, key=lambda release: ages[release]))
    return DraftProtocol(document=document, releases=releases, written=written, backends=backends)


def age_of(release: str) -> tuple[tuple[int, ...], int] | None:
    """What a release is sorted by; ``None`` when it is no version."""
    match = _RELEASE.fullmatch(release)
    if match is None:
        return None
    return tuple(int(part) for part in match[1].split(".")), int(match[2] or 0)


def _backend(name: str, table: Table) -> DraftBackend:
    backend = DraftBackend(
        name=name,
        doc=table.get("doc", str),
        since=table.get("since", str, required=True),
        inherits=table.get("inherits", str),
    )
    table.done()
    return backend


def read_concepts(document: Document, sink: Sink) -> DraftConcepts:
    """``[concept]`` and ``[unit]``: name to one line of text."""
    top = Table(document, (), document.data, sink)
    concepts, units = _lines(top.table("concept", required=True)), _lines(top.table("unit"))
    top.done()
    if units is None:
        return DraftConcepts(document=document, docs=concepts or {})
    return DraftConcepts(document=document, docs=concepts or {}, units=units)


def _lines(table: Table | None) -> dict[str, str] | None:
    """A table of texts; ``None`` without one."""
    if table is None:
        return None
    docs = {name: table.get(name, str) for name in table.data}
    return {name: doc for name, doc in docs.items() if doc is not None}
