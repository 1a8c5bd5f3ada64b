"""The spec as written: every key has its type, nothing is resolved or promised yet.

Rules: a draft holds ``None`` (or an empty container) for what was missing or unusable;
whoever reads it skips that, because the fault is already reported. Meanings stay raw
TOML values here: what they mean depends on a type that may be wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path as FilePath

from pdwire_codegen.kinds import UNITS
from pdwire_codegen.lock_file import Lock
from pdwire_codegen.toml_lines import Document


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()
"""A meaning that is not written down; ``None`` would read like TOML's lack of a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseList:
    """A list of releases as written, and the path of its key."""

    items: tuple[str, ...] = ()
    path: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftBackend:
    """A ``[backend.x]``."""

    name: str
    doc: str | None
    since: str | None
    inherits: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftProtocol:
    """``protocol.toml``.

    ``releases`` are the usable ones, each once and in order, whatever stands in the file:
    ``written``. So one release in the wrong place is one fault, and not one of each message.
    """

    document: Document
    releases: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    backends: tuple[DraftBackend, ...] = ()

    def backend(self, name: str) -> DraftBackend | None:
        """The backend called ``name``."""
        return next((item for item in self.backends if item.name == name), None)

    def children(self, name: str) -> tuple[str, ...]:
        """Backends that inherit from ``name``."""
        return tuple(item.name for item in self.backends if item.inherits == name)

    def releases_of(self, name: str) -> tuple[str, ...]:
        """Releases that have the backend, oldest first; all when ``since`` is unusable."""
        backend = self.backend(name)
        if backend is None or backend.since not in self.releases:
            return self.releases
        return self.releases[self.releases.index(backend.since) :]


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftConcepts:
    """``concepts.toml``: concepts and units, each with its line of text."""

    document: Document
    docs: dict[str, str] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=lambda: dict(UNITS))


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftField:
    """A ``[field.x]`` or a ``[derived.x]``; ``table`` says which."""

    table: str
    name: str
    type: str | None
    unit: str | None = None
    concept: str | None = None
    doc: str | None = None
    min: int | None = None
    max: int | None = None
    allowed: tuple[str, ...] | None = None
    empty: object = MISSING
    writes_empty: bool | None = None
    absent: object = MISSING
    ignorable: bool = False
    when: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> tuple[str | int, ...]:
        """Where it stands in the document."""
        return (self.table, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftFrame:
    """One entry of ``[layout.x.frames]``; ``position`` is ``None`` for a bad key."""

    key: str
    position: int | None
    path: tuple[str | int, ...]
    field: str | None = None
    const: str | None = None
    length_of: str | None = None
    name: str | None = None
    type: str | None = None
    min: int | None = None
    max: int | None = None
    empty: object = MISSING
    absent: object = MISSING
    writes_empty: bool | None = None
    unread: bool = False
    given: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftKey:
    """One entry of ``[layout.x.keys]``."""

    key: str
    path: tuple[str | int, ...]
    field: str | None
    optional: bool = False
    absent: object = MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftLayout:
    """A ``[layout.x]``; ``given`` are the keys that it has."""

    id: str
    releases: ReleaseList
    backends: tuple[str, ...] | None = None
    doc: str | None = None
    notes: tuple[str, ...] = ()
    unverified: str | None = None
    counts: tuple[int, ...] | None = None
    frames: tuple[DraftFrame, ...] = ()
    text: str | None = None
    keys: tuple[DraftKey, ...] = ()
    derived: dict[str, dict[str, str]] = field(default_factory=dict)
    given: tuple[str, ...] = ()

    @property
    def path(self) -> tuple[str | int, ...]:
        """Where it stands in the document."""
        return ("layout", self.id)

    @property
    def least(self) -> int:
        """Positions below this are present in every count."""
        return min(self.counts) if self.counts else len(self.frames)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftInvariant:
    """An ``[[invariant]]``."""

    path: tuple[str | int, ...]
    id: str | None
    kind: str | None
    fields: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    doc: str | None = None
    layouts: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRecognise:
    """``recognise = { … }``; ``is_`` is its key ``is``."""

    frame: int | None
    equals: str | None
    is_: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftAbsent:
    """One line of ``[absent]``."""

    backend: str
    releases: ReleaseList
    why: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftMessage:
    """One message file; ``http_path`` is the key ``path``."""

    document: Document
    group: str
    module: str
    name: str | None = None
    class_name: str | None = None
    aliases: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    transport: str = "zmq"
    directions: tuple[str, ...] = ()
    doc: str | None = None
    guard: str | None = None
    recognise: DraftRecognise | None = None
    notes: tuple[str, ...] = ()
    method: str | None = None
    http_path: str | None = None
    body: str | None = None
    part: str | None = None
    absent: tuple[DraftAbsent, ...] = ()
    fields: tuple[DraftField, ...] = ()
    derived: tuple[DraftField, ...] = ()
    layouts: tuple[DraftLayout, ...] = ()
    invariants: tuple[DraftInvariant, ...] = ()

    @property
    def shown(self) -> str:
        """The name for diagnostics, even where it is missing."""
        return self.name or self.module

    def everything(self) -> dict[str, DraftField]:
        """Each dataclass field by name; a ``[field]`` wins over its ``[derived]``."""
        return {item.name: item for item in (*self.derived, *self.fields)}

    def derived_named(self, name: str) -> DraftField | None:
        """The ``[derived.x]`` called ``name``."""
        return next((item for item in self.derived if item.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """All files of one protocol directory."""

    root: FilePath
    protocol: DraftProtocol
    concepts: DraftConcepts
    messages: tuple[DraftMessage, ...]
    lock: Lock
