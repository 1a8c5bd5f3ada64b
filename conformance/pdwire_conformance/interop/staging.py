"""What a release's scheduler does for staging, for a real manager without a scheduler.

Rules:

* The release's own buffers, allocator and handler do the work; here they are made, told of
  rooms, and advanced between polls, as the release's scheduler does.
* A room that needs staging is a success when its last chunk is scattered, not before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pdwire_conformance.peers.errors import Unavailable
from pdwire_conformance.peers.loader import LoadedRelease
from pdwire_conformance.peers.standins import StandIn

from .memory import Memory
from .options import Options

_ROWS = 4096
"""Requests that the table of token places has rows for."""


class Staging:
    """Staging of one real manager."""

    def __init__(self, peer: LoadedRelease, options: Options, memory: Memory, manager: Any) -> None:
        self._options = options
        self._manager = manager
        self._handler: Any = None
        self._requests: dict[int, Any] = {}
        self._give_tensors(memory)
        if not options.is_prefill:
            self._make_handler(peer)

    def _give_tensors(self, memory: Memory) -> None:
        import torch

        options = self._options
        shape = (options.pages * options.page_size, options.local_heads, options.head_dim)
        # As integers: torch's gather on a CPU rewrites the payload of a bfloat16 NaN.
        tensors = [
            torch.from_numpy(region.array).view(torch.int16).reshape(shape) for region in memory.kv
        ]
        half = len(tensors) // 2
        self._manager.set_kv_buffer_tensors(tensors[:half], tensors[half:], options.page_size)

    def _make_handler(self, peer: LoadedRelease) -> None:
        import torch

        options = self._options
        tokens = options.pages * options.page_size
        self._table = torch.zeros((_ROWS, tokens), dtype=torch.int64)
        scheduler = StandIn(
            req_to_token_pool=StandIn(req_to_token=self._table),
            token_to_kv_pool_allocator=StandIn(page_size=options.page_size),
        )
        handler = peer.attribute("common.staging_handler", "DecodeStagingHandler")
        self._handler = handler.create(self._manager, scheduler, options.tp_rank)
        self._manager._staging_handler = self._handler

    def ask_ahead(self, room: int) -> None:
        """Ask for places for every chunk, as the prefill scheduler does before a forward."""
        ask = getattr(self._manager, "_prefetch_staging_reqs", None)
        if ask is None:
            raise Unavailable("the release has no staging")
        ask(room)

    def ready(self, room: int) -> bool:
        """Whether every place that was asked for is told.

        In real life a forward pass lies between the question and the first chunk. Up to
        0.5.17 a chunk that comes sooner is put back behind the last one, and the room is
        called a success before it is written.
        """
        asked = self._manager._staging_ctx.prefetch_requested
        infos = self._manager.transfer_infos.get(room, {})
        for number, index, session in list(asked):
            if number == room:
                told = getattr(infos.get(session), "staging", None)
                if told is None or index >= len(told.offsets) or told.offsets[index] == -1:
                    return False
        return True

    def expect(self, room: int, receiver: Any, pages: Any, prefix_len: int) -> None:
        """Say where a room's tokens go, before its metadata is sent."""
        if not getattr(receiver, "require_staging", False):
            return
        import torch

        size = self._options.page_size
        row = len(self._requests) % _ROWS
        places = (np.asarray(pages)[:, None] * size + np.arange(size)).reshape(-1)
        self._table[row, prefix_len : prefix_len + len(places)] = torch.from_numpy(places)
        held = StandIn(req_pool_idx=row, cache_protected_len=prefix_len)
        request = StandIn(
            bootstrap_room=room,
            kv=held,
            req_pool_idx=row,
            cache_protected_len=prefix_len,
            origin_input_ids=range(prefix_len + len(places)),
        )
        made = StandIn(req=request, kv_receiver=receiver, _chunk_events=[])
        self._requests[room] = made
        self._handler.register_decode_req(room, made)

    def status(self, room: int, status: int) -> int:
        """What the room really is once staging is asked, too."""
        request = self._requests.get(room)
        if request is None:
            return status
        if not self._handler.is_done(request):
            self._handler.advance_scatter(request)
        failed = getattr(self._handler, "is_failed", None)
        if failed is not None and failed(request):
            return 0
        return 3 if status == 4 and not self._handler.is_done(request) else status

    def close(self, room: int) -> None:
        """The room is over."""
        if self._requests.pop(room, None) is not None:
            self._handler.unregister_decode_req(room)
