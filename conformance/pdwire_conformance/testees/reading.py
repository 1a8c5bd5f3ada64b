"""``pdwire:reading``: the second, interpreted reading of the spec, in this process.

Rules:

* It shares no code with the generated codecs, so a case that both pass is no accident.
* Its errors are of kinds of its own; it does not say that it types them as the protocol does.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Final

from pdwire.reading import Reading, ReadingError, packaged_spec
from pdwire.reading.match import candidates, families
from pdwire.reading.match import rank as fits_of
from pdwire.reading.spec import Layout, Message
from pdwire_conformance.proof.convert import from_json, to_json

from .codec import CodecTestee, Values, recognised
from .ours import everything
from .protocol import Answer, Hello, Refused, Skipped

__all__ = ["Interpreted", "refused_of"]

_KINDS: Final = {
    "guard": "unknown-message",
    "count": "frame-count",
    "value": "frame-value",
    "length": "invariant",
    "invariant": "invariant",
    "lossy": "lossy-encode",
    "unknown": "lossy-encode",
}


class Interpreted(CodecTestee):
    """The construct reading as a testee."""

    def __init__(self) -> None:
        self._reading = Reading(packaged_spec())

    def hello(self) -> Hello:
        """All that the spec has."""
        releases, messages = everything()
        return Hello(
            name="pdwire reading",
            version=version("pdwire"),
            features=frozenset({"recognise"}),
            releases=releases,
            messages=messages,
        )

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        """What the interpreter reads."""
        whole, layout = self._spoken(backend, release, message)
        try:
            values = self._reading.decode(whole, layout.id, frames)
        except ReadingError as fault:
            raise refused_of(fault) from fault
        return {name: to_json(value) for name, value in values.items()}

    def encode(self, backend: str, release: str, message: str, values: Values) -> list[bytes]:
        """What the interpreter writes."""
        whole, layout = self._spoken(backend, release, message)
        told = {name: from_json(value) for name, value in values.items()}
        try:
            return self._reading.encode(whole, layout.id, told)
        except ReadingError as fault:
            raise refused_of(fault) from fault

    def recognise(self, backend: str, frames: list[bytes], direction: str) -> Answer:
        """Every layout of the backend that reads the frames without a fault."""
        among = [
            (message, layout)
            for message, layout in candidates(self._reading.spec, backend=backend)
            if message.transport == "zmq" and (not direction or direction in message.directions)
        ]
        fits = [fit for fit in fits_of(self._reading, frames, among) if fit.exact]
        if not fits:
            raise Refused("unknown-message", "no layout reads these frames")
        found: dict[str, list[str]] = {}
        for fit in fits:
            found.setdefault(fit.message.name, []).append(fit.layout.id)
        return recognised(found, ambiguous=len(families(fits)) > 1)

    def _spoken(self, backend: str, release: str, name: str) -> tuple[Message, Layout]:
        for message in self._reading.spec.messages:
            layout = message.spoken(backend, release) if message.name == name else None
            if layout is not None:
                return message, layout
        raise Skipped(f"{backend} has no {name} in {release}")


def refused_of(fault: ReadingError) -> Refused:
    """A reading's error in the words of the protocol."""
    kind = _KINDS.get(fault.kind, "other")
    return Refused(kind, str(fault), frame=fault.position, field=fault.field or "")
