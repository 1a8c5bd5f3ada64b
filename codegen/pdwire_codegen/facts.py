"""What follows from a draft: who speaks a layout, where a field sits, what a frame means.

Rules: the rules and the builder both ask here, so that what was checked is what is
built. Everything is total: unusable parts of a draft are left out, not guessed.
"""

from __future__ import annotations

from dataclasses import replace

from pdwire_codegen.draft import (
    Draft,
    DraftField,
    DraftFrame,
    DraftLayout,
    DraftMessage,
    DraftProtocol,
    ReleaseList,
)
from pdwire_codegen.kinds import Kind, kind_of
from pdwire_codegen.meanings import MeaningError, empty_of, read_meaning, writes_empty_of
from pdwire_codegen.model import REQUIRED, Frame, Meaning
from pdwire_codegen.texts import Template, TextError, parse_text

Path = tuple[str | int, ...]
Speakers = dict[str, tuple[str, ...]]


def expand(item: str, releases: tuple[str, ...]) -> tuple[str, ...]:
    """One release, or a range ``A..B`` with both ends; nothing when it is unusable."""
    first, dots, last = item.partition("..")
    if not dots:
        return (first,) if first in releases else ()
    if first not in releases or last not in releases:
        return ()
    return releases[releases.index(first) : releases.index(last) + 1]


def expand_all(items: ReleaseList, releases: tuple[str, ...]) -> tuple[str, ...]:
    """A whole list, in the order of ``releases``, each once."""
    named = {release for item in items.items for release in expand(item, releases)}
    return tuple(release for release in releases if release in named)


def speakers(protocol: DraftProtocol, message: DraftMessage, layout: DraftLayout) -> Speakers:
    """Backends named in files that speak the layout, with their releases."""
    named = expand_all(layout.releases, protocol.releases)
    found: Speakers = {}
    for backend in message.backends:
        if layout.backends is not None and backend not in layout.backends:
            continue
        having = protocol.releases_of(backend)
        releases = tuple(release for release in named if release in having)
        if releases and protocol.backend(backend) is not None:
            found[backend] = releases
    return found


def with_heirs(protocol: DraftProtocol, found: Speakers) -> Speakers:
    """The same with inheriting backends, each behind its parent."""
    whole: Speakers = {}
    for backend, releases in found.items():
        whole[backend] = releases
        for child in protocol.children(backend):
            having = protocol.releases_of(child)
            common = tuple(release for release in releases if release in having)
            if common:
                whole[child] = common
    return whole


def absent_of(protocol: DraftProtocol, message: DraftMessage, backend: str) -> tuple[str, ...]:
    """Releases in which the message file says that a backend lacks the message."""
    for item in message.absent:
        if item.backend == backend:
            return expand_all(item.releases, protocol.releases)
    return ()


def by_age(draft: Draft, message: DraftMessage) -> tuple[DraftLayout, ...]:
    """Layouts, oldest first; file order where the releases do not decide."""
    releases = draft.protocol.releases

    def age(layout: DraftLayout) -> tuple[int, int]:
        named = expand_all(layout.releases, releases)
        if not named:
            return (len(releases), len(releases))
        return (releases.index(named[0]), releases.index(named[-1]))

    return tuple(sorted(message.layouts, key=age))


def template_of(layout: DraftLayout) -> Template | None:
    """The parsed text; ``None`` without one or when it does not parse."""
    if layout.text is None:
        return None
    try:
        return parse_text(layout.text)
    except TextError:
        return None


def is_readable(layout: DraftLayout) -> bool:
    """Whether it is known which fields the layout carries."""
    return layout.text is None or template_of(layout) is not None


def placed(layout: DraftLayout) -> list[tuple[str, Path]]:
    """Every field name that a layout carries, and where that is written."""
    template = template_of(layout)
    path = (*layout.path, "text")
    return [
        *((frame.field, frame.path) for frame in layout.frames if frame.field is not None),
        *((key.field, key.path) for key in layout.keys if key.field is not None),
        *((name, path) for name in (template.fields if template else ())),
    ]


def derivation_of(message: DraftMessage, layout: DraftLayout, name: str) -> dict[str, str] | None:
    """The rule that gives a derived field its value in a layout; ``None`` if a frame does.

    A layout's own rule always applies. The message's rule applies where the layout has
    no frame for the field, or one that may be missing and says nothing of that.
    """
    derived = message.derived_named(name)
    if derived is None:
        return None
    if name in layout.derived:
        return layout.derived[name]
    for frame in layout.frames:
        if frame.field == name:
            silent = _absent_source(message.everything()[name], frame) is None
            may_lack = frame.position is not None and frame.position >= layout.least
            return derived.when if may_lack and silent else None
    carried = {field for field, _ in placed(layout)}
    return None if name in carried else derived.when


