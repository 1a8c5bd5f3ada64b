"""What this reading knows of a spec.

Rules: nothing here knows the generated codecs or the compiler's model; the words are
those of the JSON export, which :mod:`~pdwire.reading.export` loads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Value: TypeAlias = "int | float | str | bytes | bool | list[Value] | dict[str, Value] | None"
"""A field's value: arrays are lists, bytes are bytes."""


class Required:
    """Class of :data:`REQUIRED`: an empty or missing frame is an error."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = Required()


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """One value per element of the field ``like``: ``word``, or the value of ``from_field``."""

    like: str
    word: Value = None
    from_field: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A literal meaning."""

    value: Value


Meaning: TypeAlias = Given | Repeat | Required
"""What an empty or a missing frame means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What one value means; ``derived`` ones may have no frame of their own."""

    name: str
    type: str
    unit: str = ""
    concept: str = ""
    doc: str = ""
    min: int | None = None
    max: int | None = None
    allowed: tuple[str, ...] = ()
    empty: Meaning = REQUIRED
    writes_empty: bool = False
    absent: Meaning = REQUIRED
    ignorable: bool = False
    derived: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One frame of one layout; ``position`` does not count the guard."""

    position: int
    name: str
    kind: Literal["field", "const", "length"]
    type: str
    field: str | None = None
    const: str | None = None
    length_of: str | None = None
    min: int | None = None
    max: int | None = None
    allowed: tuple[str, ...] = ()
    empty: Meaning = REQUIRED
    writes_empty: bool = False
    absent: Meaning = REQUIRED
    unread: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of a JSON body or query string."""

    key: str
    field: str
    type: str
    optional: bool = False
    absent: Meaning = REQUIRED


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """All conditions must hold for ``field`` to be true."""

    field: str
    when: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariant:
    """A rule across fields of one message."""

    id: str
    kind: str
    fields: tuple[str, ...]
    optional: tuple[str, ...] = ()
    doc: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One revision of a message: who speaks it and where each field sits."""

    id: str
    speakers: dict[str, tuple[str, ...]]
    doc: str = ""
    notes: tuple[str, ...] = ()
    unverified: str | None = None
    counts: tuple[int, ...] = ()
    frames: tuple[Slot, ...] = ()
    text: str | None = None
    keys: tuple[Key, ...] = ()
    derivations: tuple[Derivation, ...] = ()
    invariants: tuple[Invariant, ...] = ()
    fingerprint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message: its fields and its layouts, oldest first."""

    name: str
    group: str
    backends: tuple[str, ...]
    transport: str
    directions: tuple[str, ...]
    fields: tuple[Field, ...]
    layouts: tuple[Layout, ...]
    class_name: str = ""
    module: str = ""
    doc: str = ""
    aliases: tuple[str, ...] = ()
    guard: str | None = None
    recognise: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    absent: dict[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)
    body: str | None = None
    method: str | None = None
    path: str | None = None
    part: str | None = None
    source: str = ""

    @property
    def key(self) -> str:
        """``group.name``: unique in a spec."""
        return f"{self.group}.{self.name}"

    def names(self) -> frozenset[str]:
        """Every spelling of the name."""
        return frozenset({self.name, self.class_name, *self.aliases} - {""})

    def layout(self, layout_id: str) -> Layout | None:
        """The layout of that id, or ``None``."""
        return next((layout for layout in self.layouts if layout.id == layout_id), None)

    def field(self, name: str) -> Field | None:
        """The field of that name, or ``None``."""
        return next((each for each in self.fields if each.name == name), None)

    def spoken(self, backend: str, release: str) -> Layout | None:
        """The layout that ``backend`` speaks in ``release``, or ``None``."""
        for layout in self.layouts:
            if release in layout.speakers.get(backend, ()):
                return layout
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """A backend and the releases that have it, oldest first."""

    name: str
    releases: tuple[str, ...]
    doc: str = ""
    inherits: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """The whole contract."""

    releases: tuple[str, ...]
    backends: tuple[Backend, ...]
    messages: tuple[Message, ...]
    concepts: dict[str, str] = field(default_factory=dict)

    def find(self, name: str) -> Iterator[Message]:
        """Messages called ``name``: bare, ``group.name`` or ``backend.name``; case counts not."""
        wanted = name.casefold()
        owner, _, bare = wanted.rpartition(".")
        for message in self.messages:
            names = {each.casefold() for each in message.names()}
            owners = {message.group.casefold(), *message.backends}
            if wanted in names or (bare in names and owner in owners):
                yield message
