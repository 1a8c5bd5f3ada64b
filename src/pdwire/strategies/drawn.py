"""Messages and frames of every layout, valid by construction.

Rules: a message carries what the layout it was drawn for can carry, and nothing else, so
that decoding its frames gives it back. Frames come in every spelling that means the same.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from pdwire.codec import Message, field_names
from pdwire.strategies.spellings import Multipart, canonical, draw_spelling
from pdwire.strategies.subjects import Subject, subject
from pdwire.strategies.values import draw_values

__all__ = ["Example", "examples", "examples_of", "frames", "message_of", "messages", "plain"]

_SHORT: Final = reprlib.Repr()
_SHORT.maxdict = 40
_SHORT.maxlist = 8
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80
_DTYPES: Final[dict[str, np.dtype[Any]]] = {
    "i32": np.dtype("<i4"),
    "u32": np.dtype("<u4"),
    "u64": np.dtype("<u8"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One message of one layout, as values and as frames.

    ``values`` has every field, arrays as lists. ``spelled`` is one multipart that means
    them, ``canonical`` the one that an encoder writes; guards are included in both.
    """

    subject: Subject
    values: Mapping[str, Any]
    spelled: Multipart
    canonical: Multipart

    def message(self) -> Message:
        """The values as the generated class."""
        return message_of(self.subject, self.values)

    def __repr__(self) -> str:
        return f"Example({self.subject.name}, {_SHORT.repr(dict(self.values))})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ANN401, ARG002, FBT001
        """Hypothesis would print a dataclass with all its fields, frames and all."""
        printer.text(repr(self))


def message_of(subject: Subject, values: Mapping[str, Any]) -> Message:
    """The generated message of these values; arrays become read-only numpy arrays."""
    types = {each.name: each.type for each in subject.message.fields}
    made = {name: _native(types[name], value) for name, value in values.items()}
    message: Message = subject.codec.cls(**made)
    return message


def _native(kind: str, value: Any) -> Any:  # noqa: ANN401 - whatever the type holds
    if not isinstance(value, list):
        return value
    dtype = _DTYPES.get(kind.split("[", maxsplit=1)[0])
    if dtype is None:
        return tuple(tuple(item) if isinstance(item, list) else item for item in value)
    if kind.endswith("[][]"):
        return tuple(_array(part, dtype) for part in value)
    return _array(value, dtype)


def _array(items: list[int], dtype: np.dtype[Any]) -> Any:  # noqa: ANN401 - an array
    made = np.array(items, dtype)
    made.flags.writeable = False
    return made


def plain(message: Message) -> dict[str, Any]:
    """A message's values with arrays and tuples as lists."""
    return {name: _plain(getattr(message, name)) for name in field_names(type(message))}


def _plain(value: Any) -> Any:  # noqa: ANN401 - as above
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value


@st.composite
def _examples(draw: DrawFn, subject: Subject) -> Example:
    values = draw_values(draw, subject)
    spelled = draw_spelling(draw, subject, values)
    return Example(
        subject=subject, values=values, spelled=spelled, canonical=canonical(subject, values)
    )


@st.composite
def _messages(draw: DrawFn, subject: Subject) -> Message:
    return message_of(subject, draw_values(draw, subject))


_known: dict[tuple[str, str], SearchStrategy[Any]] = {}


def examples_of(subject: Subject) -> SearchStrategy[Example]:
    """Examples of one layout."""
    return _remembered("examples", subject, _examples)


def _remembered(what: str, subject: Subject, make: Any) -> SearchStrategy[Any]:  # noqa: ANN401 - a composite
    key = (what, subject.name)
    if key not in _known:
        _known[key] = make(subject)
    return _known[key]


def examples(
    backend: str, message: str, *, release: str | None = None, revision: str | None = None
) -> SearchStrategy[Example]:
    """Messages with their values and their frames.

    Raises:
        UnknownLayoutError: there is no such message or layout.
    """
    return examples_of(subject(backend, message, release=release, revision=revision))


def messages(
    backend: str, message: str, *, release: str | None = None, revision: str | None = None
) -> SearchStrategy[Any]:
    """Instances of the generated class that the layout carries; the newest by default.

    Args:
        backend: ``"mooncake"``, ``"nixl"``, ``"mori"``, ``"ascend"``.
        message: name on the wire, class name or alias.
        release: a published release, ``"0.5.19"``.
        revision: a layout id, ``"r8"``.

    Raises:
        UnknownLayoutError: there is no such message or layout.
    """
    return _remembered(
        "messages", subject(backend, message, release=release, revision=revision), _messages
    )


def frames(
    backend: str, message: str, *, release: str | None = None, revision: str | None = None
) -> SearchStrategy[list[bytes]]:
    """Whole multiparts that the layout's decoder accepts, in every allowed spelling.

    Raises:
        UnknownLayoutError: there is no such message or layout.
    """
    chosen = examples(backend, message, release=release, revision=revision)
    return chosen.map(lambda example: list(example.spelled))


@cache
def newest(cls: type[Message]) -> SearchStrategy[Any]:
    """Instances of a generated class that its newest layout carries (``from_type``)."""
    codec = cls.newest
    return messages(codec.backend, codec.message, revision=codec.layout)