def _absent_source(field: DraftField, frame: DraftFrame) -> object:
    for raw in (frame.absent, field.absent):
        if meaning_of(raw, kind_of(frame.type or field.type)) is not REQUIRED:
            return raw
    return None


def meaning_of(raw: object, kind: Kind | None) -> Meaning:
    """A written meaning; :data:`REQUIRED` when it is missing or unusable."""
    if kind is None:
        return REQUIRED
    try:
        return read_meaning(raw, kind)
    except MeaningError:
        return REQUIRED


def raw_meanings(message: DraftMessage, field: DraftField) -> list[object]:
    """Every ``empty`` and ``absent`` of the field, as written, its layouts' own included."""
    raws = [field.empty, field.absent]
    for layout in message.layouts:
        frames = [frame for frame in layout.frames if frame.field == field.name]
        raws += [raw for frame in frames for raw in (frame.empty, frame.absent)]
        raws += [key.absent for key in layout.keys if key.field == field.name]
    return raws


def may_be_none(message: DraftMessage, field: DraftField) -> bool:
    """Whether the type, or an empty or missing frame of some layout, makes the field ``None``."""
    kind = kind_of(field.type)
    nullable = kind is not None and kind.nullable
    return nullable or any(meaning_of(raw, kind) is None for raw in raw_meanings(message, field))


def range_of(kind: Kind, low: int | None, high: int | None) -> tuple[int | None, int | None]:
    """The range of an int type: what is written, clipped to what the type can carry."""
    if not kind.has_range:
        return None, None
    least = kind.first if low is None else low
    most = kind.last if high is None else high
    if least is not None and kind.low is not None:
        least = max(least, kind.low)
    if most is not None and kind.high is not None:
        most = min(most, kind.high)
    return least, most


def fold(message: DraftMessage, layout: DraftLayout, frame: DraftFrame) -> Frame | None:
    """A frame with its field's meaning folded in; ``None`` when it is unusable.

    A frame that is in every count has no ``absent``: it is never missing, and what the
    field means in layouts without it must not change this one's fingerprint.
    """
    if frame.position is None:
        return None
    line = message.document.line(*frame.path)
    if frame.const is not None:
        return Frame(
            position=frame.position,
            name=frame.name or "",
            type="const",
            const=frame.const,
            unread=frame.unread,
            line=line,
        )
    if frame.length_of is not None:
        return _fold_length(frame, frame.position, line)
    field = message.everything().get(frame.field or "")
    if field is None:
        return None
    folded = _fold_field(field, frame, frame.position, line)
    if folded is None or frame.position >= layout.least:
        return folded
    return replace(folded, absent=REQUIRED)


def _fold_length(frame: DraftFrame, position: int, line: int) -> Frame | None:
    kind = kind_of(frame.type)
    if kind is None:
        return None
    low, high = range_of(kind, frame.min, frame.max)
    return Frame(
        position=position,
        name=frame.name or "",
        type=kind.name,
        length_of=frame.length_of,
        min=low,
        max=high,
        unread=frame.unread,
        line=line,
    )


def _fold_field(field: DraftField, frame: DraftFrame, position: int, line: int) -> Frame | None:
    kind = kind_of(frame.type or field.type)
    if kind is None:
        return None
    low, high = range_of(
        kind,
        field.min if frame.min is None else frame.min,
        field.max if frame.max is None else frame.max,
    )
    own = "empty" in frame.given
    empty = empty_of(meaning_of(frame.empty if own else field.empty, kind), kind)
    # A layout that gives an empty frame its own meaning starts afresh: the field's
    # writes_empty was said of another meaning.
    written = frame.writes_empty
    if written is None and not own:
        written = field.writes_empty
    absent = frame.absent if "absent" in frame.given else field.absent
    return Frame(
        position=position,
        name=field.name,
        type=kind.name,
        field=field.name,
        min=low,
        max=high,
        allowed=(field.allowed or ()) if kind.is_word else (),
        empty=empty,
        writes_empty=writes_empty_of(empty, written=written, bounds=(low, high)),
        absent=meaning_of(absent, kind),
        unread=frame.unread,
        line=line,
    )
