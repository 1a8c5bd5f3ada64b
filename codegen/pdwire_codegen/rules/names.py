"""Rules of names: identifiers, no two things of one name, backends that exist."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator

from pdwire_codegen.diagnostics import did_you_mean
from pdwire_codegen.draft import Draft, DraftMessage
from pdwire_codegen.emit_python.reserved import taken
from pdwire_codegen.rules.classes import places_of
from pdwire_codegen.rules.rule import Finding, Path, Rule, at, each_message, each_message_of

_LOWER = re.compile(r"[a-z][a-z0-9_]*")
_CLASS = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_MESSAGE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_CONCEPT = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*")
_BACKEND = _LOWER


def _reserved() -> dict[str, frozenset[str]]:
    """Names that generated code keeps for itself, by what would be called so."""
    names = taken()
    return {
        "group": names.groups,
        "backend": names.groups,
        "layout id": names.layouts,
        "field name": names.fields,
    }


def _bad(kind: str, name: str, form: re.Pattern[str]) -> bool:
    reserved = keyword.iskeyword(name) or name in _reserved().get(kind, ())
    return reserved or form.fullmatch(name) is None


def _named(message: DraftMessage) -> Iterator[tuple[str, str, re.Pattern[str], Path]]:
    """Everything in a message file that becomes a name: what, name, form, place."""
    if message.name is not None:
        yield "message name", message.name, _MESSAGE, ("message", "name")
    if message.class_name is not None:
        yield "class name", message.class_name, _CLASS, ("message", "class")
    for alias in message.aliases:
        yield "alias", alias, _MESSAGE, ("message", "aliases")
    for field in (*message.fields, *message.derived):
        yield "field name", field.name, _LOWER, field.path
    for layout in message.layouts:
        yield "layout id", layout.id, _LOWER, layout.path
        for frame in layout.frames:
            if frame.name is not None:
                yield "frame name", frame.name, _LOWER, frame.path
    for invariant in message.invariants:
        if invariant.id is not None:
            yield "invariant id", invariant.id, _SLUG, (*invariant.path, "id")


def bad_identifier(draft: Draft) -> Iterator[Finding]:
    """Names can be names in Python, and are written the way their kind is."""
    for message in draft.messages:
        for what, stem in (("group", message.group), ("file name", message.module)):
            if _bad(what, stem, _LOWER):
                yield at(
                    message.document, (), f"{what} {stem!r} is not a module name", "[a-z][a-z0-9_]*"
                )
        for kind, name, form, path in _named(message):
            if _bad(kind, name, form):
                hint = f"{form.pattern}, and no word that Python or the codecs keep for themselves"
                yield at(message.document, path, f"{kind} {name!r} cannot be used", hint)
    yield from _bad_in_root_files(draft)


def _bad_in_root_files(draft: Draft) -> Iterator[Finding]:
    """Names of backends, concepts and units."""
    for backend in draft.protocol.backends:
        if _bad("backend", backend.name, _BACKEND):
            path = ("backend", backend.name)
            text = f"backend name {backend.name!r} cannot be used"
            hint = f"{_BACKEND.pattern}, and no word that Python or the codecs keep for themselves"
            yield at(draft.protocol.document, path, text, hint)
    hyphens = "lower-case words, joined by hyphens"
    told = (
        ("concept", draft.concepts.docs, _CONCEPT, f"{hyphens} and dots"),
        ("unit", draft.concepts.units, _SLUG, hyphens),
    )
    for table, names, form, hint in told:
        for name in names:
            if form.fullmatch(name) is None:
                text = f"{table} name {name!r} cannot be used"
                yield at(draft.concepts.document, (table, name), text, hint)


def unknown_backend(draft: Draft, message: DraftMessage) -> Iterator[Finding]:
    """Backends are known; a layout and [absent] name backends of the message."""
    known = [item.name for item in draft.protocol.backends]
    for index, name in enumerate(message.backends):
        if name not in known:
            text, hint = f"unknown backend {name!r}", did_you_mean(name, known)
            yield at(message.document, ("message", "backends", index), text, hint)
    for place, name, path in _mentioned(message):
        if name not in message.backends:
            text = f"{place} names {name!r}, which is no backend of the message"
            yield at(message.document, path, text, did_you_mean(name, message.backends))


def _mentioned(message: DraftMessage) -> Iterator[tuple[str, str, Path]]:
    """Where a message file speaks of its own backends: place, backend, path."""
    for layout in message.layouts:
        for name in layout.backends or ():
            yield f"layout {layout.id}", name, (*layout.path, "backends")
    for absent in message.absent:
        yield "[absent]", absent.backend, ("absent", absent.backend)


def inheriting_backend(draft: Draft, message: DraftMessage) -> Iterator[Finding]:
    """A backend that inherits has what its parent has, and is not listed."""
    for index, name in enumerate(message.backends):
        backend = draft.protocol.backend(name)
        if backend is not None and backend.inherits is not None:
            path = ("message", "backends", index)
            text = f"{name} inherits from {backend.inherits} and is not listed"
            yield at(message.document, path, text, f"drop {name!r}")


def duplicate_backend(message: DraftMessage) -> Iterator[Finding]:
    """A list of backends names each once."""
    lists: list[tuple[tuple[str, ...], Path]] = [(message.backends, ("message", "backends"))]
    lists += [(item.backends or (), (*item.path, "backends")) for item in message.layouts]
    for names, path in lists:
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield at(message.document, path, f"backend {name!r} is listed twice", "drop one")


def duplicate_name(draft: Draft) -> Iterator[Finding]:
    """A backend, and a group, knows one message by a name, aliases included."""
    seen: dict[tuple[str, str], str] = {}
    for message in draft.messages:
        for name, key in _spellings(message):
            places = places_of(message)
            owners = {seen[place, name] for place in places if (place, name) in seen}
            for place in places:
                seen.setdefault((place, name), message.document.file)
            if owners:
                text = f"{name!r} already names the message of {', '.join(sorted(owners))}"
                hint = "names and aliases are one per backend and group"
                yield at(message.document, ("message", key), text, hint)


def _spellings(message: DraftMessage) -> Iterator[tuple[str, str]]:
    """The name and the aliases, each with its key."""
    if message.name is not None:
        yield message.name, "name"
    for alias in message.aliases:
        yield alias, "aliases"


def mixed_alias(draft: Draft) -> Iterator[Finding]:
    """A class name or alias stands for one message name, whatever the backend.

    Within one backend or group it is a duplicate, which the rules beside this one report.
    """
    for index, message in enumerate(draft.messages):
        for spelling, key in (*_spellings(message), (message.class_name, "class")):
            taken = _meant(spelling, message, draft.messages[:index]) if spelling else None
            if taken is not None:
                text = f"{spelling!r} is another spelling of {taken} already"
                hint = "lookups would have to guess; choose another"
                yield at(message.document, ("message", key), text, hint)


def _meant(spelling: str, message: DraftMessage, before: Iterable[DraftMessage]) -> str | None:
    """The other message name that a spelling stands for in other backends and groups."""
    for other in before:
        known = {other.name, other.class_name, *other.aliases}
        apart = not set(places_of(other)) & set(places_of(message))
        if apart and spelling in known and other.name != message.name:
            return other.name
    return None


RULES = (
    Rule(
        id="bad-identifier",
        holds="Names are identifiers of their kind and no reserved words.",
        check=bad_identifier,
    ),
    Rule(
        id="unknown-backend",
        holds="Backends are those of protocol.toml; layouts and [absent] name the message's own.",
        check=each_message_of(unknown_backend),
    ),
    Rule(
        id="inheriting-backend",
        holds="A message file does not list a backend that inherits.",
        check=each_message_of(inheriting_backend),
    ),
    Rule(
        id="duplicate-backend",
        holds="A list of backends names each once.",
        check=each_message(duplicate_backend),
    ),
    Rule(
        id="duplicate-name",
        holds="A name or alias means one message of a backend and of a group.",
        check=duplicate_name,
    ),
    Rule(
        id="mixed-alias",
        holds="A class name or alias stands for one message name in all backends.",
        check=mixed_alias,
    ),
)
