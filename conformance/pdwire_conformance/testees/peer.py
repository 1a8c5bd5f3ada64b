"""``sglang==RELEASE``: the codecs of a real, unmodified SGLang release.

Rules:

* The release runs in a process of its own (:mod:`pdwire_conformance.peers`); nothing here
  packs or reads a frame for it.
* What its code raises, and a message that it ignores, is a refusal of kind ``other``: the
  release has no typed errors. Values that it has no way to send (a field that it does not
  know, or works out itself), and input that its stand-ins cannot hand to it, are ``skip``.
* A decoder runs once the release's own loop has told the message by its tag and guard. One
  that takes another tag for its own is not asked a question it is never asked: ``skip``.
* It reads only some fields of some messages (``partial``). Its encoders are given every
  field; where a request leaves one out, what its absence means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import TracebackType
from typing import Any, ClassVar, Final, Self

from pdwire.errors import LossyEncodeError, WireError
from pdwire.wire import layout
from pdwire_conformance.peers.client import Peer
from pdwire_conformance.peers.errors import PeerUnavailable, RunnerError
from pdwire_conformance.proof.convert import to_message
from pdwire_conformance.proof.spec import load_spec, messages_of

from .protocol import Answer, Hello, Request, TesteeError

__all__ = ["Release"]

_BATCH: Final = 64
_OPERATIONS: Final = ("decode", "encode")


class Release:
    """One SGLang release as a testee.

    ``command`` replaces the runner's command line (tests of this class use it); seconds.
    """

    __test__: ClassVar[bool] = False

    def __init__(
        self, release: str, *, deadline_s: float = 60.0, command: Sequence[str] | None = None
    ) -> None:
        self._release = release
        self._deadline_s = deadline_s
        self._command = command
        self._peer: Peer | None = None
        self._hello: Hello | None = None

    @property
    def target(self) -> str:
        """The words that choose this testee on the command line."""
        return f"sglang=={self._release}"

    def __enter__(self) -> Self:
        peer = Peer(self._release, request_deadline_s=self._deadline_s, command=self._command)
        try:
            peer.__enter__()
        except (PeerUnavailable, RunnerError) as fault:
            raise TesteeError(f"{self.target} cannot be run: {fault}") from fault
        self._peer, self._hello = peer, _hello(self._release, peer.hello())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        peer, self._peer = self._peer, None
        if peer is not None:
            peer.close()

    def hello(self) -> Hello:
        """What the release can be asked; only what this one has."""
        if self._hello is None:
            raise TesteeError(f"{self.target} was not started")
        return self._hello

    def ask(self, requests: Sequence[Request]) -> list[Answer]:
        """Answers, in order; asked by the batch."""
        answers: list[Answer] = []
        for start in range(0, len(requests), _BATCH):
            answers += self._some(requests[start : start + _BATCH])
        return answers

    def _some(self, requests: Sequence[Request]) -> list[Answer]:
        if self._peer is None:
            raise TesteeError(f"{self.target} was not started")
        reasons = [self._unasked(request) for request in requests]
        asked = [_item(request) for request, why in zip(requests, reasons, strict=True) if not why]
        try:
            came = iter(self._peer.raw(asked) if asked else [])
        except (PeerUnavailable, RunnerError) as fault:
            self.__exit__(type(fault), fault, fault.__traceback__)
            raise TesteeError(str(fault)) from fault
        return [
            {"skip": why} if why else _told_apart(request, _answer(next(came)))
            for request, why in zip(requests, reasons, strict=True)
        ]

    def _unasked(self, request: Request) -> str:
        """Why a request is not put to the release; empty when it is."""
        if request["op"] not in _OPERATIONS:
            return f"a release has no {request['op']}"
        if request["release"] != self._release:
            return f"this is {self._release}, not {request['release']}"
        if not self.hello().can(request["backend"], request["message"], request["op"]):
            return f"the release has no {request['op']} of {request['message']}"
        return _inexpressible(request) if request["op"] == "encode" else ""


def _hello(release: str, told: Mapping[str, Any]) -> Hello:
    """The runner's own hello, without what the spec says the release does not have."""
    messages: dict[str, dict[str, tuple[str, ...]]] = {}
    for backend, can in told["backends"].items():
        names = [message["name"] for message, _ in messages_of(backend, release)]
        operations = {name: tuple(op for op in _OPERATIONS if name in can[op]) for name in names}
        messages[backend] = {name: ops for name, ops in operations.items() if ops}
    return Hello(
        name="sglang",
        version=release,
        roles=("codec", "prefill", "decode", "bootstrap"),
        features=frozenset({"partial"}),
        releases={backend: (release,) for backend, names in messages.items() if names},
        messages={backend: names for backend, names in messages.items() if names},
    )


def _inexpressible(request: Request) -> str:
    """Why no caller of the release could hand it these values; empty when one could.

    Values out of range are handed over: what the release makes of them is the question.
    """
    codec = layout(request["backend"], request["message"], release=request["release"])
    try:
        codec.encode(to_message(codec, request["values"]))
    except LossyEncodeError as fault:
        if fault.field and fault.field not in codec.fields:
            return f"the release has no way to send this: it takes no {fault.field}"
    except (WireError, TypeError):  # out of range or not whole: let the release say so
        return ""
    return ""


def _item(request: Request) -> Request:
    item = {name: request[name] for name in ("op", "backend", "message")}
    if request["op"] == "decode":
        return item | {"frames": request["frames"]}
    return item | {"values": _absences(request["backend"], request["message"]) | request["values"]}


@cache
def _absences(backend: str, name: str) -> dict[str, Any]:
    """What the lack of each field means, for an encoder that wants them all."""
    for message in load_spec()["messages"]:
        if message["name"] == name and backend in message["backends"]:
            return {
                field["name"]: field["absent"].get("value", [])
                for field in message["fields"]
                if "absent" in field
            }
    return {}


def _told_apart(request: Request, answer: Answer) -> Answer:
    """The answer, unless a tag was taken that the loop would have sent elsewhere."""
    if request["op"] != "decode" or "values" not in answer:
        return answer
    frames = request["frames"]
    lead = layout(request["backend"], request["message"], release=request["release"]).lead
    if all(at < len(frames) and frames[at] == value.hex() for at, value in lead):
        return answer
    return {"skip": "the release's loop has compared tag and guard before it calls this code"}


def _answer(came: Mapping[str, Any]) -> Answer:
    """The runner's answer in the words of the testee protocol."""
    error = came.get("error")
    if error is None:
        return {name: came[name] for name in ("values", "frames") if name in came}
    text = f"{error['type']}: {error['text']}"
    if error["where"] == "peer":
        return {"error": {"kind": "other", "text": text}}
    if error["type"] == "InexpressibleError":
        return {"skip": f"the release has no way to send this: {error['text']}"}
    return {"skip": f"the release cannot be handed this: {text}"}
