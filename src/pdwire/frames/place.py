"""Where an error happened: what generated code knows about each layout and frame.

A :class:`Layout` and its :class:`Place` objects are built once, at import; raising is
the only time they are read, so decoding pays nothing for good messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, NoReturn, TypeAlias

from pdwire.errors import (
    FrameCountError,
    FrameValueError,
    InvariantError,
    LossyEncodeError,
    UnknownMessageError,
    WireError,
    shorten,
)

__all__ = [
    "Frames",
    "Layout",
    "Place",
    "as_bytes",
    "broken",
    "const",
    "fixed",
    "guarded",
    "lossy",
    "plain",
    "refuse",
    "refuse_stranger",
    "size_of",
    "wrong_count",
]

Frames: TypeAlias = Sequence[Any]
"""Any sequence of bytes-like objects: ``bytes``, ``memoryview``, ``zmq.Frame``."""


_NOBODY: Final[Mapping[bytes, str]] = {}


class Layout:
    """Identity of one layout, for error messages.

    Args:
        message: backend group and message name, ``"mooncake TransferInfo"``.
        layout: layout id.
        releases: who speaks it, readable: ``"0.5.17–0.5.18"``.
        counts: frame counts allowed, guard not counted.
        others: for counts of the message's other layouts, who sends them.
        guard: the guard frame or ``None``.
        lead: the constants that tell the message, ``(index in the multipart, bytes)``.
        number: index in the multipart of the decimal that tells the message, or ``None``.
        strangers: constants that stand there in other messages, and which those are.
    """

    __slots__ = (
        "counts",
        "guard",
        "layout",
        "lead",
        "message",
        "number",
        "others",
        "places",
        "releases",
        "strangers",
    )

    def __init__(
        self,
        message: str,
        layout: str,
        releases: str,
        counts: tuple[int, ...],
        others: dict[int, str],
        guard: bytes | None = None,
        lead: tuple[tuple[int, bytes], ...] = (),
        number: int | None = None,
        strangers: Mapping[bytes, str] = _NOBODY,
    ) -> None:
        self.lead = lead
        self.number = number
        self.strangers = strangers
        self.message = message
        self.layout = layout
        self.releases = releases
        self.counts = counts
        self.others = others
        self.guard = guard
        self.places: list[Place] = []  # each adds itself

    def place(self, position: int) -> Place:
        """The place of a frame; one without a name where the layout has none there."""
        known = (place for place in self.places if place.position == position)
        return next(known, None) or Place(self, position, "", "")


class Place:
    """One frame (or body key) of one layout: its name, range and what is expected."""

    __slots__ = ("allowed", "expected", "field", "hi", "layout", "lo", "position")

    def __init__(
        self,
        layout: Layout,
        position: int | None,
        field: str,
        expected: str,
        lo: int = 0,
        hi: int = 0,
        allowed: tuple[str, ...] = (),
    ) -> None:
        if field:
            layout.places.append(self)
        self.layout = layout
        self.position = position
        self.field = field
        self.expected = expected
        self.lo = lo
        self.hi = hi
        self.allowed = allowed


def refuse(at: Place, came: object, hint: str = "", expected: str = "") -> NoReturn:
    """Raise the :class:`FrameValueError` of one frame."""
    raise FrameValueError(
        expected or at.expected,
        shorten(came),
        message=at.layout.message,
        layout=at.layout.layout,
        frame=at.position,
        field=at.field,
        hint=hint,
    )


def lossy(at: Place, value: object, hint: str = "") -> NoReturn:
    """Raise the :class:`LossyEncodeError` of one field."""
    raise LossyEncodeError(
        at.expected,
        shorten(value),
        message=at.layout.message,
        layout=at.layout.layout,
        frame=at.position,
        field=at.field,
        hint=hint,
    )


def broken(layout: Layout, expected: str, came: str, field: str = "") -> NoReturn:
    """Raise the :class:`InvariantError` of a rule across frames."""
    raise InvariantError(expected, came, message=layout.message, layout=layout.layout, field=field)


def wrong_count(layout: Layout, frames: Frames) -> NoReturn:
    """Raise the error of a frame count (guard not counted) that the layout does not allow.

    Raises:
        UnknownMessageError: the frames do not begin as this message does, so it is another one.
        FrameCountError: the message is this one.
    """
    raise _counted(layout, frames)


def _counted(layout: Layout, frames: Frames) -> WireError:
    guard = 0 if layout.guard is None else 1
    count = len(frames) - guard
    if guard and not (len(frames) and as_bytes(frames[0], layout) == layout.guard):
        return _no_guard(layout, frames)
    for index, value in layout.lead:
        if index >= len(frames) or as_bytes(frames[index], layout) != value:
            return _other_message(layout, frames, index, value)
    if layout.number is not None and layout.number < len(frames):
        first = as_bytes(frames[layout.number], layout)
        if first in layout.strangers:
            return _stranger(layout, first)
    known = layout.others.get(count, "")
    return FrameCountError(
        " or ".join(map(str, layout.counts)) + " frames",
        f"{count} frame{'' if count == 1 else 's'}",
        message=layout.message,
        layout=layout.layout,
        hint=f"{count} frames: a {known} peer?" if known else "",
    )


def guarded(frame: Any, layout: Layout) -> None:
    """Check the guard frame; called when it is not the very bytes.

    Raises:
        UnknownMessageError: the frame is not this backend's guard.
    """
    if as_bytes(frame, layout) != layout.guard:
        raise _no_guard(layout, [frame])


def _no_guard(layout: Layout, frames: Frames) -> WireError:
    return UnknownMessageError(
        f"the guard {layout.guard!r} first",
        shorten(as_bytes(frames[0], layout)) if len(frames) else "no frames",
        message=layout.message,
        layout=layout.layout,
        hint="another backend's message, or the guard was stripped: pass the whole message",
    )


def _other_message(layout: Layout, frames: Frames, index: int, value: bytes) -> WireError:
    came = shorten(as_bytes(frames[index], layout)) if index < len(frames) else "no such frame"
    return UnknownMessageError(
        repr(value),
        came,
        message=layout.message,
        layout=layout.layout,
        frame=index - (layout.guard is not None),
        hint="another message",
    )


def _stranger(layout: Layout, first: bytes) -> UnknownMessageError:
    """The error of a constant where this message has a number."""
    return UnknownMessageError(
        "a canonical decimal",
        repr(first),
        message=layout.message,
        layout=layout.layout,
        frame=(layout.number or 0) - (layout.guard is not None),
        hint=f"another message: {layout.strangers[first]}",
    )


def refuse_stranger(frame: Any, layout: Layout) -> None:
    """Refuse the frame that tells the message by being a number, if another message has it.

    Raises:
        UnknownMessageError: the frame is a constant that other messages begin with.
    """
    came = as_bytes(frame, layout)
    if came in layout.strangers:
        raise _stranger(layout, came)


def const(frame: Any, value: bytes, at: Place) -> None:
    """Check a constant frame; called when it is not the very bytes.

    Raises:
        UnknownMessageError: the frame is something else, so this is another message.
    """
    came = as_bytes(frame, at)
    if came != value:
        raise UnknownMessageError(
            repr(value),
            shorten(came),
            message=at.layout.message,
            layout=at.layout.layout,
            frame=at.position,
            field=at.field,
            hint="another message",
        )


def fixed(frame: Any, value: bytes, at: Place) -> None:
    """Check a constant frame that does not tell messages apart.

    Raises:
        FrameValueError: the frame is something else.
    """
    came = as_bytes(frame, at)
    if came != value:
        refuse(at, came)


def as_bytes(frame: Any, at: Place | Layout) -> bytes:
    """The frame's bytes, copied if it is not ``bytes`` (scalar frames only).

    Raises:
        FrameValueError: it is not a bytes-like object; the error names the place, if given.
    """
    if frame.__class__ is bytes:
        value: bytes = frame
        return value
    try:
        return memoryview(frame).tobytes()
    except (TypeError, ValueError, BufferError):
        raise _no_bytes(frame, at) from None


def _no_bytes(frame: object, at: Place | Layout) -> FrameValueError:
    place = at if isinstance(at, Place) else None
    layout = at.layout if isinstance(at, Place) else at
    return FrameValueError(
        "a bytes-like frame",
        type(frame).__name__,
        message=layout.message,
        layout=layout.layout,
        frame=None if place is None else place.position,
        field="" if place is None else place.field,
    )


def size_of(frame: Any) -> int:
    """How many bytes a frame has; a view of wider elements has more than elements."""
    return frame.nbytes if isinstance(frame, memoryview) else len(frame)


def plain(frames: Any, layout: Layout) -> list[bytes]:
    """All frames as ``bytes``, for the second attempt on frames that were not.

    Raises:
        FrameValueError: a frame is not bytes-like, or ``frames`` is no sequence of them.
        RuntimeError: the frames were ``bytes`` already, so the codec itself is at fault.
    """
    listed = None if isinstance(frames, _ONE_VALUE) else _listed(frames)
    if listed is None:
        raise FrameValueError(
            "a sequence of frames",
            shorten(frames),
            message=layout.message,
            layout=layout.layout,
        )
    if isinstance(frames, list | tuple) and all(f.__class__ is bytes for f in frames):
        raise RuntimeError(f"codec of {layout.message} {layout.layout} failed on plain frames")
    guard = 0 if layout.guard is None else 1
    return [as_bytes(frame, layout.place(n - guard)) for n, frame in enumerate(listed)]


_ONE_VALUE: Final = (bytes, bytearray, memoryview, str, Mapping, AbstractSet)
"""What could be iterated over and is all the same no sequence of frames."""


def _listed(frames: Any) -> list[Any] | None:
    """The frames as a list; ``None`` where they cannot be listed."""
    try:
        return list(frames)
    except Exception:  # noqa: BLE001  # a single zmq.Frame raises an error of its own
        return None
