"""A release's own STAGING_REQ encoder, used by the two adapters that need a request.

A prefill rank asks for every chunk of a room at once. To make the real code send one
request alone, the room is given as many pages as make the wanted chunk its last one, and
the function's ``range`` is narrowed to that chunk; what it then sends is its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from pdwire_conformance.peers.backends import home, manager_class, mentions
from pdwire_conformance.peers.errors import InexpressibleError, Unavailable
from pdwire_conformance.peers.loader import LoadedRelease
from pdwire_conformance.peers.registry import Values
from pdwire_conformance.peers.standins import CaptureSocket, Sized, StandIn, bare, replaced

_PEER_TP, _OWN_TP = 2, 1  # staging is only asked for where they differ


class StagingRequests:
    """Makes one backend of a release send STAGING_REQ."""

    def __init__(self, peer: LoadedRelease, backend: str) -> None:
        if not peer.has("common.staging_handler"):
            raise Unavailable(f"{peer.release} has no staging")
        cls = manager_class(peer, backend)
        if not hasattr(cls, "_prefetch_staging_reqs"):
            raise Unavailable(f"{peer.release}: {backend} sends no STAGING_REQ")
        self._manager = cls
        self._send = peer.attribute("common.staging_handler", "prefetch_staging_reqs")
        self._home = home(peer, backend)
        self._sends_pp_rank = mentions(cls._prefetch_staging_reqs, "pp_rank")

    def prepare(self, values: Values) -> Callable[[], Sequence[bytes]]:
        """A call that sends one request for these values."""
        self._check(values)
        socket = CaptureSocket()
        manager = self._bare(values, socket)
        room, chunk = values["room"], values["chunk_idx"]
        schedule = StandIn(chunked_prefill_size=values["chunk_num_pages"])

        def call() -> Sequence[bytes]:
            manager._staging_ctx = self._context(socket)
            with (
                replaced(self._send, range=lambda _: (chunk,)),
                replaced(self._manager._prefetch_staging_reqs, get_schedule=lambda: schedule),
            ):
                manager._prefetch_staging_reqs(room)
            return socket.take()

        return call

    def timed(self, values: Values, number: int) -> Callable[[], Any]:
        """A call that runs only the function that sends, ``number`` times."""
        self._check(values)
        socket = CaptureSocket()
        manager = self._bare(values, socket)
        chunk, asked = values["chunk_idx"], set[Any]()
        given: list[Any] = [
            *(values["room"], manager.transfer_infos, manager.kv_buffer_tensors),
            *(values["chunk_num_pages"], asked, _EverySocket(socket)),
        ]
        if self._sends_pp_rank:
            given.append(values["requester_pp_rank"])

        def call() -> None:
            with replaced(self._send, range=lambda _: (chunk,)):
                for _ in range(number):
                    asked.clear()
                    self._send(*given)

        return call

    def _check(self, values: Values) -> None:
        if values["chunk_num_pages"] < 1:
            raise InexpressibleError("a chunk has at least one page")
        if (values.get("requester_pp_rank") is not None) != self._sends_pp_rank:
            which = "always" if self._sends_pp_rank else "never"
            raise InexpressibleError(f"the release {which} sends its pipeline rank")

    def _bare(self, values: Values, socket: CaptureSocket) -> Any:
        session, pages = values["session_id"], values["chunk_num_pages"]
        info = StandIn(
            mooncake_session_id=session,
            agent_name=session,
            endpoint="127.0.0.1",
            dst_port=1,
            is_dummy=self._not_dummy(),
            dst_kv_indices=Sized(values["chunk_idx"] * pages + pages),
        )
        remote = StandIn(dst_attn_tp_size=_PEER_TP, decode_tp_size=_PEER_TP)
        return bare(
            self._manager,
            enable_staging=True,
            attn_tp_size=_OWN_TP,
            pp_rank=values.get("requester_pp_rank"),
            kv_buffer_tensors={"page_size": 1},
            server_args=StandIn(chunked_prefill_size=pages),
            transfer_infos={values["room"]: {session: info}},
            decode_kv_args_table={session: remote},
        )

    def _context(self, socket: CaptureSocket) -> Any:
        return StandIn(
            prefetched_rooms=set(), prefetch_requested=set(), prefetch_sockets=_EverySocket(socket)
        )

    def _not_dummy(self) -> Any:
        """What the release's own metadata class has there: a flag, or a method."""
        known = inspect.getattr_static(self._home.TransferInfo, "is_dummy", None)
        return (lambda: False) if inspect.isfunction(known) else False


class _EverySocket:
    """The sockets by endpoint: the same one for each."""

    def __init__(self, socket: CaptureSocket) -> None:
        self._socket = socket

    def __contains__(self, endpoint: object) -> bool:
        return True

    def __getitem__(self, endpoint: object) -> CaptureSocket:
        return self._socket
