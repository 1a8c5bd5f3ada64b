"""Rule of twins: two layouts that differ in nothing are one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pdwire_codegen.draft import DraftLayout, DraftMessage
from pdwire_codegen.facts import derivation_of, fold
from pdwire_codegen.rules.rule import Finding, Rule, at, each_message


def twin_layout(message: DraftMessage) -> Iterator[Finding]:
    """Two layouts differ in backends, frames, rules, notes or what could be verified."""
    seen: list[tuple[object, DraftLayout]] = []
    for layout in message.layouts:
        shape = _shape(message, layout)
        for other_shape, other in seen:
            if shape == other_shape:
                text = f"layout {layout.id} is the same as {other.id}"
                hint = "one layout may list the releases of both"
                yield at(message.document, layout.path, text, hint)
                break
        seen.append((shape, layout))


def _shape(message: DraftMessage, layout: DraftLayout) -> object:
    """All that makes a layout a layout of its own; never equal where it is unusable."""
    frames = [fold(message, layout, frame) for frame in layout.frames]
    if None in frames:
        return object()
    rules = [(item.name, derivation_of(message, layout, item.name)) for item in message.derived]
    own = [item.id for item in message.invariants if layout.id in (item.layouts or ())]
    return (
        [replace(frame, line=0) for frame in frames if frame is not None],
        [replace(key, path=()) for key in layout.keys],
        (layout.text, layout.counts or (len(frames),), rules, own),
        (layout.notes, layout.unverified, layout.backends),
    )


RULES = (
    Rule(
        id="twin-layout",
        holds="Two layouts of a message differ in more than id, doc and releases.",
        check=each_message(twin_layout),
    ),
)
