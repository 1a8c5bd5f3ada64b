"""Reads ``protocol.toml`` and ``concepts.toml``."""

from __future__ import annotations

from pdwire_codegen.draft import DraftBackend, DraftConcepts, DraftProtocol
from pdwire_codegen.tables import Sink, Table
from pdwire_codegen.toml_lines import Document


def read_protocol(document: Document, sink: Sink) -> DraftProtocol:
    """Releases and backends."""
    top = Table(document, (), document.data, sink)
    releases = top.texts("releases", required=True) or ()
    backends = tuple(_backend(name, table) for name, table in top.tables("backend"))
    top.done()
    return DraftProtocol(document=document, releases=releases, backends=backends)


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
    """``[concept]``: name to one line of text."""
    top = Table(document, (), document.data, sink)
    table = top.table("concept", required=True)
    top.done()
    if table is None:
        return DraftConcepts(document=document)
    docs = {name: table.get(name, str) for name in table.data}
    return DraftConcepts(
        document=document, docs={name: doc for name, doc in docs.items() if doc is not None}
    )
