"""``pdwire``: the generated codecs, in this process.

Rules:

* Every backend, release and message that the spec has; errors are typed.
* A message that a release does not have cannot be asked of it: ``skip``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any, Final

from pdwire.codec import Codec
from pdwire.errors import (
    FrameCountError,
    FrameValueError,
    InvariantError,
    LossyEncodeError,
    UnknownLayoutError,
    UnknownMessageError,
    WireError,
)
from pdwire.wire import layout, recognise
from pdwire_conformance.proof.convert import from_message, to_message
from pdwire_conformance.proof.spec import load_spec

from .codec import CodecTestee, Values, recognised
from .protocol import Answer, Hello, Refused, Skipped

__all__ = ["Generated", "everything", "refused_of"]

_KINDS: Final[dict[type[WireError], str]] = {
    UnknownMessageError: "unknown-message",
    FrameCountError: "frame-count",
    FrameValueError: "frame-value",
    InvariantError: "invariant",
    LossyEncodeError: "lossy-encode",
}


class Generated(CodecTestee):
    """The generated codecs as a testee."""

    def hello(self) -> Hello:
        """All that the spec has."""
        releases, messages = everything()
        return Hello(
            name="pdwire",
            version=version("pdwire"),
            roles=("codec", "prefill", "decode", "bootstrap"),
            features=frozenset({"typed-errors", "recognise"}),
            releases=releases,
            messages=messages,
        )

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        """What the generated decoder reads."""
        codec = self.codec(backend, release, message)
        try:
            return from_message(codec.decode(frames))
        except WireError as fault:
            raise refused_of(fault) from fault

    def encode(self, backend: str, release: str, message: str, values: Values) -> list[bytes]:
        """What the generated encoder writes."""
        codec = self.codec(backend, release, message)
        try:
            return codec.encode(to_message(codec, values))
        except WireError as fault:
            raise refused_of(fault) from fault

    def recognise(self, backend: str, frames: list[bytes], direction: str) -> Answer:
        """What the registry recognises."""
        try:
            found = recognise(frames, backend=backend, direction=direction or None)
        except WireError as fault:
            raise refused_of(fault) from fault
        candidates: dict[str, list[str]] = {}
        for codec in found.candidates:
            candidates.setdefault(codec.message, []).append(codec.layout)
        return recognised(candidates, ambiguous=found.ambiguous)

    def codec(self, backend: str, release: str, message: str) -> Codec[Any]:
        """The codec that a release speaks; ``Skipped`` where there is none."""
        try:
            return layout(backend, message, release=release)
        except UnknownLayoutError as fault:
            raise Skipped(str(fault)) from fault


def refused_of(fault: WireError) -> Refused:
    """An error of the wire in the words of the protocol."""
    kinds = (kind for tree, kind in _KINDS.items() if isinstance(fault, tree))
    return Refused(next(kinds, "other"), str(fault), frame=fault.frame, field=fault.field)


@cache
def everything() -> tuple[
    Mapping[str, tuple[str, ...]], Mapping[str, Mapping[str, tuple[str, ...]]]
]:
    """Backend -> releases, and backend -> message -> operations, of the whole spec."""
    spec = load_spec()
    both = ("decode", "encode")
    releases = {each["name"]: tuple(each["releases"]) for each in spec["backends"]}
    messages = {
        backend: {m["name"]: both for m in spec["messages"] if backend in m["backends"]}
        for backend in releases
    }
    return releases, messages
