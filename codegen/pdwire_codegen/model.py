"""The checked model of the spec: what every emitter and the JSON export stand on.

A :class:`Spec` is only ever built by the loader after every rule has passed, so an
emitter may rely on what the rules promise: positions are dense, names resolve, every
release of every backend is in exactly one layout or named absent. Names and
meanings follow ``docs/spec-language.md``; ranges of releases are expanded, a layout's
overrides are folded into its frames, and inheriting backends are listed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Transport = Literal["zmq", "notification", "http"]
InvariantKind = Literal["same_length", "same_count", "less", "needs"]
Condition = Literal["empty", "none", "negative", "falsy"]


class _Required:
    """The one value of :data:`REQUIRED`: an empty or missing frame is an error."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """``{ repeat = …, like = … }``: one value per element of another field."""

    like: str
    word: str | int | None = None
    from_field: str | None = None


Literal_ = int | str | bool | bytes | None | tuple[()]
Meaning = Literal_ | Repeat | _Required
"""What an empty or a missing frame means; :data:`REQUIRED` where it may not be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """A backend and the releases that have it, oldest first."""

    name: str
    doc: str
    releases: tuple[str, ...]
    inherits: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One scalar of the generated dataclass (a derived one has ``derived=True``)."""

    name: str
    type: str
    unit: str
    concept: str
    doc: str
    min: int | None = None
    max: int | None = None
    allowed: tuple[str, ...] = ()
    empty: Meaning = REQUIRED
    writes_empty: bool = False
    absent: Meaning = REQUIRED
    ignorable: bool = False
    derived: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One position of one layout, overrides folded in.

    Exactly one of ``field``, ``const`` and ``length_of`` is set. ``position`` does not
    count the guard. ``name`` is the field's name, or the given name of a constant or
    length frame.
    """

    position: int
    name: str
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
    line: int = 0


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
    """All conditions must hold for the derived field to be true."""

    field: str
    when: tuple[tuple[str, Condition], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariant:
    """A rule across fields of one decoded message."""

    id: str
    kind: InvariantKind
    fields: tuple[str, ...]
    doc: str
    optional: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One revision of a message: who speaks it and where each field sits.

    ``speakers`` maps each backend (inheriting ones too) to its releases, oldest
    first. ``counts`` are the frame counts allowed, guard not counted, ascending.
    ``derivations`` and ``invariants`` are those that apply to this layout.
    ``fingerprint`` is the SHA-256 (hex) over the canonical layout.
    """

    id: str
    speakers: dict[str, tuple[str, ...]]
    doc: str = ""
    notes: tuple[str, ...] = ()
    unverified: str | None = None
    counts: tuple[int, ...] = ()
    frames: tuple[Frame, ...] = ()
    text: str | None = None
    keys: tuple[Key, ...] = ()
    derivations: tuple[Derivation, ...] = ()
    invariants: tuple[Invariant, ...] = ()
    fingerprint: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognise:
    """How a message announces itself: constant bytes, a decimal, or its guard."""

    frame: int
    equals: str | None = None
    is_: Literal["decimal", "guard"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message: meaning (fields) and positions (layouts, oldest first)."""

    name: str
    class_name: str
    group: str
    module: str
    """File stem in ``protocol/<group>/`` and module name of the generated code."""
    backends: tuple[str, ...]
    transport: Transport
    directions: tuple[str, ...]
    doc: str
    fields: tuple[Field, ...]
    layouts: tuple[Layout, ...]
    invariants: tuple[Invariant, ...] = ()
    aliases: tuple[str, ...] = ()
    guard: str | None = None
    recognise: Recognise | None = None
    notes: tuple[str, ...] = ()
    absent: dict[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)
    method: str | None = None
    path: str | None = None
    body: Literal["json", "query"] | None = None
    part: Literal["request", "response"] | None = None
    source: str = ""
    """The spec file, relative to the project's root, with forward slashes."""

    def field_named(self, name: str) -> Field:
        """The field called ``name``; ``KeyError`` when there is none."""
        for candidate in self.fields:
            if candidate.name == name:
                return candidate
        raise KeyError(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """The whole contract."""

    releases: tuple[str, ...]
    backends: tuple[Backend, ...]
    concepts: dict[str, str]
    messages: tuple[Message, ...]
