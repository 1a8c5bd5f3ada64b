"""A staged chunk between a pool and a ring: layouts of both sides, gather and scatter.

Only blocks that lie in the chunk's place leave for the ring, and only pages that the room announced
are scattered into. torch is an extra, so it is loaded when something is copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pdwire.managers.announced import Announced
from pdwire.managers.config import KVArgs, ParallelInfo
from pdwire.managers.connection import Connection
from pdwire.managers.peers import Peer
from pdwire.managers.planner import Chunk, PlanError
from pdwire.plan import Blocks, Extent, Permitted
from pdwire.staging import Scatter, StagingLayout, head_bytes

__all__ = ["decode_layout", "gather", "prefill_layout", "scatter"]


def prefill_layout(args: KVArgs, parallel: ParallelInfo, peer: Peer) -> StagingLayout:
    """The layout of chunks from this prefill engine to a decode rank.

    Raises:
        ValueError: pages do not split into whole heads.
    """
    tp = parallel.attn_tp_size
    return _layout(args, tp, tp, peer.tp_size, peer.tp_rank, len(peer.kv_ptrs) // 2)


def decode_layout(args: KVArgs, parallel: ParallelInfo, link: Connection) -> StagingLayout:
    """The layout of chunks from a prefill engine to this decode rank.

    Raises:
        ValueError: pages do not split into whole heads.
    """
    tp, rank = parallel.attn_tp_size, parallel.attn_tp_rank
    return _layout(args, tp, link.sizes.attn_tp_size, tp, rank, len(args.kv_data_ptrs) // 2)


def _layout(  # noqa: PLR0917  # both sides' sizes
    args: KVArgs, own_tp: int, prefill_tp: int, decode_tp: int, decode_rank: int, layers: int
) -> StagingLayout:
    return StagingLayout(
        prefill_tp=prefill_tp,
        decode_tp=decode_tp,
        decode_rank=decode_rank,
        total_kv_heads=args.total_kv_head_num,
        page_size=args.page_size,
        head_bytes=head_bytes(
            args.kv_item_lens[0],
            page_size=args.page_size,
            tp=own_tp,
            total_kv_heads=args.total_kv_head_num,
        ),
        layers=layers,
    )


def gather(  # what, whose, whence and whither
    args: KVArgs,
    parallel: ParallelInfo,
    chunk: Chunk,
    peer: Peer,
    buffer: Any,  # noqa: ANN401  # a torch tensor
    *,
    offset: int,
    slots: Sequence[tuple[int, int]] | None,
) -> Permitted:
    """Copy a chunk's head slices into a buffer; the blocks that take them to the ring.

    Args:
        args: this prefill rank's memory.
        parallel: its place.
        chunk: source pages.
        peer: the decode rank.
        buffer: flat uint8, of this rank.
        offset: of the chunk's place in the peer's ring. Unit: bytes.
        slots: which slot goes where; ``None`` where this rank holds every layer.

    Raises:
        PlanError: the chunk cannot be gathered; the text says why.
    """
    from pdwire.staging import copy  # noqa: PLC0415  # torch: an extra

    layout = prefill_layout(args, parallel, peer)
    regions = _regions(args, str(buffer.device))
    try:
        copy.gather(regions, chunk.pages.astype("int64"), buffer, layout)
    except ValueError as error:
        raise PlanError(f"staging of chunk {chunk.index}: {error}") from error
    writes = layout.writes(parallel.attn_tp_rank, len(chunk.pages), slots)
    base = peer.staging_base + offset
    blocks = Blocks.of(
        [buffer.data_ptr() + src for src, _, _ in writes],
        [base + dst for _, dst, _ in writes],
        [size for _, _, size in writes],
    ).merged()
    guard = Extent.place("staging place", base, layout.chunk_bytes(len(chunk.pages)))
    return guard.permit(blocks)


def scatter(
    args: KVArgs,
    effect: Scatter,
    ring: Any,  # noqa: ANN401  # a torch tensor
    layout: StagingLayout,
    announced: Announced,
) -> None:
    """Copy a chunk out of this decode rank's ring into pages that its room announced.

    Raises:
        OutsideRequest: the room did not announce a page.
        ValueError: place, pages and layout do not fit together.
    """
    from pdwire.staging import copy  # noqa: PLC0415  # torch: an extra

    announced.scatter(args, effect.pages)
    place = ring[effect.offset : effect.offset + effect.size]
    copy.scatter(place, _regions(args, str(ring.device)), effect.pages, layout)


def _regions(args: KVArgs, device: str) -> Any:  # noqa: ANN401  # torch tensors
    from pdwire.staging import copy  # noqa: PLC0415  # torch: an extra

    token = args.kv_item_lens[0] // args.page_size
    return copy.kv_regions(args.kv_data_ptrs, args.kv_data_lens, token_bytes=token, device=device)
