"""What a reading makes of frames: a row for each, faults and all.

Rules: rows are in the order of the frames; a frame that a layout wants and nobody sent
has a row too, and so has one that no layout wants.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from dataclasses import field as attribute
from typing import Literal

from pdwire.reading.errors import Kind, Refused, shorten
from pdwire.reading.spec import Given, Layout, Meaning, Message, Repeat, Slot, Value

Status = Literal["ok", "bad", "missing", "extra", "default"]
"""``default``: not sent, and allowed not to be; the value is what its lack means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong, and where; ``rule`` is the id of an invariant."""

    kind: Kind
    position: int | None = None
    field: str | None = None
    expected: str
    came: str
    rule: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One frame, body key or piece of a text.

    ``position`` is ``None`` for the guard and for frames too many. ``sent`` counts frames
    as they came, the guard included, from 0; ``None`` where nothing came. ``known`` says
    whether ``value`` is one.
    """

    name: str
    type: str
    status: Status
    position: int | None = None
    sent: int | None = None
    field: str | None = None
    raw: bytes | None = None
    value: Value = None
    known: bool = False
    fault: Fault | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """Frames as one layout reads them; ``values`` has every field that is known."""

    message: Message
    layout: Layout
    rows: tuple[Row, ...]
    values: dict[str, Value]
    faults: tuple[Fault, ...]

    @property
    def exact(self) -> bool:
        """Whether the layout accepts the frames."""
        return not self.faults


@dataclass(slots=True, kw_only=True)
class Draft:
    """An annotation while it is being made.

    ``pending`` holds fields that are one value per element of another, filled in at the
    end; ``own`` those whose frame came and was not empty, so that no derived rule speaks
    for them.
    """

    message: Message
    layout: Layout
    rows: list[Row] = attribute(default_factory=list)
    values: dict[str, Value] = attribute(default_factory=dict)
    pending: dict[str, Repeat] = attribute(default_factory=dict)
    own: set[str] = attribute(default_factory=set)
    faults: list[Fault] = attribute(default_factory=list)

    @property
    def ruled(self) -> frozenset[str]:
        """The fields that a rule of the layout derives where their frame does not say."""
        return frozenset(each.field for each in self.layout.derivations)

    def means(self, name: str | None, meaning: Meaning) -> None:
        """Note what a field is, as far as its meaning is known."""
        if name is None:
            return
        if isinstance(meaning, Given):
            self.values[name] = meaning.value
        elif isinstance(meaning, Repeat):
            self.pending[name] = meaning

    def good(self, slot: Slot, raw: bytes | None, sent: int, meaning: Meaning) -> None:
        """A frame that was read."""
        self.means(slot.field, meaning)
        if raw and slot.field is not None:
            self.own.add(slot.field)
        row = _row(slot, "ok", raw=raw, sent=sent)
        if slot.field is None and isinstance(meaning, Given):
            row = replace(row, value=meaning.value, known=True)
        self.rows.append(row)

    def bad(self, slot: Slot, raw: bytes | None, sent: int, refusal: Refused) -> None:
        """A frame that was refused."""
        fault = Fault(
            kind="value",
            position=slot.position,
            field=slot.field or slot.name,
            expected=refusal.expected,
            came=refusal.came or shorten(raw or b""),
        )
        self.faults.append(fault)
        self.rows.append(_row(slot, "bad", raw=raw, sent=sent, fault=fault))

    def lacking(self, slot: Slot) -> None:
        """A frame that did not come and need not."""
        self.means(slot.field, slot.absent)
        self.rows.append(_row(slot, "default"))

    def missing(self, slot: Slot, fault: Fault) -> None:
        """A frame that did not come and had to; ``fault`` is told for the whole message."""
        self.rows.append(_row(slot, "missing", fault=fault))

    def blame(self, index: int, fault: Fault) -> None:
        """A fault found later in a frame that reads well by itself."""
        self.faults.append(fault)
        self.rows[index] = replace(self.rows[index], status="bad", fault=fault)

    def finish(self) -> Annotation:
        """The annotation, every row with its field's value."""
        order = [each.name for each in self.message.fields if each.name in self.values]
        return Annotation(
            message=self.message,
            layout=self.layout,
            rows=tuple(self._valued(row) for row in self.rows),
            values={name: self.values[name] for name in order},
            faults=tuple(self.faults),
        )

    def _valued(self, row: Row) -> Row:
        if row.field is None or row.field not in self.values or row.status in {"missing", "extra"}:
            return row
        return replace(row, value=self.values[row.field], known=True)


def _row(
    slot: Slot,
    status: Status,
    *,
    raw: bytes | None = None,
    sent: int | None = None,
    fault: Fault | None = None,
) -> Row:
    return Row(
        name=slot.name,
        type=slot.type,
        status=status,
        position=slot.position,
        sent=sent,
        field=slot.field,
        raw=raw,
        fault=fault,
    )
