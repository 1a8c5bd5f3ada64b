"""What a generated message and a generated codec are.

A message is a frozen, slotted, keyword-only dataclass of scalars and flat arrays, the
same for every release. A :class:`Codec` is one layout of it: two pure functions and the
facts about who speaks it.

Decoders fill a *draft*, a class with the same slots that may be written to, and then
:func:`seal` it by giving it the message's class. A frozen dataclass's own ``__init__``
costs more than all of the parsing (5.5 µs against 0.5 µs for 19 fields, measured);
what the caller gets is the same frozen instance.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, NoReturn, Self, TypeGuard, TypeVar

import numpy as np

from pdwire.errors import LossyEncodeError, shorten
from pdwire.frames.place import Frames, Layout

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["Codec", "Message", "field_names", "seal", "unfit"]

M = TypeVar("M", bound="Message")


class Message:  # noqa: PLW1641  # unhashable on purpose, as the text says
    """Base of every generated message.

    Equality compares field by field; arrays by their items, so that an array built by
    hand equals the view that a decoder made. Messages are not hashable: they hold
    arrays.
    """

    __slots__ = ()

    newest: ClassVar[Codec[Any]]
    """The codec of the newest release's layout; set by the generated package."""

    def __init_subclass__(cls, **arguments: Any) -> None:  # noqa: ANN401 - whatever is passed on
        super().__init_subclass__(**arguments)
        # Where Hypothesis is in use it has loaded the strategies, which then learn of every
        # message. `slots=True` makes a class twice; only the second one has its fields.
        strategies = sys.modules.get("pdwire.strategies")
        if strategies is not None and "__dataclass_fields__" in vars(cls):
            strategies.register(cls)

    @classmethod
    def from_zmq(cls, frames: Frames) -> Self:
        """Decode frames of the newest layout.

        Raises:
            WireError: the frames are not that.
        """
        message: Self = cls.newest.decode(frames)
        return message

    def to_zmq(self) -> list[bytes]:
        """Encode into the newest layout.

        Raises:
            LossyEncodeError: the layout cannot carry a value.
            InvariantError: values contradict each other.
        """
        return type(self).newest.encode(self)

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(
            _same(getattr(self, name), getattr(other, name)) for name in field_names(type(self))
        )


def field_names(message: type[Message]) -> tuple[str, ...]:
    """The fields of a message class in declaration order."""
    typed: type[DataclassInstance] = message  # type: ignore[assignment]  # each one is a dataclass
    return tuple(typed.__dataclass_fields__)


def _same(a: object, b: object) -> bool:
    """Equality of two field values; arrays, tuples and lists by their items."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    if _has_items(a) and _has_items(b):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return False
    return bool(a == b)


def _has_items(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, tuple | list) or (isinstance(value, np.ndarray) and value.ndim > 0)


def seal(draft: Message, message: type[M]) -> M:
    """Turn a filled draft into the frozen message; both have the same slots."""
    draft.__class__ = message  # same slots: CPython allows it
    return draft  # type: ignore[return-value]  # it is one now


def unfit(message: object, cls: type[Message], layout: Layout, fault: Exception) -> NoReturn:
    """Raise the :class:`LossyEncodeError` of a value that an encoder stumbled over.

    Encoders check what they write while they write it; what they only compare (with what its
    absence means, or with another field) may be of any type and raise anything. Called then,
    off the hot path, to name the field.
    """
    if not isinstance(message, cls):
        raise _unfit(layout, f"a {cls.__name__}", message) from fault
    for name in field_names(cls):
        value, declared = getattr(message, name), cls.__annotations__[name]
        if not _is_of(value, declared):
            raise _unfit(layout, declared, value, name) from fault
    raise _unfit(layout, "values that frames can carry", fault) from fault


def _unfit(layout: Layout, expected: str, value: object, field: str = "") -> LossyEncodeError:
    return LossyEncodeError(
        expected, shorten(value), message=layout.message, layout=layout.layout, field=field
    )


_SCALARS: Final[dict[str, type | UnionType]] = {
    "int": Integral,
    "bool": Integral,
    "str": str,
    "bytes": bytes | bytearray | memoryview,
}


def _is_of(value: object, annotation: str) -> bool:
    """Whether a value is roughly of a field's declared type: all that an error needs."""
    if annotation.endswith("| None"):
        return value is None or _is_of(value, annotation.removesuffix("| None").strip())
    if annotation in _SCALARS:
        return isinstance(value, _SCALARS[annotation])
    if annotation.startswith("dict"):
        return isinstance(value, dict)
    if isinstance(value, np.ndarray):
        return annotation.endswith("Array") and value.ndim == 1
    return isinstance(value, tuple | list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec(Generic[M]):
    """One layout of one message for one backend.

    Attributes:
        backend: ``"mooncake"``, ``"nixl"``, ``"mori"`` or ``"ascend"``.
        message: the message's name on the wire, ``"TransferInfo"``, ``"STAGING_REQ"``.
        layout: id of the revision, ``"r8"``.
        releases: the releases of this backend that speak it, oldest first.
        directions: who sends it to whom, ``("decode -> prefill",)``.
        transport: ``"zmq"``, ``"notification"`` or ``"http"``.
        guard: the frame before frame 0 that positions do not count, or ``None``. It is
            part of what ``decode`` takes and ``encode`` gives.
        lead: the constants that tell the message, ``(index in the multipart, bytes)``, the
            guard among them.
        number: index in the multipart of the decimal that tells the message, or ``None``.
        counts: frame counts that the layout allows, guard not counted.
        fields: names of the fields that this layout carries, in a frame, a text or under a key.
        fingerprint: SHA-256 (hex) over the canonical layout, as in the lock file.
        cls: the message's dataclass.
        decode: frames to message; raises ``WireError`` and nothing else.
        encode: message to frames; raises ``LossyEncodeError`` where the layout cannot carry a
            value, ``InvariantError`` where values contradict each other, and nothing else.
    """

    backend: str
    message: str
    layout: str
    releases: tuple[str, ...]
    directions: tuple[str, ...]
    transport: str
    guard: bytes | None
    lead: tuple[tuple[int, bytes], ...]
    number: int | None
    counts: tuple[int, ...]
    fields: tuple[str, ...]
    fingerprint: str
    cls: type[M]
    decode: Callable[[Frames], M]
    encode: Callable[[M], list[bytes]]
