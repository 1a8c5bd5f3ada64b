"""ABORT, decode to prefill, on every backend that has it.

Rules:

* It is encoded by the receiver's own ``_send_abort_notification``.
* From 0.5.22 on it has a class with a parser of its own, which is called. Before, it is
  parsed in Mooncake's receive loop and in a handler of NIXL and Mori: what they parsed is
  read from their variables where they look the room up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pdwire_conformance.peers.backends import (
    ALL,
    MOONCAKES,
    home,
    manager_class,
    method,
    receiver_method,
    require_branch,
)
from pdwire_conformance.peers.errors import InexpressibleError
from pdwire_conformance.peers.loader import LoadedRelease
from pdwire_conformance.peers.registry import Decoder, Encoder, Frames, Values, decodes, encodes
from pdwire_conformance.peers.standins import (
    CaptureSocket,
    Peek,
    bare,
)

from ._abort_side import abort_sender, class_decoder, prefill_loop

_HANDLERS = {"nixl": "_handle_abort_notification", "mori": "_handle_abort_message"}
# Names that the parsers before 0.5.22 gave their values.
_LOCALS = {
    "room_to_be_aborted": "room",
    "bootstrap_room": "room",
    "decode_ip": "decode_ip",
    "decode_port": "decode_port",
}


def _abort_encoder(backend: str) -> Callable[[LoadedRelease], Encoder]:
    def factory(peer: LoadedRelease) -> Encoder:
        receiver_method(peer, backend, "_send_abort_notification")
        numbered = peer.has_class("common.conn", "AbortNotification")

        def prepare(values: Values) -> Callable[[], Sequence[bytes]]:
            generation = values.get("generation")
            if generation is not None and not numbered:
                raise InexpressibleError("the release numbers no aborts")
            socket = CaptureSocket()
            receiver = abort_sender(peer, backend, values, socket)

            def call() -> Sequence[bytes]:
                receiver._send_abort_notification()
                return socket.take()

            return call

        return Encoder(prepare=prepare)

    return factory


def _abort_decoder(backend: str) -> Callable[[LoadedRelease], Decoder]:
    def factory(peer: LoadedRelease) -> Decoder:
        if peer.has_class("common.conn", "AbortNotification"):
            return class_decoder(home(peer, backend).AbortNotification, "ABORT")
        if backend in MOONCAKES:
            return _abort_loop_decoder(peer, backend)
        return _abort_handler_decoder(peer, backend)

    return factory


def _abort_loop_decoder(peer: LoadedRelease, backend: str) -> Decoder:
    require_branch(peer, backend, "prefill", "ABORT")
    loop, _ = prefill_loop(peer, backend, CaptureSocket())

    def prepare(frames: Frames) -> Callable[[], Any]:
        return lambda: loop.run([frames])

    return Decoder(prepare=prepare, read=_abort_locals)


def _abort_handler_decoder(peer: LoadedRelease, backend: str) -> Decoder:
    name = _HANDLERS[backend]
    method(peer, backend, name)
    rooms = Peek()
    manager = bare(
        manager_class(peer, backend),
        request_status=rooms,
        transfer_lock=_NoLock(),
        enable_deferred_decode_kv_release=False,
    )
    handle = getattr(manager, name)

    def prepare(frames: Frames) -> Callable[[], Any]:
        def call() -> Any:
            rooms.seen = None
            handle(frames)
            return rooms.take("ABORT")

        return call

    return Decoder(prepare=prepare, read=_abort_locals)


class _NoLock:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def _abort_locals(variables: Values) -> Values:
    return {field: variables[local] for local, field in _LOCALS.items() if local in variables}


for _backend in ALL:
    encodes(_backend, "ABORT")(_abort_encoder(_backend))
    decodes(_backend, "ABORT")(_abort_decoder(_backend))
