"""ABORT (decode to prefill) and its ABORT_ACK, on every backend that has them.

Rules:

* ABORT is encoded by the receiver's own ``_send_abort_notification``.
* From 0.5.22 on both messages have a class with a parser of its own, which is called.
  Before, ABORT is parsed in Mooncake's receive loop and in a handler of NIXL and Mori:
  what they parsed is read from their variables where they look the room up.
* An acknowledgement without a rank is what Mooncake sends with deferred release off: its
  real handler is given an ABORT of the same release. With it on, ``_send_abort_ack``.
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
    own_code_mentions,
    receive_loop,
    receiver_method,
    require_branch,
)
from pdwire_conformance.peers.errors import DroppedError, InexpressibleError, Unavailable
from pdwire_conformance.peers.loader import LoadedRelease
from pdwire_conformance.peers.registry import Decoder, Encoder, Frames, Values, decodes, encodes
from pdwire_conformance.peers.standins import (
    CaptureCall,
    CaptureSocket,
    Peek,
    StandIn,
    bare,
    sending,
)

_HANDLERS = {"nixl": "_handle_abort_notification", "mori": "_handle_abort_message"}
# Names that the parsers before 0.5.22 gave their values.
_LOCALS = {
    "room_to_be_aborted": "room",
    "bootstrap_room": "room",
    "decode_ip": "decode_ip",
    "decode_port": "decode_port",
}
_RANKS = {"pp_size": 1, "pp_rank": 0, "attn_cp_size": 1, "attn_cp_rank": 0}


def _abort_encoder(backend: str) -> Callable[[LoadedRelease], Encoder]:
    def factory(peer: LoadedRelease) -> Encoder:
        receiver_method(peer, backend, "_send_abort_notification")
        numbered = peer.has_class("common.conn", "AbortNotification")

        def prepare(values: Values) -> Callable[[], Sequence[bytes]]:
            generation = values.get("generation")
            if generation is not None and not numbered:
                raise InexpressibleError("the release numbers no aborts")
            socket = CaptureSocket()
            receiver = _abort_sender(peer, backend, values, socket)

            def call() -> Sequence[bytes]:
                receiver._send_abort_notification()
                return socket.take()

            return call

        return Encoder(prepare=prepare)

    return factory


def _abort_sender(peer: LoadedRelease, backend: str, values: Values, socket: CaptureSocket) -> Any:
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


def _abort_decoder(backend: str) -> Callable[[LoadedRelease], Decoder]:
    def factory(peer: LoadedRelease) -> Decoder:
        if peer.has_class("common.conn", "AbortNotification"):
            return _class_decoder(home(peer, backend).AbortNotification, "ABORT")
        if backend in MOONCAKES:
            return _abort_loop_decoder(peer, backend)
        return _abort_handler_decoder(peer, backend)

    return factory


def _class_decoder(cls: Any, message: str) -> Decoder:
    def prepare(frames: Frames) -> Callable[[], Any]:
        return lambda: cls.from_zmq(frames)

    def read(parsed: Any) -> Values:
        if parsed is None:
            raise DroppedError(f"the peer ignored the {message}")
        return {name: getattr(parsed, name) for name in parsed.__struct_fields__}

    return Decoder(prepare=prepare, read=read)


def _abort_loop_decoder(peer: LoadedRelease, backend: str) -> Decoder:
    require_branch(peer, backend, "prefill", "ABORT")
    loop, _ = _prefill_loop(peer, backend, CaptureSocket())

    def prepare(frames: Frames) -> Callable[[], Any]:
        return lambda: loop.run([frames])

    return Decoder(prepare=prepare, read=_abort_locals)


def _prefill_loop(peer: LoadedRelease, backend: str, socket: CaptureSocket) -> Any:
    """Mooncake's loop for a room that is unknown, deferred release off."""
    return receive_loop(
        peer,
        backend,
        "prefill",
        request_status={},
        enable_deferred_decode_kv_release=False,
        **sending(socket),
    )


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
        _abort_sender(peer, backend, address, request)._send_abort_notification()
        abort = request.take()
        loop, _ = _prefill_loop(peer, backend, answer)

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
            return _class_decoder(peer.attribute("common.conn", "AbortAck"), "ABORT_ACK")
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
    encodes(_backend, "ABORT")(_abort_encoder(_backend))
    decodes(_backend, "ABORT")(_abort_decoder(_backend))
    encodes(_backend, "ABORT_ACK")(_ack_encoder(_backend))
    decodes(_backend, "ABORT_ACK")(_ack_decoder(_backend))
