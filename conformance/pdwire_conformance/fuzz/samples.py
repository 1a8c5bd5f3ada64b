"""What one try of a property was made of, as data that a file can hold.

Rules: a sample is all that a property needs to be tried again: no seed, no strategy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as attribute
from typing import Any

from pdwire_conformance.proof.convert import from_json, to_json

__all__ = ["Problem", "Sample", "read_sample"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One try.

    Attributes:
        values: every field of the message; ``None`` where the frames mean nothing.
        frames: the whole multipart that is shown to decoders.
        canonical: the one spelling that an encoder writes.
        label: which fault the frames have; empty for none.
        kind: the kind of error that names it.
        frame: the frame that the error names, guard not counted.
        field: the field that it names.
        steps: what a machine did, in order.
        prepared: what the target encodes; made while drawing, never written.
    """

    values: Mapping[str, Any] | None = None
    frames: tuple[bytes, ...] = ()
    canonical: tuple[bytes, ...] = ()
    label: str = ""
    kind: str = ""
    frame: int | None = None
    field: str = ""
    steps: tuple[Mapping[str, Any], ...] = ()
    prepared: Any = attribute(default=None, compare=False, repr=False)

    def as_json(self) -> dict[str, Any]:
        """The sample as JSON; what is not there is left out."""
        told: dict[str, Any] = {}
        if self.values is not None:
            told["values"] = {name: to_json(value) for name, value in self.values.items()}
        if self.frames:
            told["frames"] = [frame.hex() for frame in self.frames]
        if self.canonical:
            told["canonical"] = [frame.hex() for frame in self.canonical]
        if self.label:
            told |= {"label": self.label, "kind": self.kind}
        if self.frame is not None:
            told["frame"] = self.frame
        if self.field:
            told["field"] = self.field
        if self.steps:
            told["steps"] = [dict(step) for step in self.steps]
        return told


def read_sample(told: Mapping[str, Any]) -> Sample:
    """The sample that :meth:`Sample.as_json` wrote."""
    values = told.get("values")
    return Sample(
        values=None if values is None else {name: from_json(v) for name, v in values.items()},
        frames=tuple(bytes.fromhex(frame) for frame in told.get("frames", ())),
        canonical=tuple(bytes.fromhex(frame) for frame in told.get("canonical", ())),
        label=told.get("label", ""),
        kind=told.get("kind", ""),
        frame=told.get("frame"),
        field=told.get("field", ""),
        steps=tuple(told.get("steps", ())),
    )


class Problem(Exception):
    """A property does not hold for a sample.

    ``cause`` tells two faults of one message apart and is the same for every sample of one.
    """

    def __init__(self, cause: str, *, expected: str, came: str) -> None:
        super().__init__(f"{cause}: expected {expected}, came {came}")
        self.cause = cause
        self.expected = expected
        self.came = came
