"""BOOTSTRAP: decode asks prefill to tell it when a room is ready, before it has memory.

Only sent under the allocation policy ``prefill_complete`` (0.5.22 on). Every receiver
would send it; a prefill side takes it only where its receive loop is built by
``_make_worker_recv``, which hands it to the bookkeeping whose arguments are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pdwire_conformance.peers.backends import (
    ALL,
    manager_class,
    method,
    own_code_mentions,
    receive_loop,
    receiver_class,
    receiver_method,
)
from pdwire_conformance.peers.errors import Unavailable
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

_POLICY = "prefill_complete"
_ADDRESS = "127.0.0.1:1"


def _encoder(backend: str) -> Callable[[LoadedRelease], Encoder]:
    def factory(peer: LoadedRelease) -> Encoder:
        method(peer, backend, "_handle_bootstrap_message")
        start = receiver_method(peer, backend, "init")
        policy = StandIn(disaggregation_decode_allocation_policy=_POLICY)

        def prepare(values: Values) -> Callable[[], Sequence[bytes]]:
            socket = CaptureSocket()
            receiver = _receiver(receiver_class(peer, backend), values, socket)

            def call() -> Sequence[bytes]:
                with replaced(
                    peer.attribute("common.conn", "CommonKVReceiver.init"),
                    get_disagg=lambda: policy,
                ):
                    start(receiver, 0)
                return socket.take()

            return call

        return Encoder(prepare=prepare)

    return factory


def _receiver(cls: Any, values: Values, socket: CaptureSocket) -> Any:
    route: dict[str, Any] = {}
    info = StandIn(
        decode_allocation_policy=_POLICY,
        attn_tp_size=1,
        attn_cp_size=1,
        pp_size=1,
        target_tp_rank=0,
        target_tp_ranks=[0],
        target_cp_ranks=[0],
        target_pp_ranks=[0],
        required_dst_info_num=1,
        required_prefill_response_num=1,
    )
    manager = StandIn(
        prefill_info_table={_ADDRESS: info},
        required_prefill_response_num_table={},
        enable_staging=False,
        attn_tp_size=1,
        local_ip=values["decode_ip"],
        rank_port=values["decode_port"],
    )
    return bare(
        cls,
        kv_mgr=manager,
        conclude_state=None,
        bootstrap_addr=_ADDRESS,
        bootstrap_room=values["room"],
        bootstrap_infos=[route],
        _setup_bootstrap_infos=lambda: None,
        **sending(socket),
    )


def _decoder(backend: str) -> Callable[[LoadedRelease], Decoder]:
    def factory(peer: LoadedRelease) -> Decoder:
        if not hasattr(manager_class(peer, backend), "_handle_bootstrap_message"):
            raise Unavailable(f"{peer.release} has no BOOTSTRAP message")
        if not own_code_mentions(peer, backend, "_make_worker_recv"):
            raise Unavailable(
                f"{peer.release}: {backend}'s prefill loop reads its socket itself, where"
                " BOOTSTRAP is foreign traffic"
            )
        register = CaptureCall(answer=None)
        loop, _ = receive_loop(
            peer, backend, "prefill", deferred_bootstrap=StandIn(register=register)
        )

        def prepare(frames: Frames) -> Callable[[], Any]:
            def call() -> Any:
                register.call = None
                loop.run([frames])
                return register.take("BOOTSTRAP")[0]

            return call

        return Decoder(prepare=prepare, read=_read)

    return factory


def _read(arguments: Any) -> Values:
    room, (ip, port) = arguments
    return {"room": room, "decode_ip": ip, "decode_port": port}


for _backend in ALL:
    encodes(_backend, "BOOTSTRAP")(_encoder(_backend))
    decodes(_backend, "BOOTSTRAP")(_decoder(_backend))
