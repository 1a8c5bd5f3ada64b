"""The tables that show layouts side by side: who speaks them, and where fields sit."""

from __future__ import annotations

from pdwire_codegen.emit_reference.markdown import table
from pdwire_codegen.emit_reference.words import code, frame_word, releases
from pdwire_codegen.model import Frame, Key, Layout, Message, Spec

LEGEND = (
    "Rows are frames, columns are layouts. **bold**: a field that the layout before did not have; "
    "(n): the frame that it sat in there; ?: may be missing; †: sent, and no release reads it."
)
KEY_LEGEND = (
    "Rows are keys, columns are layouts; cells are types. optional: the key may be missing."
)


def speaker_table(message: Message, spec: Spec) -> list[str]:
    """Rows: runs of releases; columns: backends; cells: layouts."""
    rows: list[tuple[list[str], tuple[str, ...]]] = []
    for release in spec.releases:
        spoken = tuple(_spoken(message, spec, backend, release) for backend in message.backends)
        if rows and rows[-1][1] == spoken:
            rows[-1][0].append(release)
        else:
            rows.append(([release], spoken))
    shown = [(releases(names, spec.releases), *spoken) for names, spoken in rows]
    return table(("Releases", *message.backends), shown)


def _spoken(message: Message, spec: Spec, backend: str, release: str) -> str:
    """The layout's id, ``absent``, or ``–`` where the release lacks the backend."""
    for layout in message.layouts:
        if release in layout.speakers.get(backend, ()):
            return layout.id
    having = next(item.releases for item in spec.backends if item.name == backend)
    return "absent" if release in having else "–"


def position_table(message: Message) -> list[str]:
    """Rows: positions; columns: layouts; cells: what travels there."""
    layouts = message.layouts
    most = max((len(layout.frames) for layout in layouts), default=0)
    rows = [
        (str(position), *(_place(layouts, index, position) for index in range(len(layouts))))
        for position in range(most)
    ]
    return table(("Frame", *(layout.id for layout in layouts)), rows)


def _place(layouts: tuple[Layout, ...], index: int, position: int) -> str:
    layout = layouts[index]
    if position >= len(layout.frames):
        return ""
    frame = layout.frames[position]
    before = layouts[index - 1] if index else None
    return _moved(frame, before) + _marks(frame, layout)


def _moved(frame: Frame, before: Layout | None) -> str:
    """The frame's word, and how it got here."""
    word = frame_word(frame)
    if frame.field is None or before is None:
        return word
    old = next((item.position for item in before.frames if item.field == frame.field), None)
    if old is None:
        return f"**{word}**"
    return word if old == frame.position else f"{word} ({old})"


def _marks(frame: Frame, layout: Layout) -> str:
    optional = "?" if frame.position >= layout.counts[0] else ""
    return (f" {optional}" if optional else "") + (" †" if frame.unread else "")


def key_table(message: Message) -> list[str]:
    """Rows: keys; columns: layouts; cells: the type, and whether it may be missing."""
    names = list(dict.fromkeys(key.key for layout in message.layouts for key in layout.keys))
    rows = [(code(name), *(_key(layout, name) for layout in message.layouts)) for name in names]
    return table(("Key", *(layout.id for layout in message.layouts)), rows)


def _key(layout: Layout, name: str) -> str:
    key: Key | None = next((item for item in layout.keys if item.key == name), None)
    if key is None:
        return ""
    word = key.field if key.field != name else key.type.removeprefix("json:")
    return f"{word}, optional" if key.optional else word


def text_table(message: Message) -> list[str]:
    """Layouts and their texts."""
    rows = [(layout.id, code(layout.text or "")) for layout in message.layouts]
    return table(("Layout", "Text"), rows)
