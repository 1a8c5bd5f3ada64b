"""What a property asks: the target, and what it is compared with.

Rules:

* A side takes and gives plain Python: frames are bytes, values are those of the second
  reading. What it answers is :class:`Read`, :class:`Wrote`, :class:`Refusal`,
  :class:`Unasked` or :class:`Broke`; it never raises.
* ``pdwire`` and ``pdwire:reading`` are asked directly, without the testee protocol between,
  so that a fuzzer's time goes into the codecs. Every other target is a testee.
* What a side needs to encode is prepared beforehand, while drawing, and is no part of what
  is timed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pdwire.codec import Message
from pdwire.errors import WireError
from pdwire.reading import Reading, ReadingError, packaged_spec
from pdwire.strategies.drawn import message_of, plain
from pdwire.strategies.subjects import Subject
from pdwire.wire import recognise
from pdwire_conformance.proof.convert import from_json, to_json
from pdwire_conformance.testees.ours import refused_of
from pdwire_conformance.testees.protocol import Answer, Hello, Testee, TesteeError
from pdwire_conformance.testees.reading import refused_of as refused_by_reading

__all__ = [
    "Asked",
    "Broke",
    "Direct",
    "Interpreted",
    "Outcome",
    "Read",
    "Refusal",
    "Side",
    "Unasked",
    "Wrote",
]

Values = Mapping[str, Any]
Frames = Sequence[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Frames were read; ``values`` are in plain Python, ``made`` is the side's own object."""

    made: Any

    @property
    def values(self) -> dict[str, Any]:
        """Field -> value, arrays as lists."""
        return plain(self.made) if isinstance(self.made, Message) else dict(self.made)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """Frames were written, guard included."""

    frames: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A message was recognised: message -> layouts that fit."""

    ambiguous: bool
    candidates: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The input is refused."""

    kind: str
    text: str
    frame: int | None = None
    field: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unasked:
    """There is no way to ask this of the side."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Broke:
    """Something else than a message or an error of the wire."""

    text: str


Outcome = Read | Wrote | Told | Refusal | Unasked | Broke


class Side(Protocol):
    """Whatever can be asked."""

    @property
    def target(self) -> str:
        """The words that choose it on the command line."""

    @property
    def hello(self) -> Hello:
        """What it says of itself: releases, messages, features."""

    def prepare(self, subject: Subject, values: Values) -> Any:  # noqa: ANN401 - its own form
        """What :meth:`encode` takes."""

    def encode(self, subject: Subject, release: str, prepared: Any) -> Outcome:  # noqa: ANN401
        """:class:`Wrote`, or why not."""

    def decode(self, subject: Subject, release: str, frames: Frames) -> Outcome:
        """:class:`Read`, or why not."""

    def recognise(self, backend: str, frames: Frames) -> Outcome:
        """:class:`Told`, or why not."""


class Direct:
    """The generated codecs; ``target`` is ``pdwire``."""

    target = "pdwire"

    def __init__(self, hello: Hello) -> None:
        self.hello = hello

    def prepare(self, subject: Subject, values: Values) -> Message:
        """The message."""
        return message_of(subject, values)

    def encode(self, subject: Subject, release: str, prepared: Message) -> Outcome:  # noqa: ARG002
        """The codec's frames."""
        try:
            return Wrote(frames=tuple(subject.codec.encode(prepared)))
        except Exception as fault:  # noqa: BLE001 - whatever it is, it is what the codec did
            return _fault(fault)

    def decode(self, subject: Subject, release: str, frames: Frames) -> Outcome:  # noqa: ARG002
        """The codec's message."""
        try:
            return Read(made=subject.codec.decode(frames))
        except Exception as fault:  # noqa: BLE001 - as above
            return _fault(fault)

    def recognise(self, backend: str, frames: Frames) -> Outcome:
        """What the registry proves."""
        try:
            found = recognise(frames, backend=backend)
        except Exception as fault:  # noqa: BLE001 - as above
            return _fault(fault)
        candidates: dict[str, list[str]] = {}
        for codec in found.candidates:
            candidates.setdefault(codec.message, []).append(codec.layout)
        return Told(ambiguous=found.ambiguous, candidates=candidates)


def _fault(fault: Exception) -> Outcome:
    if not isinstance(fault, WireError):
        return Broke(text=f"{type(fault).__name__}: {fault}"[:300])
    told = refused_of(fault)
    return Refusal(kind=told.kind, text=told.text, frame=told.frame, field=told.field)


