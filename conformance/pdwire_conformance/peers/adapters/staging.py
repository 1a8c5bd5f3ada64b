"""STAGING_REQ, STAGING_RSP and WATERMARK of the backends that have a staging ring.

Rules:

* Decoding STAGING_REQ runs the manager's own handler up to where it looks for the room's
  receiver; what it parsed is read from its variables there.
* Decoding STAGING_RSP and WATERMARK runs the prefill side's own receive loop; the values
  are the arguments with which it sets the chunk, or the mark that it stores.
* Encoding STAGING_RSP gives the real handler a request of the same release for a chunk
  that is allocated already: it answers with what is on record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from pdwire_conformance.peers.backends import (
    WITH_STAGING,
    manager_class,
    method,
    receive_loop,
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
    replaced,
    sending,
)

from ._staging_request import StagingRequests

_REQUEST_FIELDS = ("room", "chunk_idx", "chunk_num_pages", "session_id", "requester_pp_rank")
_PP_RANK = 0


def _request_encoder(backend: str) -> Callable[[LoadedRelease], Encoder]:
    def factory(peer: LoadedRelease) -> Encoder:
        requests = StagingRequests(peer, backend)
        return Encoder(prepare=requests.prepare, timed=requests.timed)

    return factory


def _request_decoder(backend: str) -> Callable[[LoadedRelease], Decoder]:
    def factory(peer: LoadedRelease) -> Decoder:
        method(peer, backend, "_handle_staging_req")
        handler = peer.attribute("common.staging_handler", "handle_staging_req")
        receivers = Peek()
        manager = _decode_manager(peer, backend, receivers)

        def prepare(frames: Frames) -> Callable[[], Any]:
            def call() -> Any:
                receivers.seen = None
                manager._handle_staging_req(frames)
                return receivers.take("STAGING_REQ")

            return call

        def timed(frames: Frames, number: int) -> Callable[[], Any]:
            return lambda: _parse_only(handler, frames, number)

        return Decoder(prepare=prepare, read=_request_values, timed=timed)

    return factory


def _parse_only(handler: Any, frames: Frames, number: int) -> None:
    """The handler without an allocator: it parses the request and returns."""
    with replaced(handler, logger=StandIn(warning=lambda *_: None)):
        for _ in range(number):
            handler(frames, None, None, 1, 1, None, None, None)


def _request_values(seen: Values) -> Values:
    return {name: seen[name] for name in _REQUEST_FIELDS if name in seen}


def _decode_manager(peer: LoadedRelease, backend: str, receivers: Any) -> Any:
    receiver = StandIn(prefill_info=StandIn(attn_tp_size=1))
    request = StandIn(kv_receiver=receiver)
    handler = StandIn(
        _room_to_decode_req=StandIn(get=lambda room: request),
        _room_to_receiver=StandIn(get=lambda room: receiver),
        register_wm_subscriber=lambda *_: None,
    )
    context = StandIn(
        allocator=StandIn(), room_receivers=receivers, room_bootstrap=StandIn(get=lambda room: [])
    )
    return bare(
        manager_class(peer, backend),
        _staging_handler=handler,
        _staging_ctx=context,
        kv_args=StandIn(),
        attn_tp_size=1,
        kv_buffer_tensors=None,
        enable_staging=True,
    )


def _response_encoder(backend: str) -> Callable[[LoadedRelease], Encoder]:
    def factory(peer: LoadedRelease) -> Encoder:
        requests = StagingRequests(peer, backend)
        oversized = peer.attribute("common.staging_buffer", "StagingAllocator.ALLOC_OVERSIZED")

        def prepare(values: Values) -> Callable[[], Sequence[bytes]]:
            socket = CaptureSocket()
            receiver = StandIn(chunk_staging_infos=_on_record(values, oversized), **sending(socket))
            manager = _decode_manager(peer, backend, StandIn(get=lambda room: receiver))
            route = [{"pp_rank": _PP_RANK}]
            manager._staging_ctx.room_bootstrap = StandIn(get=lambda room: route)
            request = list(_request_for(requests, values)())

            def call() -> Sequence[bytes]:
                manager._handle_staging_req(request)
                return socket.take()

            return call

        return Encoder(prepare=prepare)

    return factory


def _request_for(requests: StagingRequests, values: Values) -> Callable[[], Sequence[bytes]]:
    asked = {name: values[name] for name in ("room", "chunk_idx", "session_id")}
    asked["chunk_num_pages"] = 1
    try:
        return requests.prepare(asked)
    except InexpressibleError:
        return requests.prepare(asked | {"requester_pp_rank": _PP_RANK})


def _on_record(values: Values, oversized: int) -> Any:
    """The allocations of the room: the wanted chunk is one of them."""
    offset, turn, end = values["offset"], values["round"], values["end"]
    if offset == oversized and (turn, end) != (0, -1):
        raise InexpressibleError("an oversized chunk has round 0 and end -1")
    allocation = -1 if offset == oversized else 0
    return _OneChunk(values["chunk_idx"], (allocation, offset, turn, end, 1))


class _OneChunk:
    """A list long enough for one index, with one entry."""

    def __init__(self, index: int, entry: tuple[int, ...]) -> None:
        self._index, self._entry = index, entry

    def __len__(self) -> int:
        return self._index + 1

    def __getitem__(self, index: int) -> tuple[int, ...]:
        if index != self._index:
            raise IndexError(index)
        return self._entry


def _response_decoder(backend: str) -> Callable[[LoadedRelease], Decoder]:
    def factory(peer: LoadedRelease) -> Decoder:
        require_branch(peer, backend, "prefill", "STAGING_RSP")
        infos = _TransferInfos()
        loop, _ = receive_loop(peer, backend, "prefill", transfer_infos=infos, _staging_ctx=None)

        def prepare(frames: Frames) -> Callable[[], Any]:
            def call() -> Any:
                infos.set_chunk.call = None
                loop.run([frames])
                (chunk, offset, turn, end), _ = infos.set_chunk.take("STAGING_RSP")
                numbers = {"chunk_idx": chunk, "offset": offset, "round": turn, "end": end}
                return {"room": infos.room, "session_id": infos.session} | numbers

            return call

        def timed(frames: Frames, number: int) -> Callable[[], Any]:
            return lambda: loop.run([frames] * number)

        return Decoder(prepare=prepare, read=dict, timed=timed)

    return factory


class _TransferInfos:
    """The prefill side's requests: every room and session is known."""

    def __init__(self) -> None:
        self.room: Any = None
        self.session: Any = None
        self.set_chunk = CaptureCall()
        self._info = StandIn(staging=StandIn(set_chunk=self.set_chunk))

    def get(self, room: int, default: object = None) -> Any:
        self.room = room
        return StandIn(get=self._by_session)

    def _by_session(self, session: str) -> Any:
        self.session = session
        return self._info


