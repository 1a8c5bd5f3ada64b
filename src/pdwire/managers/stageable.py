"""Whether a pair of ranks can stage: a staged chunk is one shape for all of its regions.

The layout of a chunk (:mod:`pdwire.staging.layout`) has one head length and one slot for each KV
region of the decode rank. So it serves pools whose regions are all of one length on both sides, and
pairs in which every region of decode is written. Everything else goes the direct way, head slice by
head slice, with lengths of its own per region (field report P1).
"""

from __future__ import annotations

from pdwire.managers.config import KVArgs, ParallelInfo
from pdwire.managers.peers import Peer
from pdwire.managers.planner import Paired

__all__ = ["one_length", "why_direct"]


def one_length(args: KVArgs) -> bool:
    """Whether this rank has KV regions, all filled and with pages of one length."""
    return (
        len(args.kv_item_lens) > 1
        and len(set(args.kv_item_lens)) == 1
        and all(args.kv_item_lens)
        and all(args.kv_data_lens)
    )


def why_direct(args: KVArgs, parallel: ParallelInfo, peer: Peer, pairs: Paired) -> str | None:
    """Why chunks for a peer are written directly; ``None``: they can be staged.

    Args:
        args: this prefill rank's memory.
        parallel: its place.
        peer: the decode rank.
        pairs: which region goes where (:meth:`Planner.paired`).
    """
    if not one_length(args):
        return "regions here have several lengths"
    if len(set(peer.kv_item_lens)) > 1:
        return "regions there have several lengths"
    if len(peer.kv_ptrs) % 2 or not all(peer.kv_ptrs):
        return "not every region there is filled"
    if parallel.pp_size > 1:
        # The other stages write the other regions, but nobody those of a draft model. All stages
        # have to decide alike, so they go by decode's ids alone: K of every layer, then V.
        half = len(peer.kv_ptrs) // 2
        ids = peer.kv_layer_ids
        return "decode has a draft model" if ids[:half] != ids[half:] else None
    if sorted(pairs.dst_regions) != list(range(len(peer.kv_ptrs))):
        return f"{len(pairs.dst_regions)} of the {len(peer.kv_ptrs)} regions there are written"
    return None
