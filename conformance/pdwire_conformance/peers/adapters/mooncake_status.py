"""KV_STATUS of Mooncake and Ascend: three frames without a tag, prefill to decode.

Until 0.5.19 the decode side's receive loop parses it and acts on it in place: whatever
the status, what it parsed is read from its variables. From 0.5.20 on it is parsed by a
method and handed to another one, whose arguments are kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from pdwire_conformance.peers.backends import MOONCAKES, manager_class, receive_loop
from pdwire_conformance.peers.errors import InexpressibleError
from pdwire_conformance.peers.loader import LoadedRelease
from pdwire_conformance.peers.registry import Decoder, Encoder, Frames, Values, decodes, encodes
from pdwire_conformance.peers.standins import (
    CaptureCall,
    CaptureSocket,
    StandIn,
    bare,
    replaced,
    sending,
)

_LOCALS = {"bootstrap_room": "room", "status": "status", "prefill_rank": "prefill_rank"}
_NO_READER = 1 << 62  # more answers than ever come: success is noted, never concluded


def _encoder(backend: str) -> Callable[[LoadedRelease], Encoder]:
    def factory(peer: LoadedRelease) -> Encoder:
        cls = manager_class(peer, backend)

        def prepare(values: Values) -> Callable[[], Sequence[bytes]]:
            if values.get("failure_reason") is not None:
                raise InexpressibleError("Mooncake's status carries no reason")
            socket = CaptureSocket()
            send = _sender(cls, values, socket)

            def call() -> Sequence[bytes]:
                send()
                return socket.take()

            return call

        def timed(values: Values, number: int) -> Callable[[], Any]:
            send = _sender(cls, values, CaptureSocket())
            return lambda: _send_only(cls, send, number)

        return Encoder(prepare=prepare, timed=timed)

    return factory


def _send_only(cls: Any, send: Callable[[], Any], number: int) -> None:
    """The encoder without the address of the other end, which is no part of the message."""
    function = getattr(cls, "send_kv_status_message", None) or cls.sync_status_to_decode_endpoint
    address = StandIn(to_tcp=lambda: "", is_ipv6=False)
    with replaced(function, NetworkAddress=lambda *_: address):
        for _ in range(number):
            send()


def _sender(cls: Any, values: Values, socket: CaptureSocket) -> Callable[[], Any]:
    ranks = {"pp_size": 1, "pp_rank": 0, "attn_cp_size": 1, "attn_cp_rank": 0}
    manager = bare(cls, attn_tp_rank=values["prefill_rank"], **ranks, **sending(socket))
    if hasattr(cls, "send_kv_status_message"):
        return lambda: manager.send_kv_status_message(
            targets=[("127.0.0.1", 1)],
            bootstrap_room=values["room"],
            status=values["status"],
            failure_reason=None,
        )
    return lambda: manager.sync_status_to_decode_endpoint(
        "127.0.0.1", 1, values["room"], values["status"], values["prefill_rank"]
    )


def _decoder(backend: str) -> Callable[[LoadedRelease], Decoder]:
    def factory(peer: LoadedRelease) -> Decoder:
        applied = CaptureCall()
        loop, _ = receive_loop(
            peer,
            backend,
            "decode",
            apply_prefill_status=applied,
            request_status={},
            update_status=lambda *_: None,
            record_failure=lambda *_: None,
            prefill_response_tracker=defaultdict(set),
            required_prefill_response_num_table=defaultdict(lambda: _NO_READER),
        )
        by_method = hasattr(manager_class(peer, backend), "apply_prefill_status")

        def prepare(frames: Frames) -> Callable[[], Any]:
            def call() -> Any:
                applied.call = None
                variables = loop.run([frames])
                return applied.take("KV_STATUS")[1] if by_method else variables

            return call

        def timed(frames: Frames, number: int) -> Callable[[], Any]:
            return lambda: loop.run([frames] * number)

        return Decoder(prepare=prepare, read=_read, timed=timed)

    return factory


def _read(found: Values) -> Values:
    values = {field: found[name] for name, field in _LOCALS.items()}
    if "failure_reason" in found:
        values["failure_reason"] = found["failure_reason"]
    return values


for _backend in MOONCAKES:
    encodes(_backend, "KV_STATUS")(_encoder(_backend))
    decodes(_backend, "KV_STATUS")(_decoder(_backend))