def _watermark_encoder(backend: str) -> Callable[[LoadedRelease], Encoder]:
    def factory(peer: LoadedRelease) -> Encoder:
        handler = peer.attribute("common.staging_handler", "DecodeStagingHandler")
        if not hasattr(manager_class(peer, backend), "_handle_staging_req"):
            raise Unavailable(f"{peer.release}: {backend} has no staging")

        def prepare(values: Values) -> Callable[[], Sequence[bytes]]:
            socket = CaptureSocket()
            receiver = StandIn(bootstrap_infos=[{}], **sending(socket))
            mark = (values["round"], values["tail"])
            sender = bare(
                handler,
                staging_allocator=StandIn(free=lambda _: None, get_watermark=lambda: mark),
                _wm_subscribers={"": (receiver, values["session_id"])},
            )
            request = StandIn(req=StandIn(bootstrap_room=0))

            def call() -> Sequence[bytes]:
                sender._free_and_send_watermark(0, request)
                return socket.take()

            return call

        return Encoder(prepare=prepare)

    return factory


def _watermark_decoder(backend: str) -> Callable[[LoadedRelease], Decoder]:
    def factory(peer: LoadedRelease) -> Decoder:
        require_branch(peer, backend, "prefill", "WATERMARK")
        marks = _Watermarks()
        context = StandIn(remote_watermarks=marks, watermark_cv=_Condition())
        loop, _ = receive_loop(peer, backend, "prefill", _staging_ctx=context)

        def prepare(frames: Frames) -> Callable[[], Any]:
            def call() -> Any:
                marks.clear()
                loop.run([frames])
                if not marks:
                    raise DroppedError("the peer ignored the WATERMARK")
                ((session, (turn, tail)),) = marks.items()
                return {"round": turn, "tail": tail, "session_id": session}

            return call

        def timed(frames: Frames, number: int) -> Callable[[], Any]:
            return lambda: loop.run([frames] * number)

        return Decoder(prepare=prepare, read=dict, timed=timed)

    return factory


class _Watermarks(dict[str, tuple[int, int]]):
    """Marks by session; the one before is lower than every mark there is."""

    def get(self, session: str, default: Any = None) -> Any:
        return (-1, -1)


class _Condition(nullcontext[None]):
    """A condition variable that nobody waits for."""

    def notify_all(self) -> None:
        """Wake nobody."""


for _backend in WITH_STAGING:
    encodes(_backend, "STAGING_REQ")(_request_encoder(_backend))
    decodes(_backend, "STAGING_REQ")(_request_decoder(_backend))
    encodes(_backend, "STAGING_RSP")(_response_encoder(_backend))
    decodes(_backend, "STAGING_RSP")(_response_decoder(_backend))
    encodes(_backend, "WATERMARK")(_watermark_encoder(_backend))
    decodes(_backend, "WATERMARK")(_watermark_decoder(_backend))
