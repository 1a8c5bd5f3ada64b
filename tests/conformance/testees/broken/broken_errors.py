"""Testees that refuse, but say the wrong thing, and some that do not refuse."""

from __future__ import annotations

from typing import Any

from pdwire.reading import Reading, packaged_spec
from pdwire_conformance.testees.ours import Generated
from pdwire_conformance.testees.protocol import Refused

Values = dict[str, Any]


class OneKind(Generated):
    """Says that it types its errors, and calls all of them frame counts."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        try:
            return super().decode(backend, release, message, frames)
        except Refused as fault:
            raise Refused("frame-count", fault.text) from fault


class CountsTheGuard(Generated):
    """Its errors name the frame as it came, guard and all."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        try:
            return super().decode(backend, release, message, frames)
        except Refused as fault:
            guarded = 0 if fault.frame is None else fault.frame + backend.startswith("n")
            raise Refused(fault.kind, fault.text, frame=guarded, field=fault.field) from fault


class NoPlace(Generated):
    """Says what is wrong, and not where."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        try:
            return super().decode(backend, release, message, frames)
        except Refused as fault:
            raise Refused(fault.kind, fault.text) from fault


class ForgetsInvariants(Generated):
    """Looks at every frame by itself and at no two together (field report F9)."""

    def __init__(self) -> None:
        self._reading = Reading(packaged_spec())

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        try:
            return super().decode(backend, release, message, frames)
        except Refused as fault:
            if fault.kind != "invariant":
                raise
            layout = self.codec(backend, release, message).layout
            found = self._reading.spec.find(message)
            whole = next(each for each in found if each.spoken(backend, release) is not None)
            told = self._reading.annotate(whole, layout, frames).values
            return {name: _as_json(value) for name, value in told.items()}


def _as_json(value: object) -> object:
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    return {"hex": value.hex()} if isinstance(value, bytes) else value


class RefusesNothing(Generated):
    """Whatever comes, it makes something of it."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        try:
            return super().decode(backend, release, message, frames)
        except Refused:
            return dict.fromkeys(self.codec(backend, release, message).fields)


class RefusesEmpty(Generated):
    """A frame has something in it, or it is not sent."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        if not all(frames):
            raise Refused("frame-value", "an empty frame", frame=frames.index(b""))
        return super().decode(backend, release, message, frames)
