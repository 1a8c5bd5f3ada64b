"""CHUNK_READY: a prefill rank tells decode that a staging chunk has been written.

Decoding runs the decode side's own receive loop. Later releases hand what they parsed to
the staging handler, whose arguments are kept; the first ones act on it in the loop, whose
variables are read. No release reads the last frame, the writer's rank.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from pdwire_conformance.peers.backends import (
    WITH_STAGING,
    manager_class,
    own_code_mentions,
    receive_loop,
    require_branch,
)
from pdwire_conformance.peers.errors import Unavailable
from pdwire_conformance.peers.loader import LoadedRelease
from pdwire_conformance.peers.registry import Decoder, Encoder, Frames, Values, decodes, encodes
from pdwire_conformance.peers.standins import (
    CaptureCall,
    CaptureSocket,
    Everything,
    Sized,
    StandIn,
    bare,
    sending,
)

_FIELDS = ("room", "chunk_idx", "page_start", "num_pages", "writer_id")
_LOCALS = ("room", "chunk_idx", "page_start", "num_pages", "session_id")


def _encoder(backend: str) -> Callable[[LoadedRelease], Encoder]:
    def factory(peer: LoadedRelease) -> Encoder:
        cls = manager_class(peer, backend)
        if not _sends(peer, backend, cls):
            raise Unavailable(f"{peer.release}: {backend} sends no CHUNK_READY")

        def prepare(values: Values) -> Callable[[], Sequence[bytes]]:
            socket = CaptureSocket()
            manager = bare(cls, **_rank(values["prefill_rank"]), **sending(socket))

            def call() -> Sequence[bytes]:
                _send(manager, values)
                return socket.take()

            return call

        return Encoder(prepare=prepare)

    return factory


def _sends(peer: LoadedRelease, backend: str, cls: Any) -> bool:
    if hasattr(cls, "_send_chunk_ready"):
        return True
    # Every manager inherits the common method; some never call it.
    return hasattr(cls, "send_chunk_ready") and own_code_mentions(peer, backend, "send_chunk_ready")


def _send(manager: Any, values: Values) -> None:
    if hasattr(manager, "send_chunk_ready"):
        manager.send_chunk_ready(
            room=values["room"],
            chunk_idx=values["chunk_idx"],
            page_start=values["page_start"],
            num_pages=values["num_pages"],
            writer_id=values["writer_id"],
            targets=[("127.0.0.1", 1)],
        )
        return
    request = StandIn(
        endpoint="127.0.0.1",
        dst_port=1,
        room=values["room"],
        mooncake_session_id=values["writer_id"],
    )
    chunk = StandIn(
        index_slice=slice(values["page_start"], None),
        prefill_kv_indices=Sized(values["num_pages"]),
    )
    manager._send_chunk_ready(request, values["chunk_idx"], chunk, values["prefill_rank"])


def _rank(rank: int) -> dict[str, int]:
    """A topology in which the tensor rank is the prefill rank."""
    one = {"pp_size": 1, "pp_rank": 0, "attn_cp_size": 1, "attn_cp_rank": 0}
    return {"attn_tp_rank": rank} | one


def _decoder(backend: str) -> Callable[[LoadedRelease], Decoder]:
    def factory(peer: LoadedRelease) -> Decoder:
        if not hasattr(manager_class(peer, backend), "handle_chunk_ready"):
            require_branch(peer, backend, "decode", "CHUNK_READY")
        arrived = CaptureCall(answer=True)
        handler = StandIn(
            handle_chunk_arrived=arrived, _room_to_decode_req=StandIn(get=lambda room: None)
        )
        loop, manager = receive_loop(
            peer, backend, "decode", _staging_handler=handler, request_status=Everything()
        )

        def prepare(frames: Frames) -> Callable[[], Any]:
            def call() -> Any:
                arrived.call = None
                manager._chunk_writer_counts = defaultdict(lambda: defaultdict(list))
                variables = loop.run([frames])
                if "session_id" in variables:
                    return [variables[name] for name in _LOCALS]
                return arrived.take("CHUNK_READY")[0]

            return call

        return Decoder(prepare=prepare, read=_values)

    return factory


def _values(arguments: Sequence[Any]) -> Values:
    return dict(zip(_FIELDS, arguments[: len(_FIELDS)], strict=True))


for _backend in WITH_STAGING:
    encodes(_backend, "CHUNK_READY")(_encoder(_backend))
    decodes(_backend, "CHUNK_READY")(_decoder(_backend))
