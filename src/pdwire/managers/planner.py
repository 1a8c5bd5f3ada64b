"""What to write for one chunk of one request to one peer: pure, from both sides' facts.

Everything is checked here, before an engine sees an address: page counts, page numbers
against what the peer registered, state components, item lengths (field reports R9, M2, M3).
A plan is a list of :class:`~pdwire.plan.Blocks`; a request that cannot be planned is a
:class:`PlanError` with numbers in it, which becomes the room's failure reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pdwire.frames import I32Array
from pdwire.managers.config import KVArgs, ManagerConfig
from pdwire.managers.peers import Peer
from pdwire.plan import (
    Blocks,
    concat,
    dcp_blocks,
    dcp_token_plan,
    head_slice,
    head_slice_blocks,
    heads_per_rank,
    page_blocks,
    pp_regions,
)

__all__ = ["Chunk", "PlanError", "Planner"]

_TOP: Final = np.uint64(2**64 - 1)


class PlanError(ValueError):
    """This chunk cannot be written to this peer; the text says why, with numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One call of ``send``: source pages, and where they stand in the request.

    Attributes:
        pages: prefill's page indices, ``int32``.
        start: how many pages of the request came before, behind decode's prefix.
        is_last: whether auxiliary row and state go with it.
        aux_index: row of the auxiliary buffers; only with the last chunk.
        state_indices: item indices per state component; only with the last chunk.
        num_kv_tokens: tokens in these pages; ``None`` for all.
        total: pages of the whole request, all chunks together.
    """

    room: int
    index: int
    pages: I32Array
    start: int
    is_last: bool
    aux_index: int | None = None
    state_indices: tuple[I32Array, ...] = ()
    num_kv_tokens: int | None = None
    total: int = 0


class Planner:
    """Plans for one prefill rank."""

    def __init__(self, args: KVArgs, config: ManagerConfig) -> None:
        self._args = args
        self._config = config
        self._slots = _slots(args.kv_data_lens, args.kv_item_lens)
        self._rows = _slots(args.aux_data_lens, args.aux_item_lens)

    def needs_head_slices(self, peer: Peer) -> bool:
        """Whether the sides hold different heads: unequal TP, and not MLA."""
        return not self._config.is_mla and peer.tp_size != self._config.parallel.attn_tp_size

    def destination(self, chunk: Chunk, dst_indices: I32Array) -> I32Array:
        """The chunk's destination pages among the request's.

        Raises:
            PlanError: decode has announced fewer pages than the chunk needs.
        """
        end = chunk.start + len(chunk.pages)
        if end > len(dst_indices):
            raise PlanError(
                f"chunk {chunk.index} needs destination pages {chunk.start}..{end - 1}, "
                f"decode announced {len(dst_indices)}"
            )
        return dst_indices[chunk.start : end]

    def kv(self, peer: Peer, chunk: Chunk, dst_indices: I32Array, prefix_len: int = 0) -> Blocks:
        """The chunk's KV pages.

        Raises:
            PlanError: counts, pages or lengths do not fit.
        """
        if not len(chunk.pages):
            return Blocks.none()
        _exist("source pages", chunk.pages, self._slots)
        try:
            if peer.dcp_size > 1:
                blocks = self._dcp(peer, chunk, dst_indices, prefix_len)
            else:
                blocks = self._pages(peer, chunk.pages, self.destination(chunk, dst_indices))
        except PlanError:
            raise
        except ValueError as error:
            raise PlanError(f"KV of chunk {chunk.index}: {error}") from error
        return _within(blocks.merged())

    def _pairs(self, peer: Peer) -> tuple[list[int], list[int], list[int], list[int]]:
        """Source pointers and lengths, destination pointers and lengths, pairwise."""
        args, parallel = self._args, self._config.parallel
        pairs = pp_regions(
            len(args.kv_data_ptrs),
            len(peer.kv_ptrs),
            mla=self._config.is_mla,
            start_layer=args.prefill_start_layer,
            src_layer_ids=args.kv_layer_ids,
            dst_layer_ids=peer.kv_layer_ids,
            pipelined=parallel.pp_size > 1,
        )
        # A region without bytes is nothing to move (F12), whatever a page of it would be.
        both = [p for p in zip(pairs.src, pairs.dst, strict=True) if args.kv_data_lens[p[0]]]
        missing = [src for src, dst in both if not peer.kv_ptrs[dst]]
        if missing:
            raise PlanError(f"decode has no memory for region {missing[0]}")
        return (
            [args.kv_data_ptrs[src] for src, _ in both],
            [args.kv_item_lens[src] for src, _ in both],
            [peer.kv_ptrs[dst] for _, dst in both],
            [peer.kv_item_lens[dst] for _, dst in both] if peer.kv_item_lens else [],
        )

    def _pages(self, peer: Peer, src_pages: I32Array, dst_pages: I32Array) -> Blocks:
        src_ptrs, src_lens, dst_ptrs, dst_lens = self._pairs(peer)
        if not src_ptrs:
            return Blocks.none()
        _exist("destination pages", dst_pages, peer.num_slots)
        if not self.needs_head_slices(peer):
            # A release that does not say every length says the first one.
            told = dst_lens or [peer.kv_item_len]
            differ = dst_lens != src_lens if dst_lens else peer.kv_item_len not in {0, *src_lens}
            if src_lens and differ:
                raise PlanError(f"pages of {src_lens[0]} bytes here, of {told[0]} bytes there")
            return page_blocks(src_ptrs, dst_ptrs, src_lens, src_pages, dst_pages)
        total, parallel = self._args.total_kv_head_num, self._config.parallel
        src_heads = heads_per_rank(total, parallel.attn_tp_size)
        dst_heads = heads_per_rank(total, peer.tp_size)
        cut = head_slice(
            parallel.attn_tp_size, peer.tp_size, parallel.attn_tp_rank, peer.tp_rank, total
        )
        # A release that does not say every length has regions of one length.
        lens = dst_lens or [peer.kv_item_len] * len(dst_ptrs)
        return head_slice_blocks(
            src_ptrs,
            src_lens,
            dst_ptrs,
            lens,
            src_pages=src_pages,
            dst_pages=dst_pages,
            page_size=self._args.page_size,
            src_heads=src_heads,
            dst_heads=dst_heads,
            cut=cut,
        )

    def _dcp(self, peer: Peer, chunk: Chunk, dst_indices: I32Array, prefix_len: int) -> Blocks:
        if not self._config.is_mla:
            raise PlanError("decode context parallelism needs an MLA pool")
        page_size = self._args.page_size
        _exist("destination pages", dst_indices, peer.num_slots)
        src_ptrs, src_lens, dst_ptrs, _ = self._pairs(peer)
        plan = dcp_token_plan(
            chunk.pages,
            dst_indices,
            page_size=page_size,
            dcp_size=peer.dcp_size,
            dcp_rank=peer.dcp_rank,
            src_page_offset=chunk.start,
            decode_prefix_len=prefix_len,
            num_kv_tokens=chunk.num_kv_tokens,
        )
        return dcp_blocks(src_ptrs, dst_ptrs, [size // page_size for size in src_lens], plan)

    def aux(self, peer: Peer, src_index: int, dst_index: int) -> Blocks:
        """One row of every auxiliary buffer.

        Raises:
            PlanError: the sides hold different numbers of buffers, or there is no such row.
        """
        args = self._args
        if len(peer.aux_ptrs) != len(args.aux_data_ptrs):
            raise PlanError(f"{len(args.aux_data_ptrs)} aux buffers, decode {len(peer.aux_ptrs)}")
        _exist("aux rows here", np.array([src_index]), self._rows)
        if peer.aux_lens:
            rows = _slots(peer.aux_lens, args.aux_item_lens)
            _exist("aux rows there", np.array([dst_index]), rows)
        src = [
            p + n * src_index for p, n in zip(args.aux_data_ptrs, args.aux_item_lens, strict=True)
        ]
        dst = [p + n * dst_index for p, n in zip(peer.aux_ptrs, args.aux_item_lens, strict=True)]
        return _within(Blocks.of(src, dst, args.aux_item_lens).nonzero())

    def state(
        self, peer: Peer, src_indices: Sequence[I32Array], dst_indices: Sequence[I32Array]
    ) -> Blocks:
        """The items of every state component.

        Raises:
            PlanError: component or item counts differ, or an item lies outside its region.
        """
        args = self._args
        counts = (
            len(src_indices),
            len(dst_indices),
            len(args.state_data_ptrs),
            len(peer.state_ptrs),
        )
        if len(src_indices) != len(dst_indices) or counts[0] > min(counts[2:]):
            raise PlanError(
                f"state components: {counts[0]} sent of {counts[2]}, "
                f"{counts[1]} announced of {counts[3]}"
            )
        parts = []
        for n, (src, dst) in enumerate(zip(src_indices, dst_indices, strict=True)):
            if len(src) != len(dst):
                raise PlanError(f"state component {n}: {len(src)} items, {len(dst)} destinations")
            if len(src):
                parts.append(self._component(peer, n, src, dst))
        return _within(concat(parts).merged()) if parts else Blocks.none()

    def _component(self, peer: Peer, n: int, src: I32Array, dst: I32Array) -> Blocks:
        args = self._args
        if len(args.state_data_ptrs[n]) != len(peer.state_ptrs[n]):
            raise PlanError(
                f"state component {n}: {len(args.state_data_ptrs[n])} regions here, "
                f"{len(peer.state_ptrs[n])} there"
            )
        lens = args.state_item_lens[n]
        if len(peer.state_item_lens) > n and peer.state_item_lens[n] != tuple(lens):
            raise PlanError(f"state component {n}: items of {lens} and {peer.state_item_lens[n]}")
        if len(peer.state_lens) > n:
            _exist("destination items", dst, _slots(peer.state_lens[n], lens))
        _exist("source items", src, _slots(args.state_data_lens[n], lens))
        return page_blocks(args.state_data_ptrs[n], peer.state_ptrs[n], lens, src, dst)


def _slots(lens: Sequence[int], item_lens: Sequence[int]) -> int | None:
    """How many items every region holds that is not empty; ``None`` without such a region."""
    sizes = zip(lens, item_lens, strict=True)
    return min((size // item for size, item in sizes if size and item), default=None)


def _exist(what: str, numbers: NDArray[np.signedinteger[Any]], slots: int | None) -> None:
    """Refuse numbers outside what is registered, before the engine sees an address."""
    if not len(numbers):
        return
    low, high = int(numbers.min()), int(numbers.max())
    if low < 0 or (slots is not None and high >= slots):
        bound = f"0..{slots - 1}" if slots is not None else "0 and above"
        raise PlanError(f"{what} {low}..{high} lie outside {bound}")


def _within(blocks: Blocks) -> Blocks:
    """Refuse ranges that leave the address space: sums of a hostile pointer and a page."""
    if (blocks.dst > _TOP - blocks.size).any():
        raise PlanError("a destination range leaves the address space")
    return blocks
