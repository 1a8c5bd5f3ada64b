"""The generated codec and the interpreted reading of one layout, side by side.

Rules: both take the same frames and the same values; what they answer is brought to one
form (lists, bytes, plain numbers) and compared strictly, ``True`` is not 1; a refusal of
either is kept with its text, so that a disagreement says what each had to say.
"""

# ruff: noqa: ANN401 - values of every type are compared here

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pdwire.codec import Codec, field_names
from pdwire.errors import WireError
from pdwire.reading import Reading, ReadingError

Values = dict[str, Any]
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Not a value, and why; all refusals are equal."""

    why: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Refusal)

    def __hash__(self) -> int:
        return 0


def plain(value: Any) -> Any:
    """Arrays and tuples as lists, at any depth."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def same(one: Any, other: Any) -> bool:
    """Equality of values and of their types, at any depth."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other) and bool(one == other)


@dataclass(frozen=True, slots=True)
class Pair:
    """One layout on both sides, and its part of the JSON export to draw values from."""

    codec: Codec[Any]
    reading: Reading
    message: Json
    layout: Json

    @property
    def key(self) -> str:
        """``group.name`` of the message."""
        return f"{self.message['group']}.{self.message['name']}"

    @property
    def shown(self) -> str:
        """For test ids and messages."""
        return f"{self.key}-{self.layout['id']}"

    def decoded(self, frames: Sequence[Any]) -> Values | Refusal:
        """What the generated codec reads."""
        try:
            message = self.codec.decode(frames)
        except WireError as error:
            return Refusal(str(error))
        return {name: plain(getattr(message, name)) for name in field_names(type(message))}

    def read(self, frames: Sequence[bytes]) -> Values | Refusal:
        """What the interpreter reads."""
        try:
            return self.reading.decode(self.key, self.layout["id"], frames)
        except ReadingError as error:
            return Refusal(str(error))

    def encoded(self, values: Mapping[str, Any]) -> list[bytes] | Refusal:
        """The frames that the generated codec writes."""
        message = self.codec.cls(**{name: _told(value) for name, value in values.items()})
        try:
            return self.codec.encode(message)
        except WireError as error:
            return Refusal(str(error))

    def written(self, values: Mapping[str, Any]) -> list[bytes] | Refusal:
        """The frames that the interpreter writes."""
        try:
            return self.reading.encode(self.key, self.layout["id"], values)
        except ReadingError as error:
            return Refusal(str(error))


def _told(value: Any) -> Any:
    """Lists as the tuples that messages hold."""
    return tuple(map(_told, value)) if isinstance(value, list) else value


def differences(ours: Values | Refusal, theirs: Values | Refusal) -> list[str]:
    """What the two sides do not agree about, a line per field; nothing when they do."""
    if isinstance(ours, Refusal) or isinstance(theirs, Refusal):
        return [] if ours == theirs else [f"codec: {_short(ours)}", f"reading: {_short(theirs)}"]
    if ours.keys() != theirs.keys():
        return [f"fields {sorted(ours.keys() ^ theirs.keys())} are on one side only"]
    return [
        f"{name}: codec {_short(ours[name])}, reading {_short(theirs[name])}"
        for name in ours
        if not same(ours[name], theirs[name])
    ]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}…"


def pairs(codecs: Sequence[Codec[Any]], reading: Reading, export: Json) -> Iterator[Pair]:
    """Every layout once, whatever backends speak it."""
    told = {
        (message["group"], message["name"], layout["id"]): (message, layout)
        for message in export["messages"]
        for layout in message["layouts"]
    }
    seen: set[tuple[str, str, str]] = set()
    for codec in codecs:
        group = codec.cls.__module__.split(".")[2]
        key = (group, codec.message, codec.layout)
        if key not in seen:
            seen.add(key)
            yield Pair(codec, reading, *told[key])
    if seen != set(told):
        raise ValueError(f"layouts without a codec: {sorted(set(told) - seen)}")
