"""Rule of builders: what a message says where nothing is said can be sent.

The generated class gives each field with an ``absent`` that as its default. Whoever builds a
message for the newest layout without a word about the field sends the default; where the frame
is always there and has no way to say it, every such message would fail.
"""

from __future__ import annotations

from collections.abc import Iterator

from pdwire_codegen.draft import MISSING, Draft, DraftLayout, DraftMessage
from pdwire_codegen.facts import fold, meaning_of, speakers
from pdwire_codegen.kinds import Kind, kind_of
from pdwire_codegen.model import REQUIRED, Frame, Meaning, Repeat
from pdwire_codegen.rules.rule import Finding, Rule, at, each_message_of


def newest_of(draft: Draft, message: DraftMessage) -> DraftLayout | None:
    """The layout that is spoken in the newest release of all that speak the message."""
    order = draft.protocol.releases
    ages = [
        (max(order.index(one) for releases in spoken.values() for one in releases), layout)
        for layout in message.layouts
        if (spoken := speakers(draft.protocol, message, layout))
    ]
    return max(ages, key=lambda age: age[0])[1] if ages else None


def unsendable_default(draft: Draft, message: DraftMessage) -> Iterator[Finding]:
    """What a field's absence means can be written wherever the newest layout has its frame."""
    layout = newest_of(draft, message)
    fields = message.everything()
    derived = {item.name for item in message.derived}
    for frame in layout.frames if layout is not None else ():
        field = fields.get(frame.field or "")
        kind = kind_of(field.type) if field is not None else None
        if layout is None or field is None or kind is None or field.name in derived:
            continue
        folded = fold(message, layout, frame)
        if folded is None or folded.position >= layout.least or field.absent is MISSING:
            continue
        default = meaning_of(field.absent, kind)
        if default is not REQUIRED and not _writes(folded, default, kind):
            text = (
                f"{field.name} is {_shown(default)} unless it is given, which frame "
                f"{folded.position} of {layout.id} cannot say"
            )
            hint = f"add empty = {_shown(default)}, or another absent, or let the frame be missing"
            yield at(message.document, (*field.path, "absent"), text, hint)


def _writes(frame: Frame, default: Meaning, kind: Kind) -> bool:
    """Whether the frame has bytes for the default of its field."""
    if isinstance(default, Repeat) or isinstance(frame.empty, Repeat):
        return True  # it depends on the message: once per element of another field
    if frame.empty is not REQUIRED and frame.empty == default and _alike(frame.empty, default):
        return True
    if default is None or default == "":
        return False
    if kind.is_int and isinstance(default, int):
        low, high = frame.min, frame.max
        return (low is None or default >= low) and (high is None or default <= high)
    # No elements and no bytes have one spelling, the empty frame: it must not mean another thing.
    return default not in ((), b"") or frame.empty is REQUIRED


def _alike(one: object, other: object) -> bool:
    return type(one) is type(other)


def _shown(value: Meaning) -> str:
    if value is None:
        return '"none"'
    if value == ():
        return "[]"
    if isinstance(value, bytes):
        return f'"{value.decode()}"'
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


RULES = (
    Rule(
        id="unsendable-default",
        holds="What a field's absence means can be sent in every frame of the newest layout.",
        check=each_message_of(unsendable_default),
    ),
)
