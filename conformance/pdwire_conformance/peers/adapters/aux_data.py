"""AUX_DATA: metadata of a request sent over ZMQ, where the engine cannot write it.

The real handler checks the length and hands the bytes to a codec of the same module; a
stand-in codec keeps them, and reads the room from the handler's variables, because the
handler uses it for its log only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from pdwire_conformance.peers.backends import MOONCAKES, manager_class, method
from pdwire_conformance.peers.errors import DroppedError, Unavailable
from pdwire_conformance.peers.loader import LoadedRelease
from pdwire_conformance.peers.registry import Decoder, Encoder, Frames, Values, decodes, encodes
from pdwire_conformance.peers.standins import CaptureSocket, StandIn, bare, replaced, sending
from pdwire_conformance.peers.values import octets

_SENDERS = ("send_aux_data_to_endpoint", "_send_aux_data_to_endpoint")


def _encoder(backend: str) -> Callable[[LoadedRelease], Encoder]:
    def factory(peer: LoadedRelease) -> Encoder:
        cls = manager_class(peer, backend)
        names = [name for name in _SENDERS if hasattr(cls, name)]
        if not names:
            raise Unavailable(f"{peer.release}: {backend} sends no AUX_DATA")

        def prepare(values: Values) -> Callable[[], Sequence[bytes]]:
            socket = CaptureSocket()
            send = getattr(bare(cls, **sending(socket)), names[0])
            arguments = {name: values[name] for name in ("room", "buffer_index", "aux_index")}
            data = octets(values["data"])

            def call() -> Sequence[bytes]:
                send(remote="127.0.0.1", dst_port=1, data=data, **arguments)
                return socket.take()

            return call

        return Encoder(prepare=prepare)

    return factory


def _decoder(backend: str) -> Callable[[LoadedRelease], Decoder]:
    def factory(peer: LoadedRelease) -> Decoder:
        handler = method(peer, backend, "_handle_aux_data")
        manager = bare(manager_class(peer, backend), kv_args=None)
        codec = _Codec()
        stand_in = StandIn(deserialize_data_to_buffer=codec.keep)

        def prepare(frames: Frames) -> Callable[[], Any]:
            def call() -> Any:
                codec.kept = None
                with replaced(handler, AuxDataCodec=stand_in):
                    manager._handle_aux_data(frames)
                return codec.kept

            return call

        return Decoder(prepare=prepare, read=_read)

    return factory


class _Codec:
    """Keeps what the handler wants written to an aux buffer."""

    def __init__(self) -> None:
        self.kept: Values | None = None

    def keep(self, kv_args: Any, buffer_index: int, aux_index: int, data: bytes) -> None:
        self.kept = {
            "room": sys._getframe(1).f_locals["room"],
            "buffer_index": buffer_index,
            "aux_index": aux_index,
            "data": data,
        }


def _read(kept: Values | None) -> Values:
    if kept is None:
        raise DroppedError("the peer ignored the AUX_DATA")
    return kept


for _backend in (*MOONCAKES, "mori"):
    encodes(_backend, "AUX_DATA")(_encoder(_backend))
    decodes(_backend, "AUX_DATA")(_decoder(_backend))
