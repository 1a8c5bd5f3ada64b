"""Which destination region belongs to which source region, when the sides hold different layers.

1. Layer ids decide where both sides publish them. An id may occur several times (K and V of a
   layer, several tensors of a state): the n-th occurrence here goes to the n-th there.
2. Without ids, equal counts pair in order.
3. Without ids, an MHA pool is K of every layer, then V of every layer. A prefill PP stage holds
   the layers from ``start_layer`` on. A decode pool may end with the regions of a draft model
   that the prefill side does not run: then its layer count is no multiple of the stage's, and
   V starts behind the whole stages' K (as in 0.5.16–0.5.23).
4. Without ids, an MLA pool is one region per layer. ``draft`` regions at the end of both sides
   belong to a draft model and pair with the end of the other side, not with a layer.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass

from pdwire.plan.arrays import I64Array, Integers, as_i64

__all__ = ["Pairs", "pp_regions"]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Indices into the source's and the destination's region lists, pairwise."""

    src: tuple[int, ...]
    """Region indices here."""

    dst: tuple[int, ...]
    """Region indices there."""

    def __len__(self) -> int:
        """How many pairs."""
        return len(self.src)


def pp_regions(
    n_src: int,
    n_dst: int,
    *,
    mla: bool,
    start_layer: int = 0,
    src_layer_ids: Integers = (),
    dst_layer_ids: Integers = (),
    draft: int = 0,
    pipelined: bool = False,
) -> Pairs:
    """Pairs every source region with its destination.

    Args:
        n_src: Regions here.
        n_dst: Regions there.
        mla: One region per layer; otherwise K and V have one each.
        start_layer: First layer of this prefill PP stage.
        src_layer_ids: Layer of each region here, or nothing.
        dst_layer_ids: Layer of each region there, or nothing.
        draft: MLA: how many regions at the end belong to a draft model.
        pipelined: This side has several PP stages: ids on one side only are then an error,
            because position alone would pair wrong layers.

    Raises:
        ValueError: ids do not cover the regions, are missing on one side of a pipelined pair,
            or the destination lacks a layer.
    """
    src_ids, dst_ids = as_i64("layer ids", src_layer_ids), as_i64("layer ids", dst_layer_ids)
    if n_src == 0:
        return Pairs((), ())
    if len(src_ids) and len(dst_ids):
        return _by_ids(n_src, n_dst, src_ids, dst_ids)
    if len(src_ids) != len(dst_ids) and pipelined:
        raise ValueError(
            f"layer ids on one side only ({len(src_ids)} here, {len(dst_ids)} there) cannot "
            "place the layers of a PP stage"
        )
    if n_src == n_dst:
        return Pairs(tuple(range(n_src)), tuple(range(n_src)))
    if mla:
        return _mla(n_src, n_dst, start_layer, draft)
    return _mha(n_src, n_dst, start_layer)


def _by_ids(n_src: int, n_dst: int, src_ids: I64Array, dst_ids: I64Array) -> Pairs:
    if len(src_ids) != n_src or len(dst_ids) != n_dst:
        raise ValueError(
            f"{len(src_ids)} layer ids for {n_src} regions here, "
            f"{len(dst_ids)} for {n_dst} there: one each is needed"
        )
    places: defaultdict[int, deque[int]] = defaultdict(deque)
    for place, layer in enumerate(dst_ids.tolist()):
        places[layer].append(place)
    found = [places[layer].popleft() if places[layer] else -1 for layer in src_ids.tolist()]
    if -1 in found:
        layer = src_ids[found.index(-1)]
        raise ValueError(f"the destination has no region left for layer {layer}")
    return Pairs(tuple(range(n_src)), tuple(found))


def _mla(n_src: int, n_dst: int, start_layer: int, draft: int) -> Pairs:
    layers = n_src - draft
    found = [*range(start_layer, start_layer + layers), *range(n_dst - draft, n_dst)]
    _exists(start_layer + layers, n_dst - draft, start_layer)
    return Pairs(tuple(range(n_src)), tuple(found))


def _mha(n_src: int, n_dst: int, start_layer: int) -> Pairs:
    if n_src % 2 or n_dst % 2:
        raise ValueError(f"{n_src} and {n_dst} regions do not split into K and V halves")
    layers, dst_layers = n_src // 2, n_dst // 2
    main = dst_layers - dst_layers % layers if dst_layers > layers else dst_layers
    _exists(start_layer + layers, main, start_layer)
    keys = range(start_layer, start_layer + layers)
    found = [*keys, *(main + layer for layer in keys)]
    return Pairs(tuple(range(n_src)), tuple(found))


def _exists(end: int, available: int, start_layer: int) -> None:
    if start_layer < 0 or end > available:
        raise ValueError(
            f"layers {start_layer} to {end - 1} of this stage, but the destination has {available}"
        )
