"""What ABORT and its acknowledgement share: a real sender, a real loop, the later parsers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pdwire_conformance.peers.backends import receive_loop, receiver_method
from pdwire_conformance.peers.errors import DroppedError
from pdwire_conformance.peers.loader import LoadedRelease
from pdwire_conformance.peers.registry import Decoder, Frames, Values
from pdwire_conformance.peers.standins import CaptureSocket, StandIn, sending


def abort_sender(peer: LoadedRelease, backend: str, values: Values, socket: CaptureSocket) -> Any:
    generation = values.get("generation")
    manager = StandIn(
        local_ip=values["decode_ip"],
        rank_port=values["decode_port"],
        enable_deferred_decode_kv_release=generation is not None,
        register_deferred_abort_room=lambda room: generation,
    )
    receiver = receiver_method(peer, backend, "_send_abort_notification")
    return _Receiver(
        receiver,
        kv_mgr=manager,
        bootstrap_infos=[{"rank_ip": "127.0.0.1", "rank_port": 1}],
        bootstrap_room=values["room"],
        init_time=0.0,
        _abort_generation=None,
        **sending(socket),
    )


class _Receiver(StandIn):
    """A receiver of which only the sending of an abort is real."""

    def __init__(self, send: Callable[[Any], Any], **attributes: Any) -> None:
        super().__init__(**attributes)
        self._send = send

    def _send_abort_notification(self) -> None:
        self._send(self)


def class_decoder(cls: Any, message: str) -> Decoder:
    def prepare(frames: Frames) -> Callable[[], Any]:
        return lambda: cls.from_zmq(frames)

    def read(parsed: Any) -> Values:
        if parsed is None:
            raise DroppedError(f"the peer ignored the {message}")
        return {name: getattr(parsed, name) for name in parsed.__struct_fields__}

    return Decoder(prepare=prepare, read=read)


def prefill_loop(peer: LoadedRelease, backend: str, socket: CaptureSocket) -> Any:
    """Mooncake's loop for a room that is unknown, deferred release off."""
    return receive_loop(
        peer,
        backend,
        "prefill",
        request_status={},
        enable_deferred_decode_kv_release=False,
        **sending(socket),
    )
