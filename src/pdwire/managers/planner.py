"""What to write for one chunk of one request to one peer: pure, from both sides' facts.

Everything is checked here, before an engine sees an address: page counts, page numbers
against what the peer registered, lengths of both sides, which region is which (field reports R9,
M2, M3, P1-P6). What comes out has passed the guard (:mod:`pdwire.plan.extent`): no byte that the
request did not announce. A request that cannot be planned is a :class:`PlanError` with numbers in
it, which becomes the room's failure reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdwire.frames import I32Array
from pdwire.managers.config import KVArgs, ManagerConfig
from pdwire.managers.items import aux_lens, state_pairs
from pdwire.managers.lengths import Lengths
from pdwire.managers.peers import Peer
from pdwire.plan import (
    NOTHING,
    Blocks,
    Extent,
    Permitted,
    Stage,
    dcp_blocks,
    dcp_token_plan,
    head_slice,
    head_slice_blocks,
    heads_per_rank,
    page_blocks,
    pp_regions,
)

__all__ = ["Chunk", "PlanError", "Planner"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """The regions of a prefill rank and where each goes, without those that hold no byte.

    Attributes:
        src_ptrs: base address of each here.
        src_lens: bytes of a page here.
        dst_ptrs: base address of its destination.
        dst_lens: bytes of a page there, the receiver's own.
        src_regions: index of each among this rank's regions.
        dst_regions: index of its destination among the peer's.
    """

    src_ptrs: list[int]
    src_lens: list[int]
    dst_ptrs: list[int]
    dst_lens: list[int]
    src_regions: list[int]
    dst_regions: list[int]


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

    def kv(self, peer: Peer, chunk: Chunk, dst_indices: I32Array, prefix_len: int = 0) -> Permitted:
        """The chunk's KV pages.

        Args:
            peer: the decode rank.
            chunk: source pages and their place in the request.
            dst_indices: every page that the request announced there.
            prefix_len: tokens that decode already holds.

        Raises:
            PlanError: counts, pages or lengths do not fit.
        """
        if not len(chunk.pages):
            return NOTHING
        with _planning(f"KV of chunk {chunk.index}"):
            _exist("source pages", chunk.pages, self._slots)
            pairs = self.paired(peer)
            guard = self.kv_extent(peer, pairs, dst_indices)
            if peer.dcp_size > 1:
                blocks = self._dcp(peer, pairs, chunk, dst_indices, prefix_len)
            else:
                blocks = self._pages(peer, pairs, chunk.pages, self.destination(chunk, dst_indices))
            return guard.permit(blocks.merged())

    def kv_extent(self, peer: Peer, pairs: Paired, dst_indices: I32Array) -> Extent:
        """What a request may touch of a peer's KV regions: its pages in those we hold.

        Raises:
            PlanError: a page lies outside what the peer registered.
        """
        _exist("destination pages", dst_indices, peer.num_slots)
        lens = [0] * len(peer.kv_ptrs)
        for region, size in zip(pairs.dst_regions, pairs.dst_lens, strict=True):
            lens[region] = size
        return Extent("page", peer.kv_ptrs, lens, dst_indices)

    def paired(self, peer: Peer) -> Paired:
        """Which region goes where, in lengths that both sides agree upon.

        Raises:
            PlanError: the sides differ, or what decode holds cannot be known.
        """
        with _planning("KV"):
            self._right_rank(peer)
            return self._paired(peer)

    def _paired(self, peer: Peer) -> Paired:
        args, parallel = self._args, self._config.parallel
        sizes = zip(args.kv_item_lens, args.kv_data_lens, strict=True)
        # A region without bytes is nothing to move (F12), whatever a page of it would be.
        lengths = self._lengths(peer, tuple(item if size else 0 for item, size in sizes))
        told = lengths.told_by(peer)
        pairs = pp_regions(
            len(args.kv_data_ptrs),
            len(peer.kv_ptrs),
            mla=self._config.is_mla,
            stage=Stage(
                start_layer=args.prefill_start_layer,
                pp_rank=parallel.pp_rank,
                pp_size=parallel.pp_size,
            ),
            src_layer_ids=args.kv_layer_ids,
            dst_layer_ids=peer.kv_layer_ids,
            src_lens=lengths.there(),
            dst_lens=told,
        )
        both = [p for p in zip(pairs.src, pairs.dst, strict=True) if lengths.ours[p[0]]]
        missing = [src for src, dst in both if not peer.kv_ptrs[dst]]
        if missing:
            raise PlanError(f"decode has no memory for region {missing[0]}")
        for src, dst in both:
            lengths.same(src, dst, told[dst])
        return Paired(
            src_ptrs=[args.kv_data_ptrs[src] for src, _ in both],
            src_lens=[args.kv_item_lens[src] for src, _ in both],
            dst_ptrs=[peer.kv_ptrs[dst] for _, dst in both],
            dst_lens=[told[dst] for _, dst in both],
            src_regions=[src for src, _ in both],
            dst_regions=[dst for _, dst in both],
        )

    def _lengths(self, peer: Peer, ours: tuple[int, ...]) -> Lengths:
        if not self.needs_head_slices(peer):
            return Lengths(ours=ours)
        total, tp = self._args.total_kv_head_num, self._config.parallel.attn_tp_size
        return Lengths(
            ours=ours,
            src_heads=heads_per_rank(total, tp),
            dst_heads=heads_per_rank(total, peer.tp_size),
        )

    def _right_rank(self, peer: Peer) -> None:
        """Refuse a decode rank whose heads this prefill rank does not hold (A8).

        With MLA every rank holds everything.
        """
        parallel, tp = self._config.parallel, peer.tp_size
        ours, rank = parallel.attn_tp_size, parallel.attn_tp_rank
        if self._config.is_mla:
            return
        if max(ours, tp) % min(ours, tp):
            raise PlanError(f"prefill TP {ours} and decode TP {tp} do not divide each other")
        share = max(ours, tp) // min(ours, tp)
        asked = (rank, peer.tp_rank // share) if tp >= ours else (rank // share, peer.tp_rank)
        if asked[0] != asked[1]:
            raise PlanError(
                f"decode rank {peer.tp_rank} of {tp} keeps other heads than prefill rank {rank} "
                f"of {ours} has"
            )

    def _pages(self, peer: Peer, pairs: Paired, src_pages: I32Array, dst_pages: I32Array) -> Blocks:
        if not self.needs_head_slices(peer):
            return page_blocks(pairs.src_ptrs, pairs.dst_ptrs, pairs.src_lens, src_pages, dst_pages)
        total, parallel = self._args.total_kv_head_num, self._config.parallel
        return head_slice_blocks(
            pairs.src_ptrs,
            pairs.src_lens,
            pairs.dst_ptrs,
            pairs.dst_lens,
            src_pages=src_pages,
            dst_pages=dst_pages,
            page_size=self._args.page_size,
            src_heads=heads_per_rank(total, parallel.attn_tp_size),
            dst_heads=heads_per_rank(total, peer.tp_size),
            cut=head_slice(
                parallel.attn_tp_size, peer.tp_size, parallel.attn_tp_rank, peer.tp_rank, total
            ),
        )

    def _dcp(
        self, peer: Peer, pairs: Paired, chunk: Chunk, dst_indices: I32Array, prefix_len: int
    ) -> Blocks:
        if not self._config.is_mla:
            raise PlanError("decode context parallelism needs an MLA pool")
        page_size = self._args.page_size
        for region, size in zip(pairs.src_regions, pairs.src_lens, strict=True):
            if size % page_size:
                raise PlanError(
                    f"region {region}: pages of {size} bytes do not split into {page_size} tokens"
                )
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
        tokens = [size // page_size for size in pairs.src_lens]
        return dcp_blocks(pairs.src_ptrs, pairs.dst_ptrs, tokens, plan)

    def aux(self, peer: Peer, src_index: int, dst_index: int) -> Permitted:
        """One row of every auxiliary buffer.

        Raises:
            PlanError: the sides hold other buffers, or there is no such row.
        """
        args = self._args
        with _planning("aux row"):
            lens = aux_lens(args, peer)
            _exist("aux rows here", np.array([src_index]), self._rows)
            if peer.aux_lens:
                _exist("aux rows there", np.array([dst_index]), _slots(peer.aux_lens, lens))
            guard = Extent("aux row", peer.aux_ptrs, lens, [dst_index])
            src = [p + n * src_index for p, n in zip(args.aux_data_ptrs, lens, strict=True)]
            dst = [p + n * dst_index for p, n in zip(peer.aux_ptrs, lens, strict=True)]
            return guard.permit(Blocks.of(src, dst, lens))

    def state(
        self, peer: Peer, src_indices: Sequence[I32Array], dst_indices: Sequence[I32Array]
    ) -> Permitted:
        """The items of every state component. Components without items on both sides are nothing.

        Raises:
            PlanError: component or item counts differ, or an item lies outside its region.
        """
        none = np.empty(0, np.int32)
        parts: list[Permitted] = []
        for n in range(max(len(src_indices), len(dst_indices))):
            src = src_indices[n] if n < len(src_indices) else none
            dst = dst_indices[n] if n < len(dst_indices) else none
            if (len(src) and n >= len(dst_indices)) or (len(dst) and n >= len(src_indices)):
                here, there = len(self._args.state_data_ptrs), len(peer.state_ptrs)
                raise PlanError(
                    f"state components: {len(src_indices)} sent of {here}, "
                    f"{len(dst_indices)} announced of {there}"
                )
            with _planning(f"state component {n}"):
                parts.append(self._component(peer, n, src, dst))
        return Permitted.joined(parts)

    def _component(self, peer: Peer, n: int, src: I32Array, dst: I32Array) -> Permitted:
        args = self._args
        if self._config.parallel.pp_size > 1 and not any(args.state_data_ptrs[n : n + 1]):
            return NOTHING  # another stage's
        if len(src) != len(dst):
            raise PlanError(f"{len(src)} items, {len(dst)} destinations")
        if not len(src):
            return NOTHING
        held = len(args.state_data_ptrs), len(peer.state_ptrs)
        if n >= min(held):
            raise PlanError(f"{held[0]} components here, {held[1]} there")
        pairs, lens, there = state_pairs(args, peer, n, pipelined=self._config.parallel.pp_size > 1)
        _exist("source items", src, _slots(args.state_data_lens[n], args.state_item_lens[n]))
        if len(peer.state_lens) > n:
            _exist("destination items", dst, _slots(peer.state_lens[n], there))
        guard = Extent("state item", peer.state_ptrs[n], there, dst)
        src_ptrs = [args.state_data_ptrs[n][at] for at in pairs.src]
        dst_ptrs = [peer.state_ptrs[n][at] for at in pairs.dst]
        return guard.permit(page_blocks(src_ptrs, dst_ptrs, lens, src, dst).merged())


@contextmanager
def _planning(what: str) -> Iterator[None]:
    """Whatever does not fit is a :class:`PlanError` that says of what."""
    try:
        yield
    except PlanError:
        raise
    except ValueError as error:
        raise PlanError(f"{what}: {error}") from error


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
