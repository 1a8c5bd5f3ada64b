"""ABORT_ACK, prefill to decode: a rank says that nothing of an aborted room is in flight.

Rules:

* Without a rank it is what Mooncake sends with deferred release off: its real loop is
  given an ABORT of the same release. With a rank it is sent by ``_send_abort_ack``.
* From 0.5.22 on it has a class with a parser of its own, which is called; before, the
  decode side's receive loop notes it, or only logs it: then its variables are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pdwire_conformance.peers.backends import (
    ALL,
    MOONCAKES,
    manager_class,
    own_code_mentions,
    receive_loop,
    require_branch,
)
from pdwire_conformance.peers.errors import DroppedError, InexpressibleError, Unavailable
from pdwire_conformance.peers.loader import LoadedRelease
from pdwire_conformance.peers.registry import Decoder, Encoder, Frames, Values, decodes, encodes
from pdwire_conformance.peers.standins import (
    CaptureCall,
    CaptureSocket,
    bare,
    sending,
)

from ._abort_side import abort_sender, class_decoder, prefill_loop

_RANKS = {"pp_size": 1, "pp_rank": 0, "attn_cp_size": 1, "attn_cp_rank": 0}


def _ack_encoder(backend: str) -> Callable[[LoadedRelease], Encoder]:
    def factory(peer: LoadedRelease) -> Encoder:
        bare_ack = _bare_acks(peer, backend)
        drained = _drained_acks(peer, backend)

        def prepare(values: Values) -> Callable[[], Sequence[bytes]]:
            send = bare_ack if values["prefill_rank"] is None else drained
            if send is None:
                raise InexpressibleError("the release sends no such acknowledgement")
            return send(values)

        if bare_ack is None and drained is None:
            raise Unavailable(f"{peer.release}: {backend} sends no ABORT_ACK")
        return Encoder(prepare=prepare)

    return factory


Send = Callable[[Values], Callable[[], Sequence[bytes]]]


def _bare_acks(peer: LoadedRelease, backend: str) -> Send | None:
    """The acknowledgement of two frames: Mooncake's answer with deferred release off."""
    if backend not in MOONCAKES:
        return None
    numbered = peer.has_class("common.conn", "AbortNotification")
    if not numbered:
        try:
            require_branch(peer, backend, "prefill", "ABORT")
        except Unavailable:
            return None

    def send(values: Values) -> Callable[[], Sequence[bytes]]:
        if values.get("generation") is not None:
            raise InexpressibleError("an acknowledgement without a rank has no generation")
        request, answer = CaptureSocket(), CaptureSocket()
        address = {"room": values["room"], "decode_ip": "127.0.0.1", "decode_port": 1}
        abort_sender(peer, backend, address, request)._send_abort_notification()
        abort = request.take()
        loop, _ = prefill_loop(peer, backend, answer)

        def call() -> Sequence[bytes]:
            loop.run([abort])
            return answer.take()

        return call

    return send


def _drained_acks(peer: LoadedRelease, backend: str) -> Send | None:
    """The acknowledgement of a rank whose transfer has drained: with its rank."""
    cls = manager_class(peer, backend)
    calls = ("_send_abort_ack", "register_deferred_ack_target")
    if not any(own_code_mentions(peer, backend, name) for name in calls):
        return None
    target = _ack_target(peer)

    def send(values: Values) -> Callable[[], Sequence[bytes]]:
        socket = CaptureSocket()
        rank, generation = values["prefill_rank"], values.get("generation")
        manager = bare(cls, attn_tp_rank=rank, **_RANKS, **sending(socket))
        if (generation is None) != (target is None):
            which = "no" if target is None else "every"
            raise InexpressibleError(f"{which} acknowledgement of this release has a generation")

        def call() -> Sequence[bytes]:
            if target is None:
                manager._send_abort_ack("127.0.0.1", 1, values["room"])
            else:
                manager._send_abort_ack(values["room"], target("127.0.0.1", 1, generation))
            return socket.take()

        return call

    return send


def _ack_target(peer: LoadedRelease) -> Any:
    """The class of a target with a generation, or ``None`` where acks have none."""
    if not peer.has_class("common.conn", "AckTarget"):
        return None
    return peer.attribute("common.conn", "AckTarget")


def _ack_decoder(backend: str) -> Callable[[LoadedRelease], Decoder]:
    def factory(peer: LoadedRelease) -> Decoder:
        if peer.has_class("common.conn", "AbortAck"):
            return class_decoder(peer.attribute("common.conn", "AbortAck"), "ABORT_ACK")
        require_branch(peer, backend, "decode", "ABORT_ACK")
        noted = CaptureCall()
        loop, _ = receive_loop(
            peer, backend, "decode", note_abort_ack=noted, enable_deferred_decode_kv_release=True
        )

        def prepare(frames: Frames) -> Callable[[], Any]:
            def call() -> Any:
                noted.call = None
                return loop.run([frames]), noted.call

            return call

        return Decoder(prepare=prepare, read=_ack_values)

    return factory


def _ack_values(result: Any) -> Values:
    variables, noted = result
    if noted is not None:
        room, rank = noted[0]
        return {"room": room, "prefill_rank": rank}
    if "ack_aborted_room" not in variables:
        raise DroppedError("the peer ignored the ABORT_ACK")
    return {"room": variables["ack_aborted_room"]}


for _backend in ALL:
    encodes(_backend, "ABORT_ACK")(_ack_encoder(_backend))
    decodes(_backend, "ABORT_ACK")(_ack_decoder(_backend))
