"""Talk to one release: :class:`Peer` starts its runner and asks it.

Rules:

* Every request has a deadline; a peer that misses one is ended and unusable from then
  on (:class:`~.errors.PeerUnavailable`), because its next line could answer anything.
* A failure of the release's own code is :class:`~.errors.PeerError`; a failure on our
  side is :class:`~.errors.RunnerError`. They never pass for each other. Values that the
  release has no way to send are :class:`~.errors.InexpressibleError`.
* The runner is a child of ours, ended by its own process id when the peer is closed.

::

    with Peer("0.5.19") as peer:
        frames = peer.encode("mooncake", "TransferInfo", values)
        values = peer.decode("mooncake", "TransferInfo", frames)
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pdwire_conformance.linewise import LineProcess, LostError

from .errors import InexpressibleError, PeerError, PeerUnavailable, RunnerError
from .wheels import fetch

Values = dict[str, Any]
Request = Mapping[str, Any]
Reply = list[bytes] | Values | PeerError | InexpressibleError

_BY_NAME = {"PeerUnavailable": PeerUnavailable, "InexpressibleError": InexpressibleError}


class Peer:
    """One real release in a process of its own.

    ``command`` replaces the runner's command line (tests of this class use it); deadlines
    are in seconds. Raises :class:`PeerUnavailable` when the release cannot be had or does
    not say hello in time.
    """

    def __init__(
        self,
        release: str,
        *,
        start_deadline_s: float = 60.0,
        request_deadline_s: float = 60.0,
        command: Sequence[str] | None = None,
    ) -> None:
        self.release = release
        self._deadline_s = request_deadline_s
        self._start_deadline_s = start_deadline_s
        self._custom = command is not None
        self._ids = itertools.count(1)
        self._lines = LineProcess(
            _runner_command(release) if command is None else command, environment=_environment()
        )
        self._hello: dict[str, Any] = {}

    def __enter__(self) -> Self:
        if not self._custom:
            fetch(self.release)
        try:
            self._lines.start()
            self._hello = self._ask({"op": "hello"}, self._start_deadline_s)
        except LostError as error:
            raise self._unavailable(error) from error
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def hello(self) -> dict[str, Any]:
        """What the runner said of itself: backends, and what is unavailable and why."""
        return self._hello

    def said(self) -> str:
        """The last line that it printed on standard error."""
        return self._lines.said()

    def encode(self, backend: str, message: str, values: Values) -> list[bytes]:
        """The whole multipart that the release sends for these values."""
        request = {"op": "encode", "backend": backend, "message": message, "values": values}
        return _frames(self._ask(request))

    def decode(self, backend: str, message: str, frames: Sequence[bytes]) -> Values:
        """The values that the release's decoder makes of a whole multipart."""
        request = {"op": "decode", "backend": backend, "message": message}
        answer = self._ask(request | {"frames": [bytes(frame).hex() for frame in frames]})
        values: Values = answer["values"]
        return values

    def batch(self, items: Sequence[Request]) -> list[Reply]:
        """Answers to many encode and decode requests, in order.

        An item that the release refuses is a :class:`PeerError` in its place, one that
        it has no way to send an :class:`InexpressibleError`; a fault of ours raises
        :class:`RunnerError`. Frames in a request may be bytes.
        """
        return [_item(reply) for reply in self.raw(items)]

    def raw(self, items: Sequence[Request]) -> list[dict[str, Any]]:
        """Answers as they came, with ``values``, ``frames`` or ``error``.

        ``error`` says ``where`` it was raised: ``peer``, or ``runner`` for all that is not
        the release's own.
        """
        answer = self._ask({"op": "batch", "items": [_json_ready(item) for item in items]})
        answers: list[dict[str, Any]] = answer["items"]
        return answers

    def bench(
        self,
        backend: str,
        message: str,
        *,
        number: int,
        values: Values | None = None,
        frames: Sequence[bytes] | None = None,
    ) -> float:
        """Seconds that the release's own code takes for ``number`` calls.

        Give ``frames`` to time its decoder, ``values`` to time its encoder.
        """
        request: dict[str, Any] = {"op": "bench", "backend": backend, "message": message}
        given = {"values": values} if frames is None else {"frames": frames}
        return float(self._ask(_json_ready(request | given | {"number": number}))["seconds"])

    def close(self) -> None:
        """End the runner, by its own process id, and wait for it."""
        self._lines.close()

    @property
    def alive(self) -> bool:
        """Whether the runner has been started and not been ended."""
        return self._lines.alive

    def _ask(self, request: Request, deadline_s: float | None = None) -> dict[str, Any]:
        number = next(self._ids)
        line = json.dumps({**request, "id": number}, separators=(",", ":")).encode() + b"\n"
        limit = self._deadline_s if deadline_s is None else deadline_s
        try:
            answer = json.loads(self._lines.ask(line, limit))
        except LostError as error:
            raise self._unavailable(error) from error
        except ValueError as error:
            raise self._lost(f"said no JSON: {error}") from error
        if not isinstance(answer, dict) or answer.get("id") not in (number, None):
            raise self._lost(f"answered another request than {number}")
        return _checked(answer)

    def _lost(self, what: str) -> PeerUnavailable:
        return self._unavailable(self._lines.lost(what))

    def _unavailable(self, error: LostError) -> PeerUnavailable:
        return PeerUnavailable(f"the peer {self.release} {error}")


def _runner_command(release: str) -> list[str]:
    return [sys.executable, "-m", f"{__package__}.runner", "--release", release]


def _environment() -> dict[str, str]:
    """Ours without the settings that would change a release's behaviour, and our path."""
    settings = ("SGLANG_", "SGL_", "MC_", "MOONCAKE_", "ASCEND_")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(settings)}
    ours = str(Path(__file__).resolve().parents[2])
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, (ours, kept.get("PYTHONPATH"))))
    return kept


def _json_ready(request: Request) -> dict[str, Any]:
    ready = dict(request)
    if "frames" in ready:
        ready["frames"] = [
            frame if isinstance(frame, str) else bytes(frame).hex() for frame in ready["frames"]
        ]
    return ready


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    if (error := answer.get("error")) is None:
        return answer
    if error["where"] == "runner" and error["type"] in _BY_NAME:
        raise _BY_NAME[error["type"]](error["text"])
    kind = PeerError if error["where"] == "peer" else RunnerError
    raise kind(error["type"], error["text"])


def _item(answer: dict[str, Any]) -> Reply:
    try:
        checked = _checked(answer)
    except (PeerError, InexpressibleError) as error:
        return error
    if "frames" in checked:
        return _frames(checked)
    values: Values = checked["values"]
    return values


def _frames(answer: Mapping[str, Any]) -> list[bytes]:
    return [bytes.fromhex(frame) for frame in answer["frames"]]
