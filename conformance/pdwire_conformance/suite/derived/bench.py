"""One layout with one fixed good message: what every derived case starts from.

Rules:

* The frames of good messages are made by one path, the interpreted reading of the spec
  (:mod:`pdwire.reading`). The tests hold the generated codecs to the same bytes.
* Positions are those of the spec: the guard is not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from pdwire.reading import Reading, ReadingError, packaged_spec
from pdwire.reading.errors import Refused
from pdwire.reading.spec import REQUIRED, Message
from pdwire.reading.types import write_slot
from pdwire_conformance.suite.case import Frames

from .values import fitted, plain, slots_of

__all__ = ["Bench", "made", "native", "reading"]

Json = dict[str, Any]
Values = dict[str, Any]


@cache
def reading() -> Reading:
    """The interpreted reading; whatever message it is given, it reads it."""
    return Reading(packaged_spec())


def native(value: Any) -> Any:  # noqa: ANN401 - any value of the export
    """A value of the JSON export as Python has it."""
    if isinstance(value, dict) and set(value) == {"hex"}:
        return bytes.fromhex(value["hex"])
    return [native(item) for item in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A layout, its fields as it carries them, and a good message.

    ``slots`` are the facts of what the layout carries, keyed by field, with the field's
    own words (``doc``, ``unit``) and, as ``value_type``, the type of its value. ``heard`` is
    the message as the interpreted reading knows it.
    """

    message: Json
    layout: Json
    slots: Mapping[str, Json]
    heard: Message
    values: Values
    frames: Frames
    filled: Frames = ()
    """The frames, and behind them those that say no more than their lack."""
    _reads: dict[Frames, Values | None] = field(default_factory=dict, repr=False, compare=False)

    @property
    def key(self) -> str:
        """``group.name`` of the message."""
        return f"{self.message['group']}.{self.message['name']}"

    @property
    def clause(self) -> str:
        """The begin of the layout's clause ids."""
        return f"{self.message['group']}/{self.message['name']}/{self.layout['id']}"

    @property
    def shift(self) -> int:
        """How many frames stand before position 0."""
        return 1 if self.message["guard"] else 0

    @property
    def body(self) -> Frames:
        """The frames of the good message without the guard, with those that may be missing."""
        return self.filled[self.shift :]

    def put(self, position: int, raw: bytes) -> Frames:
        """The good message with one frame replaced."""
        at = position + self.shift
        return (*self.filled[:at], raw, *self.filled[at + 1 :])

    def raw(self, name: str, value: object, *, spelled: bool = False) -> bytes:
        """One value as its frame alone, whatever the rules across frames say of it.

        ``spelled``: with bytes even where the layout writes the value as an empty frame.
        """
        _, layout = reading().layout(self.heard, self.layout["id"])
        slot = layout.frames[self.slots[name]["position"]]
        own = replace(slot, empty=REQUIRED, writes_empty=False) if spelled else slot
        return write_slot(own, native(value), self.slots[name]["value_type"], None)

    def given(self, changes: Mapping[str, object]) -> tuple[Values, Frames] | None:
        """The good message with some values changed, and those that go with them."""
        values = fitted(self.message, self.layout, {**self.values, **changes}, changes)
        if values is None:
            return None
        frames = self._filled(values)
        return self.written(values) if frames is None else (values, frames)

    def _filled(self, values: Values) -> Frames | None:
        """The frames, where each changed value has bytes of its own and the rest stays.

        ``None`` where a frame becomes empty, may be missing or counts another: then what is
        sent is for the whole encoder to say, which takes ten times as long.
        """
        layout = self.layout
        ruled = any(rule["field"] in self.slots for rule in layout["derivations"])
        if ruled or len(layout["counts"]) > 1 or not layout["frames"]:
            return None
        frames = list(self.frames)
        for name, slot in self.slots.items():
            if values[name] == self.values[name] and values[name] is not True:
                continue
            raw = self._own(name, values[name])
            if not raw:
                return None
            frames[slot["position"] + self.shift] = raw
        return tuple(frames) if all(f["kind"] != "length" for f in layout["frames"]) else None

    def _own(self, name: str, value: object) -> bytes:
        """A value's bytes; none where it has none, or none that say it."""
        meaning = self.slots[name].get("empty", {})
        if value is None or meaning.get("value", self) == value:
            return b""
        try:
            return self.raw(name, value)
        except Refused:
            return b""

    def written(self, values: Values) -> tuple[Values, Frames] | None:
        """Values and their frames; ``None`` where the layout cannot carry them."""
        try:
            return values, encoded(self, values)
        except ReadingError:
            return None

    def read(self, frames: Frames) -> Values | None:
        """What the layout reads, as Python has it; ``None`` where it refuses."""
        if frames not in self._reads:  # backends ask the same of layouts that they share
            note = reading().annotate(self.heard, self.layout["id"], frames)
            self._reads[frames] = note.values if note.exact else None
        return self._reads[frames]


def encoded(at: Bench, values: Values) -> Frames:
    """The canonical frames; raises :class:`~pdwire.reading.ReadingError`."""
    told = {name: native(value) for name, value in values.items()}
    return tuple(reading().encode(at.heard, at.layout["id"], told))


def made(message: Json, layout: Json, heard: Message) -> Bench:
    """The bench of a layout."""
    slots = slots_of(message, layout)
    values = plain(message, layout)
    bare = Bench(message=message, layout=layout, slots=slots, heard=heard, values=values, frames=())
    frames = encoded(bare, values)
    return replace(bare, frames=frames, filled=(*frames, *_unsaid(bare, frames)))


def _unsaid(bare: Bench, frames: Frames) -> Iterator[bytes]:
    """The frames that the encoder leaves out of the good message."""
    for frame in bare.layout["frames"][len(frames) - bare.shift :]:
        if frame["kind"] == "const":
            yield frame["const"].encode("utf-8")
        elif frame["kind"] == "length" or bare.values[frame["field"]] is None:
            yield b""
        else:
            yield bare.raw(frame["field"], bare.values[frame["field"]], spelled=True)