class Interpreted:
    """The second reading; ``target`` is ``pdwire:reading``."""

    target = "pdwire:reading"

    def __init__(self, hello: Hello) -> None:
        self.hello = hello
        self._reading = Reading(packaged_spec())

    def prepare(self, subject: Subject, values: Values) -> Values:  # noqa: ARG002
        """The values as they are."""
        return values

    def encode(self, subject: Subject, release: str, prepared: Values) -> Outcome:  # noqa: ARG002
        """The one canonical encoding."""
        try:
            frames = self._reading.encode(subject.message, subject.layout.id, prepared)
        except Exception as fault:  # noqa: BLE001 - whatever it is, it is what the reading did
            return _misread(fault)
        return Wrote(frames=tuple(frames))

    def decode(self, subject: Subject, release: str, frames: Frames) -> Outcome:  # noqa: ARG002
        """The values that it reads."""
        try:
            return Read(made=self._reading.decode(subject.message, subject.layout.id, frames))
        except Exception as fault:  # noqa: BLE001 - as above
            return _misread(fault)

    def recognise(self, backend: str, frames: Frames) -> Outcome:
        """Only the registry of the generated codecs recognises."""
        return Unasked(why=f"the reading recognises nothing ({backend}, {len(frames)} frames)")


def _misread(fault: Exception) -> Outcome:
    if not isinstance(fault, ReadingError):
        return Broke(text=f"{type(fault).__name__}: {fault}"[:300])
    told = refused_by_reading(fault)
    return Refusal(kind=told.kind, text=told.text, frame=told.frame, field=told.field)


class Asked:
    """A testee, asked one thing at a time over its protocol."""

    skipped: str = ""
    """Why it could not be asked something, if ever: whoever tries one sample wants to know."""

    def __init__(self, testee: Testee) -> None:
        self._testee = testee

    @property
    def target(self) -> str:
        """The words that choose the testee."""
        return self._testee.target

    @property
    def hello(self) -> Hello:
        """What the testee says of itself."""
        return self._testee.hello()

    def prepare(self, subject: Subject, values: Values) -> dict[str, Any]:  # noqa: ARG002
        """The values in the form of the JSON export."""
        return {name: to_json(value) for name, value in values.items()}

    def encode(self, subject: Subject, release: str, prepared: dict[str, Any]) -> Outcome:
        """The frames of the answer."""
        return self._ask(self._about(subject, release) | {"op": "encode", "values": prepared})

    def decode(self, subject: Subject, release: str, frames: Frames) -> Outcome:
        """The values of the answer."""
        octets = [frame.hex() for frame in frames]
        return self._ask(self._about(subject, release) | {"op": "decode", "frames": octets})

    def recognise(self, backend: str, frames: Frames) -> Outcome:
        """What the answer recognises."""
        if "recognise" not in self.hello.features:
            return Unasked(why="it does not recognise messages")
        octets = [frame.hex() for frame in frames]
        return self._ask({"op": "recognise", "backend": backend, "frames": octets, "direction": ""})

    def _about(self, subject: Subject, release: str) -> dict[str, Any]:
        return {"backend": subject.backend, "release": release, "message": subject.codec.message}

    def _ask(self, request: dict[str, Any]) -> Outcome:
        try:
            answer = self._testee.ask([request])[0]
        except TesteeError as fault:
            self._testee.__exit__(None, None, None)
            self._testee.__enter__()
            return Broke(text=f"the testee broke the protocol: {fault}"[:300])
        self.skipped = str(answer.get("skip", self.skipped))
        return _outcome(answer)


def _outcome(answer: Answer) -> Outcome:
    if "skip" in answer:
        return Unasked(why=str(answer["skip"]))
    if (error := answer.get("error")) is not None:
        if error.get("text", "").startswith("DroppedError"):
            return Unasked(why="the release ignores such a message, by design")
        return Refusal(
            kind=error["kind"],
            text=error.get("text", ""),
            frame=error.get("frame"),
            field=error.get("field", ""),
        )
    if "frames" in answer:
        return Wrote(frames=tuple(bytes.fromhex(frame) for frame in answer["frames"]))
    if (told := answer.get("recognised")) is not None:
        found = {each["message"]: each["layouts"] for each in told["candidates"]}
        return Told(ambiguous=told["ambiguous"], candidates=found)
    return Read(made={name: from_json(value) for name, value in answer["values"].items()})
