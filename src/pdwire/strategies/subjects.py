"""Which layout of which message, and what follows from it for drawing.

Rules: a subject is chosen as :func:`pdwire.wire.layout` chooses, with the same errors.
Everything that can be worked out once per layout is worked out here, so that drawing is
only drawing: which fields may be left out together, and which follow another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Any

from pdwire.codec import Codec
from pdwire.reading import packaged_spec
from pdwire.reading.bodies import slot_of as key_slot
from pdwire.reading.spec import Given, Invariant, Layout, Message, Repeat, Slot
from pdwire.reading.texts import parts
from pdwire.reading.texts import slot_of as text_slot
from pdwire.wire import layout as codec_of
from pdwire.wire import layouts

__all__ = ["Subject", "subject", "subjects"]

FOLLOWING = frozenset({"same_length", "same_count", "less"})
"""Invariants whose other fields are drawn to fit the first; in ``less`` the second leads."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Subject:
    """One layout of one message for one backend."""

    codec: Codec[Any]
    message: Message
    layout: Layout

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ANN401, ARG002, FBT001
        """Hypothesis would print a dataclass with all its fields: here, half the spec."""
        printer.text(repr(self))

    @property
    def backend(self) -> str:
        """The backend that speaks it."""
        return self.codec.backend

    @property
    def name(self) -> str:
        """``mooncake/TransferInfo/r3``."""
        return f"{self.codec.backend}/{self.codec.message}/{self.codec.layout}"

    @property
    def guard(self) -> bytes | None:
        """The frame before frame 0, if there is one."""
        return self.codec.guard

    @property
    def skip(self) -> int:
        """How many frames stand before frame 0."""
        return 0 if self.codec.guard is None else 1

    @cached_property
    def slots(self) -> dict[str, Slot]:
        """Field -> the frame, key or piece of text that carries it."""
        if self.layout.text is not None:
            names = [part.field for part in parts(self.layout.text) if part.field is not None]
            return {name: text_slot(self.message, name) for name in names}
        if self.layout.keys:
            return {key.field: key_slot(self.message, key) for key in self.layout.keys}
        return {slot.field: slot for slot in self.layout.frames if slot.field is not None}

    @cached_property
    def ruled(self) -> frozenset[str]:
        """Fields that a rule of the layout derives where nothing says them."""
        return frozenset(rule.field for rule in self.layout.derivations)

    @cached_property
    def followers(self) -> dict[str, Invariant]:
        """Fields that are drawn to fit another, with the rule that says how."""
        found: dict[str, Invariant] = {}
        for rule in self.layout.invariants:
            if rule.kind in FOLLOWING:
                others = rule.fields[:1] if rule.kind == "less" else rule.fields[1:]
                found |= dict.fromkeys(others, rule)
        return found

    @cached_property
    def omissions(self) -> tuple[frozenset[str], ...]:
        """The sets of fields that may be left out together, the largest first."""
        choices = [frozenset(each) for each in self._omissions()]
        return tuple(sorted({each for each in choices if self._coherent(each)}, key=_least_first))

    def _omissions(self) -> Iterator[list[str]]:
        if self.layout.text is not None:
            yield []
            yield [part.field for part in parts(self.layout.text) if part.tail and part.field]
            return
        if self.layout.keys:
            optional = [key.field for key in self.layout.keys if key.optional]
            for chosen in product((True, False), repeat=min(len(optional), 3)):
                yield [name for name, out in zip(optional, chosen, strict=False) if out]
            yield optional
            yield optional[3:]
            return
        for count in self.layout.counts:
            yield [slot.field for slot in self.layout.frames[count:] if slot.field is not None]

    def _coherent(self, omitted: frozenset[str]) -> bool:
        """Whether no rule asks for what is left out, whatever the others are."""
        for rule in self.layout.invariants:
            first, *others = rule.fields
            lacking = omitted.intersection(others)
            if rule.kind == "needs" and lacking and first not in omitted:
                return False
            if rule.kind in FOLLOWING and omitted & set(rule.fields):
                meanings = [self.slots[name].absent for name in omitted & set(rule.fields)]
                if not all(isinstance(m, Repeat) or m == Given(value=None) for m in meanings):
                    return False
        return True

    def release(self) -> str:
        """The newest release that speaks it."""
        return self.codec.releases[-1]


def _least_first(omitted: frozenset[str]) -> tuple[int, list[str]]:
    return (-len(omitted), sorted(omitted))


@cache
def subject(
    backend: str, message: str, *, release: str | None = None, revision: str | None = None
) -> Subject:
    """The layout of a release or of a revision; without either, the newest.

    Raises:
        UnknownLayoutError: there is no such thing; the text says what there is.
    """
    return _of(codec_of(backend, message, release=release, revision=revision))


def subjects(backend: str | None = None, message: str | None = None) -> list[Subject]:
    """Every layout of every backend, or of one backend or message, oldest first."""
    return [_of(codec) for codec in layouts(backend, message)]


def _of(codec: Codec[Any]) -> Subject:
    for message in packaged_spec().messages:
        layout = message.layout(codec.layout)
        known = message.name == codec.message and codec.backend in message.backends
        if known and layout is not None and codec.backend in layout.speakers:
            return Subject(codec=codec, message=message, layout=layout)
    raise LookupError(f"the spec has no {codec.backend} {codec.message} {codec.layout}")
