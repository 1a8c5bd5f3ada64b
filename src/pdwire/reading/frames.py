"""Frames of one layout read one by one.

Rules: the guard first, then the count, then every frame. Where the count is one that
the layout allows, frame ``n`` is slot ``n``; where it is not, frames are laid against
the slots as well as they fit, so that one that was dropped or doubled does not make all
behind it look wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from pdwire.reading.align import align
from pdwire.reading.errors import Refused, shorten
from pdwire.reading.result import Draft, Fault, Row
from pdwire.reading.spec import REQUIRED, Meaning, Message, Slot
from pdwire.reading.types import read_slot

GUARD_ENDING = b"MsgGuard"
"""How every backend's guard ends: such a first frame is a guard, if perhaps the wrong one."""


def read_frames(draft: Draft, frames: Sequence[bytes]) -> None:
    """Fill ``draft`` from a whole multipart message, guard included."""
    skip = _read_guard(draft, frames)
    body = frames[skip:]
    if len(body) in draft.layout.counts:
        for place, slot in enumerate(draft.layout.frames):
            if place < len(body):
                _read(draft, slot, body[place], place + skip)
            else:
                draft.lacking(slot)
    else:
        _read_miscounted(draft, body, skip)
    _check_lengths(draft)


def _read_guard(draft: Draft, frames: Sequence[bytes]) -> int:
    """The guard's row, if the message has one; how many frames it took."""
    guard = draft.message.guard
    if guard is None:
        return 0
    first = frames[0] if frames else None
    if first == guard.encode("ascii"):
        draft.rows.append(Row(name="guard", type="const", status="ok", raw=first, sent=0))
        return 1
    came = "no frames" if first is None else shorten(first)
    fault = Fault(kind="guard", field="guard", expected=f'the guard "{guard}"', came=came)
    draft.faults.append(fault)
    if first is not None and first.endswith(GUARD_ENDING):
        draft.rows.append(
            Row(name="guard", type="const", status="bad", raw=first, sent=0, fault=fault)
        )
        return 1
    draft.rows.append(Row(name="guard", type="const", status="missing", fault=fault))
    return 0


def _read(draft: Draft, slot: Slot, raw: bytes, sent: int) -> None:
    try:
        meaning = _meaning(draft, slot, raw)
    except Refused as refusal:
        draft.bad(slot, raw, sent, refusal)
    else:
        draft.good(slot, raw, sent, meaning)


def _meaning(draft: Draft, slot: Slot, raw: bytes) -> Meaning:
    """What the frame says; an empty one of a derived field leaves it to the rule."""
    if not raw and slot.empty is REQUIRED and slot.field in draft.ruled:
        return REQUIRED
    return read_slot(slot, raw, _field_type(draft.message, slot))


def _field_type(message: Message, slot: Slot) -> str:
    """The type of the slot's field; the slot's own where it carries none."""
    field = message.field(slot.field) if slot.field is not None else None
    return slot.type if field is None else field.type


def _fits(message: Message, slot: Slot, raw: bytes) -> bool:
    try:
        read_slot(slot, raw, _field_type(message, slot))
    except Refused:
        return False
    return True


def count_text(number: int) -> str:
    """``1 frame``, ``2 frames``."""
    return f"{number} frame{'' if number == 1 else 's'}"


def _read_miscounted(draft: Draft, body: Sequence[bytes], skip: int) -> None:
    counts = draft.layout.counts
    told = " or ".join(str(count) for count in counts[:-1])
    expected = f"{told} or {count_text(counts[-1])}" if told else count_text(counts[-1])
    wrong = Fault(kind="count", expected=expected, came=count_text(len(body)))
    draft.faults.append(wrong)
    slots = draft.layout.frames
    pairs = align(
        len(slots), len(body), lambda slot, frame: _fits(draft.message, slots[slot], body[frame])
    )
    for slot, frame in pairs:
        if slot is None and frame is not None:
            draft.rows.append(_extra(body[frame], frame + skip, expected))
        elif slot is not None and frame is None:
            draft.missing(slots[slot], _missing(slots[slot], expected))
        elif slot is not None and frame is not None:
            _read(draft, slots[slot], body[frame], frame + skip)


def _missing(slot: Slot, expected: str) -> Fault:
    return Fault(
        kind="count",
        position=slot.position,
        field=slot.name,
        expected=f"a frame here, {expected} in all",
        came="no frame",
    )


def _extra(raw: bytes, sent: int, expected: str) -> Row:
    fault = Fault(kind="count", expected=f"{expected}, not this one", came=shorten(raw))
    return Row(name="", type="", status="extra", raw=raw, sent=sent, fault=fault)


def _check_lengths(draft: Draft) -> None:
    """Frames that tell another frame's length in bytes."""
    told = {slot.position: slot.length_of for slot in draft.layout.frames if slot.length_of}
    for index, row in enumerate(draft.rows):
        name = told.get(row.position) if row.position is not None else None
        body = next((each.raw for each in draft.rows if each.field == name), None)
        if name is None or body is None or not row.known or row.value == len(body):
            continue
        draft.blame(
            index,
            Fault(
                kind="length",
                position=row.position,
                field=row.name,
                expected=f"{len(body)}, the bytes of {name}",
                came=str(row.value),
            ),
        )
