"""The second reading of the spec: any message of any layout, decoded and encoded.

Rules: the interpreter stands on the JSON export and on ``construct``, and shares no code
with the generated codecs, so that where both agree the spec says what they do. It is
strict and total: bytes are a value or a :class:`ReadingError`, nothing else. What it
encodes it decodes again before it answers: a value that comes back different cannot be
carried by the layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pdwire.reading.bodies import read_body
from pdwire.reading.encode import complete, encodings, problem
from pdwire.reading.errors import ReadingError, shorten_value
from pdwire.reading.frames import count_text, read_frames
from pdwire.reading.result import Annotation, Draft, Fault
from pdwire.reading.settle import carried, settle
from pdwire.reading.spec import Layout, Message, Spec, Value
from pdwire.reading.texts import read_text
from pdwire.reading.types import same


class Reading:
    """All messages of one spec."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    def message(self, name: str, *, backend: str | None = None) -> Message:
        """The one message called ``name`` (``group.name`` where the bare name is not enough).

        Raises:
            ReadingError: there is none, or there are several.
        """
        found = [
            message
            for message in self.spec.find(name)
            if backend is None or backend in message.backends
        ]
        if len(found) == 1:
            return found[0]
        came = ", ".join(message.key for message in found) if found else "no such message"
        raise _unknown(name, "", f"one message called {name!r}", came)

    def layout(self, message: Message | str, layout_id: str) -> tuple[Message, Layout]:
        """The message and its layout of that id.

        Raises:
            ReadingError: there is no such layout.
        """
        whole = self.message(message) if isinstance(message, str) else message
        layout = whole.layout(layout_id)
        if layout is None:
            known = ", ".join(each.id for each in whole.layouts)
            raise _unknown(whole.key, layout_id, f"a layout of {known}", layout_id)
        return whole, layout

    def annotate(
        self, message: Message | str, layout_id: str, frames: Sequence[bytes]
    ) -> Annotation:
        """Every frame with its field and its value or fault; never raises for bad frames.

        Args:
            message: the message, or its name.
            layout_id: which layout, ``"r8"``.
            frames: the whole multipart message, guard included; one text or body.

        Raises:
            ReadingError: there is no such message or layout.
        """
        whole, layout = self.layout(message, layout_id)
        draft = Draft(message=whole, layout=layout)
        if whole.transport == "zmq":
            read_frames(draft, [bytes(frame) for frame in frames])
        elif len(frames) != 1:
            fault = Fault(kind="count", expected="1 frame", came=count_text(len(frames)))
            draft.faults.append(fault)
        elif whole.transport == "http":
            read_body(draft, bytes(frames[0]))
        else:
            read_text(draft, bytes(frames[0]))
        settle(draft)
        return draft.finish()

    def decode(
        self, message: Message | str, layout_id: str, frames: Sequence[bytes]
    ) -> dict[str, Value]:
        """The values of all the message's fields.

        Raises:
            ReadingError: the frames are not this layout's; the first fault.
        """
        annotation = self.annotate(message, layout_id, frames)
        if annotation.faults:
            raise _error(annotation, annotation.faults[0])
        return annotation.values

    def encode(
        self, message: Message | str, layout_id: str, values: Mapping[str, Value]
    ) -> list[bytes]:
        """The one canonical encoding of ``values``, guard included.

        A derived value and one that the layout's lack of a frame tells may be left out.

        Raises:
            ReadingError: a value is missing or unknown, or the layout cannot carry it.
        """
        whole, layout = self.layout(message, layout_id)
        told = complete(whole, layout, values)
        last = _unknown(whole.key, layout_id, "a frame count", "a layout without any")
        for attempt in encodings(whole, layout, told):
            if isinstance(attempt, ReadingError):
                last = attempt
                continue
            difference = self._difference(whole, layout, attempt, told)
            if difference is None:
                return attempt
            last = difference
        raise last

    def _difference(
        self, message: Message, layout: Layout, frames: list[bytes], told: Mapping[str, Value]
    ) -> ReadingError | None:
        """What does not come back, or ``None``."""
        annotation = self.annotate(message, layout.id, frames)
        if annotation.faults:
            return _error(annotation, annotation.faults[0])
        here = carried(layout)
        for field in message.fields:
            if field.ignorable and field.name not in here:
                continue
            back = annotation.values[field.name]
            if not same(back, told[field.name]):
                return problem(
                    message,
                    layout,
                    kind="lossy",
                    field=field.name,
                    expected=f"{shorten_value(back)}, all that the layout can say",
                    came=shorten_value(told[field.name]),
                )
        return None


def _unknown(message: str, layout: str, expected: str, came: str) -> ReadingError:
    return ReadingError(
        kind="unknown",
        message=message,
        layout=layout,
        position=None,
        field=None,
        expected=expected,
        came=came,
    )


def _error(annotation: Annotation, fault: Fault) -> ReadingError:
    return problem(
        annotation.message,
        annotation.layout,
        kind=fault.kind,
        position=fault.position,
        field=fault.field,
        expected=fault.expected,
        came=fault.came,
    )
