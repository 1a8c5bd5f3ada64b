"""A testee in Python: subclass :class:`CodecTestee`, and that is all.

Rules:

* Three methods do the work (``decode``, ``encode``, ``recognise``) and take and give plain
  Python: frames are bytes, values have the form of the JSON export.
* :class:`~.protocol.Refused` refuses an input, :class:`~.protocol.Skipped` says that there
  is no way to be asked this. Whatever else is raised is a refusal of kind ``other`` that
  names the exception: a parser that stumbles has refused, if not politely.
* What :meth:`CodecTestee.hello` does not claim is skipped before any method is called.
* :meth:`CodecTestee.answer` turns one request into one answer and never raises.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from .protocol import Answer, Hello, Refused, Request, Skipped

__all__ = ["CodecTestee", "Values", "recognised", "refusal"]

Values = dict[str, Any]
_LONGEST: Final = 500


class CodecTestee(ABC):
    """What a backend's codecs can do; see the module's text."""

    __test__: ClassVar[bool] = False  # pytest would take the name for a test class
    _claims: Hello | None = None

    @abstractmethod
    def hello(self) -> Hello:
        """What the testee says of itself: backends, releases, messages, features."""

    @abstractmethod
    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        """The values of a whole multipart, guard included; every field of the message.

        Raises:
            Refused: the frames are not this message of this release.
        """

    @abstractmethod
    def encode(self, backend: str, release: str, message: str, values: Values) -> list[bytes]:
        """The whole multipart, guard included.

        Raises:
            Refused: the release's layout cannot carry the values.
        """

    def recognise(self, backend: str, frames: list[bytes], direction: str) -> Answer:
        """What the frames are, made with :func:`recognised`; only with that feature.

        ``direction`` is ``"prefill -> decode"`` and the like, or empty for any.

        Raises:
            Refused: no message fits.
        """
        raise Skipped(
            f"it does not recognise messages ({backend}, {len(frames)} frames, "
            f"{direction or 'either way'})"
        )

    def close(self) -> None:  # noqa: B027  # most have nothing to give back
        """Give back what was taken; called once, at the end."""

    def answer(self, request: Request) -> Answer:
        """The answer to one request, without its id; never raises."""
        try:
            self._check_claims(request)
            return _OPERATIONS[request["op"]](self, request)
        except Skipped as reason:
            return {"skip": str(reason) or "it cannot be asked this"}
        except Exception as fault:  # noqa: BLE001  # a testee's refusal, whatever it is
            return {"error": refusal(fault, str(request.get("op")))}

    def _check_claims(self, request: Request) -> None:
        """Raise ``Skipped`` for what :meth:`hello` does not claim, so that nobody guesses."""
        if request["op"] not in {"decode", "encode"}:
            return
        if self._claims is None:
            self._claims = self.hello()
        backend, release = request["backend"], request["release"]
        if release not in self._claims.releases.get(backend, ()):
            raise Skipped(f"it does not claim {backend} {release}")
        if not self._claims.can(backend, request["message"], request["op"]):
            raise Skipped(f"it does not claim {request['op']} of {backend} {request['message']}")


def refusal(fault: Exception, op: str) -> dict[str, Any]:
    """The ``error`` object of an answer."""
    if not isinstance(fault, Refused):
        unknown = isinstance(fault, KeyError) and op not in _OPERATIONS
        text = f"unknown op {op!r}" if unknown else f"{type(fault).__name__}: {fault}"
        return {"kind": "other", "text": text[:_LONGEST]}
    told: dict[str, Any] = {"kind": fault.kind, "text": fault.text[:_LONGEST]}
    if fault.frame is not None:
        told["frame"] = fault.frame
    if fault.field:
        told["field"] = fault.field
    return told


def recognised(candidates: Mapping[str, list[str]], *, ambiguous: bool) -> Answer:
    """The answer to ``recognise``: message -> its layouts that the frames fit."""
    listed = [{"message": name, "layouts": layouts} for name, layouts in candidates.items()]
    return {"recognised": {"ambiguous": ambiguous, "candidates": listed}}


def _hello(testee: CodecTestee, _: Request) -> Answer:
    return {"hello": testee.hello().as_json()}


def _decode(testee: CodecTestee, request: Request) -> Answer:
    frames = _octets(request)
    values = testee.decode(request["backend"], request["release"], request["message"], frames)
    return {"values": values}


def _encode(testee: CodecTestee, request: Request) -> Answer:
    frames = testee.encode(
        request["backend"], request["release"], request["message"], request["values"]
    )
    return {"frames": [bytes(frame).hex() for frame in frames]}


def _recognise(testee: CodecTestee, request: Request) -> Answer:
    return testee.recognise(request["backend"], _octets(request), request.get("direction", ""))


def _octets(request: Request) -> list[bytes]:
    return [bytes.fromhex(frame) for frame in request["frames"]]


_OPERATIONS: Final[dict[str, Callable[[CodecTestee, Request], Answer]]] = {
    "hello": _hello,
    "decode": _decode,
    "encode": _encode,
    "recognise": _recognise,
}
