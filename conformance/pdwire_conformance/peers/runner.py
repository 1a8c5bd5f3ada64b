"""``python -m pdwire_conformance.peers.runner --release V``: one release, JSON lines.

Rules:

* One JSON object per line in, one per line out, in order, each with the request's id.
* Standard output belongs to the protocol: whatever the release prints goes to stderr.
* A failure inside the release's code is ``"where": "peer"``; one of ours is
  ``"where": "runner"``. It is the peer's when the innermost frame of the traceback is
  not ours and a frame of the release is in it. A message that the release ignores is
  the peer's too (type ``DroppedError``); values that it cannot send are not a failure of
  either side (type ``InexpressibleError``, ``"where": "runner"``).

Requests: ``hello``, ``encode``, ``decode``, ``bench``, ``batch``.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from pdwire_conformance.linewise import protocol_output

from .errors import (
    DroppedError,
    InexpressibleError,
    PeerUnavailable,
    StandInGapError,
    Unavailable,
)
from .loader import LoadedRelease, load
from .registry import Decoder, Encoder, Key, registered
from .values import to_json
from .wheels import fetch

Request = dict[str, Any]
Answer = dict[str, Any]

TRACE = "PDWIRE_PEER_TRACE"
"""Environment variable: set, the release's log and every traceback go to stderr."""

_OURS = str(Path(__file__).resolve().parent)


class Runner:
    """Answers requests for one loaded release."""

    def __init__(self, peer: LoadedRelease, wheel: str = "") -> None:
        self._peer = peer
        self._wheel = wheel
        self._factories = registered()
        self._made: dict[Key, Encoder | Decoder | Exception] = {}

    def answer(self, request: Any) -> Answer:
        """The answer to one request, whatever was sent; never raises."""
        identity = {"id": request.get("id")} if isinstance(request, dict) else {"id": None}
        try:
            return identity | self._operation(request["op"])(request)
        except Exception as error:
            return identity | {"error": self._error(error)}

    def _operation(self, name: str) -> Callable[[Request], Answer]:
        operations: dict[str, Callable[[Request], Answer]] = {
            "hello": self._hello,
            "encode": self._encode,
            "decode": self._decode,
            "bench": self._bench,
            "batch": self._batch,
        }
        return operations[name]

    def _hello(self, _: Request) -> Answer:
        backends: dict[str, dict[str, list[str]]] = {}
        unavailable: list[dict[str, str]] = []
        for backend, message, direction in self._factories:
            entry = backends.setdefault(backend, {"encode": [], "decode": []})
            try:
                self._adapter((backend, message, direction))
                entry[direction].append(message)
            except Exception as error:
                unavailable.append(
                    {"backend": backend, "message": message, "direction": direction}
                    | {"why": self._why(error)}
                )
        return {
            "release": self._peer.release,
            "wheel": self._wheel,
            "python": platform.python_version(),
            "backends": backends,
            "unavailable": unavailable,
        }

    def _encode(self, request: Request) -> Answer:
        call = self._encoder(request).prepare(request["values"])
        return {"frames": [bytes(frame).hex() for frame in call()]}

    def _decode(self, request: Request) -> Answer:
        decoder = self._decoder(request)
        result = decoder.prepare(_frames(request))()
        return {"values": to_json(decoder.read(result))}

    def _bench(self, request: Request) -> Answer:
        number = int(request["number"])
        run = self._bench_run(request, number)
        self._bench_run(request, 1)()
        started = time.perf_counter()
        run()
        return {"seconds": time.perf_counter() - started}

    def _bench_run(self, request: Request, number: int) -> Callable[[], Any]:
        given: Any
        adapter: Any
        if "frames" in request:
            adapter, given = self._decoder(request), _frames(request)
        else:
            adapter, given = self._encoder(request), request["values"]
        if adapter.timed is None:
            return _repeated(adapter.prepare(given), number)
        run: Callable[[], Any] = adapter.timed(given, number)
        return run

    def _batch(self, request: Request) -> Answer:
        return {"items": [self.answer(item) for item in request["items"]]}

    def _encoder(self, request: Request) -> Encoder:
        adapter = self._adapter((request["backend"], request["message"], "encode"))
        assert isinstance(adapter, Encoder)
        return adapter

    def _decoder(self, request: Request) -> Decoder:
        adapter = self._adapter((request["backend"], request["message"], "decode"))
        assert isinstance(adapter, Decoder)
        return adapter

    def _adapter(self, key: Key) -> Encoder | Decoder:
        if key not in self._made:
            self._made[key] = self._make(key)
        made = self._made[key]
        if isinstance(made, Exception):
            raise made
        return made

    def _make(self, key: Key) -> Encoder | Decoder | Exception:
        if key not in self._factories:
            return Unavailable(f"no adapter for {' '.join(key)}")
        try:
            return self._factories[key](self._peer)
        except Exception as error:
            return error

    def _why(self, error: Exception) -> str:
        if isinstance(error, Unavailable):
            return str(error)
        # Not a property of the release: say so, so that a test can insist on none.
        return f"runner fault: {type(error).__name__}: {error}"

    def _error(self, error: Exception) -> dict[str, str]:
        if os.environ.get(TRACE):
            traceback.print_exception(error)
        where = "peer" if self._is_theirs(error) else "runner"
        return {"type": type(error).__name__, "text": str(error)[:500], "where": where}

    def _is_theirs(self, error: Exception) -> bool:
        if isinstance(error, DroppedError):
            return True  # ours tells of it, the release did it
        if isinstance(error, InexpressibleError | StandInGapError | Unavailable):
            return False
        files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        theirs = any(name.startswith(str(self._peer.root)) for name in files)
        return theirs and not files[-1].startswith(_OURS)


def _repeated(call: Callable[[], Any], number: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(number):
            call()

    return run


def _frames(request: Request) -> list[bytes]:
    return [bytes.fromhex(frame) for frame in request["frames"]]


def serve(runner: Runner, requests: TextIO, answers: TextIO) -> None:
    """Answer every line until the input ends."""
    for line in requests:
        try:
            request = json.loads(line)
        except ValueError as error:
            reply: Answer = {"id": None, "error": _own_error(error)}
        else:
            reply = runner.answer(request)
        answers.write(json.dumps(reply, separators=(",", ":")) + "\n")
        answers.flush()


def _own_error(error: Exception) -> dict[str, str]:
    return {"type": type(error).__name__, "text": str(error), "where": "runner"}


def main(argv: list[str] | None = None) -> int:
    """Serve one release on standard input and output; 3 when it cannot be had."""
    parser = argparse.ArgumentParser(prog="pdwire_conformance.peers.runner")
    parser.add_argument("--release", required=True)
    parser.add_argument("--real", action="append", default=[], metavar="PACKAGE")
    options = parser.parse_args(argv)
    answers = protocol_output()
    try:
        wheel = fetch(options.release)
    except PeerUnavailable as error:
        answers.write(json.dumps({"id": None, "error": _own_error(error)}) + "\n")
        answers.flush()
        return 3
    peer = load(options.release, wheel.root, real=options.real)
    if not os.environ.get(TRACE):
        logging.disable(logging.ERROR)
    serve(Runner(peer, wheel.sha256), sys.stdin, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
