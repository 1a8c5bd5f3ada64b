"""Auxiliary rows and state items: which region goes where, and how long an item is there."""

from __future__ import annotations

from pdwire.managers.config import KVArgs
from pdwire.managers.lengths import LengthError, same_item
from pdwire.managers.peers import Peer
from pdwire.plan import Pairs, pp_regions

__all__ = ["aux_lens", "state_pairs"]


def aux_lens(args: KVArgs, peer: Peer) -> list[int]:
    """Bytes of a row in each auxiliary buffer of the peer (field report P3).

    No wire says how long a row is, and only Mori's how long a buffer is; NIXL's metadata says it
    too (:class:`pdwire.engines.SeesPeers`). All buffers of one side have equally many rows. So
    where the peer's have that with our rows, its rows are ours; where they do not, or a single
    buffer has another number of them than ours, rows there may have another length: refused. Over
    Mooncake nobody knows, and rows are taken to be ours, as in every release.

    Raises:
        LengthError: the sides hold other numbers of buffers, or rows of other lengths.
    """
    ours = list(args.aux_item_lens)
    if len(peer.aux_ptrs) != len(ours):
        raise LengthError(f"{len(ours)} aux buffers here, {len(peer.aux_ptrs)} there")
    sizes = [(n, size) for n, size in enumerate(peer.aux_lens) if size and ours[n]]
    for n, size in sizes:
        first, whole = sizes[0]
        if size % ours[n] or size // ours[n] * ours[first] != whole:
            raise LengthError(
                f"aux buffer {n}: rows of {ours[n]} bytes here, a buffer of {size} bytes there; "
                f"aux buffer {first}: rows of {ours[first]} bytes, a buffer of {whole}"
            )
    if len(sizes) == 1 and sizes[0][1] != args.aux_data_lens[sizes[0][0]]:
        n, size = sizes[0]
        raise LengthError(
            f"aux buffer {n}: {args.aux_data_lens[n]} bytes here in rows of {ours[n]}, {size} "
            "bytes there: rows there may be longer or more, and no other buffer tells"
        )
    return ours


def state_pairs(
    args: KVArgs, peer: Peer, n: int, *, pipelined: bool
) -> tuple[Pairs, list[int], list[int]]:
    """How the regions of state component ``n`` pair, by layer id where both sides say them.

    Args:
        args: this prefill rank's memory.
        peer: the decode rank.
        n: the component; both sides have it.
        pipelined: this rank holds the layers of one stage only.

    Returns:
        Pairs, bytes of an item of each pair, and bytes of an item of each region of the peer (0
        for regions that this rank does not hold).

    Raises:
        LengthError: regions or lengths differ, or lengths there cannot be known.
        ValueError: layer ids do not pair.
    """
    src, dst = args.state_data_ptrs[n], peer.state_ptrs[n]
    ours = args.state_item_lens[n]
    src_ids = args.state_layer_ids[n] if len(args.state_layer_ids) > n else ()
    dst_ids = peer.state_layer_ids[n] if len(peer.state_layer_ids) > n else ()
    if not (src_ids and dst_ids) and len(src) != len(dst):
        why = "; layer ids on both sides would tell which is which" if pipelined else ""
        raise LengthError(f"{len(src)} regions here, {len(dst)} there{why}")
    pairs = pp_regions(len(src), len(dst), mla=True, src_layer_ids=src_ids, dst_layer_ids=dst_ids)
    told = peer.state_item_lens[n] if len(peer.state_item_lens) > n else ()
    lens = [ours[at] for at in pairs.src]
    if told:
        same_item(f"state component {n}", lens, [told[at] for at in pairs.dst])
    elif len(set(lens)) > 1:
        raise LengthError(
            f"items of {' and '.join(map(str, sorted(set(lens))))} bytes here; decode "
            f"({peer.release}) cannot say its own"
        )
    there = [0] * len(dst)
    for at, size in zip(pairs.dst, lens, strict=True):
        there[at] = size
    return pairs, lens, there
