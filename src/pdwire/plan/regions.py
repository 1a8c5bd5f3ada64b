"""Which destination region belongs to which source region, when the sides hold different layers.

1. Layer ids decide where both sides publish them. An id may occur several times (K and V of a
   layer, several tensors of a state): the n-th occurrence here goes to the n-th there.
2. Without ids, equal counts pair in order.
3. Without ids, an MHA pool is K of every target layer, then V of every target layer, then the
   regions of a draft model that only decode runs (0.5.16-0.5.23). A prefill stage knows its first
   layer, but not how many target layers there are, and so not where V begins at decode. Every
   number of target layers that fits is a *reading*; :func:`pp_regions` uses the only one and
   refuses when there are several. Lengths of regions, where both sides say them, rule readings out.
4. Stages of one size that together have exactly decode's layers are read as that: the releases
   before layer ids (0.5.17) have no other way to serve a pipeline. The last stage knows where the
   target ends, and refuses where the other stages may have read it otherwise.
5. Without ids, an MLA pool is one region per layer, a draft's behind the target's: one reading.

The releases guess in case 3 (``get_mha_kv_ptrs_with_pp``), and wrongly where a draft model has as
many layers as the target, or stages differ in size (field reports P5, P6).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from pdwire.plan.arrays import I64Array, Integers, as_i64

__all__ = ["Pairs", "Stage", "pp_regions"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A prefill rank's place in the pipeline.

    Attributes:
        start_layer: first target layer of this stage.
        pp_rank: this stage.
        pp_size: how many stages there are.
    """

    start_layer: int = 0
    pp_rank: int = 0
    pp_size: int = 1

    @property
    def later(self) -> int:
        """Stages behind this one; each holds at least one target layer."""
        return self.pp_size - 1 - self.pp_rank


_WHOLE = Stage()


def pp_regions(
    n_src: int,
    n_dst: int,
    *,
    mla: bool,
    stage: Stage = _WHOLE,
    src_layer_ids: Integers = (),
    dst_layer_ids: Integers = (),
    src_lens: Sequence[int] = (),
    dst_lens: Sequence[int] = (),
) -> Pairs:
    """Pairs every source region with its destination.

    Args:
        n_src: Regions here.
        n_dst: Regions there.
        mla: One region per layer; otherwise K and V have one each.
        stage: This prefill rank's place in the pipeline.
        src_layer_ids: Layer of each region here, or nothing.
        dst_layer_ids: Layer of each region there, or nothing.
        src_lens: Bytes that a page of each source region has once it is there, or nothing.
        dst_lens: Bytes of a page of each region there, or nothing where they are not known.

    Raises:
        ValueError: ids do not cover the regions, are missing on one side of a pipelined pair,
            the destination lacks a layer, or several pairings fit.
    """
    src_ids, dst_ids = as_i64("layer ids", src_layer_ids), as_i64("layer ids", dst_layer_ids)
    if n_src == 0:
        return Pairs((), ())
    if len(src_ids) and len(dst_ids):
        return _by_ids(n_src, n_dst, src_ids, dst_ids)
    if len(src_ids) != len(dst_ids) and stage.pp_size > 1:
        raise ValueError(
            f"layer ids on one side only ({len(src_ids)} here, {len(dst_ids)} there) cannot "
            "place the layers of a PP stage"
        )
    if n_src == n_dst:
        return Pairs(tuple(range(n_src)), tuple(range(n_src)))
    if mla:
        _exists(stage, n_src, n_dst)
        first = stage.start_layer
        return Pairs(tuple(range(n_src)), tuple(range(first, first + n_src)))
    if n_src % 2 or n_dst % 2:
        raise ValueError(f"{n_src} and {n_dst} regions do not split into K and V halves")
    _exists(stage, n_src // 2, n_dst // 2)
    return _Readings(n_src // 2, n_dst // 2, stage, tuple(src_lens), tuple(dst_lens)).only()


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


def _exists(stage: Stage, layers: int, available: int) -> None:
    first, end = stage.start_layer, stage.start_layer + layers
    if first < 0 or end > available:
        raise ValueError(
            f"layers {first} to {end - 1} of this stage, but the destination has {available}"
        )
    if end + stage.later > available:
        raise ValueError(
            f"layers {first} to {end - 1} of this stage and {stage.later} stages behind it, "
            f"but the destination has {available} layers"
        )


@dataclass(frozen=True, slots=True)
class _Readings:
    """How many target layers decode may have, as one stage sees it; MHA without layer ids."""

    layers: int
    total: int
    stage: Stage
    src_lens: tuple[int, ...]
    dst_lens: tuple[int, ...]
    _known: dict[int, bool] = field(default_factory=dict)

    def only(self) -> Pairs:
        """The pairing of the only reading that fits."""
        end, stage = self.stage.start_layer + self.layers, self.stage
        if stage.pp_size == 1:  # all target layers are here, whatever else decode has
            return self._pairs(end)
        if self._is_even() and self._fits(self.total):
            return self._pairs(self.total)
        most = end if not stage.later else self.total
        fitting = [n for n in range(end + stage.later, most + 1) if self._fits(n)]
        # The last stage knows the target's end. An earlier one does not, and may have taken all of
        # decode's layers for the target's, unless lengths tell it better.
        guessed = not stage.later and end < self.total and self._fits(self.total)
        if len(fitting) == 1 and not guessed:
            return self._pairs(fitting[0])
        several = sorted({*fitting, *([self.total] if guessed else [])})
        said = "none" if not several else " or ".join(map(str, several[:4]))
        raise ValueError(
            f"without layer ids the {self.layers} layers of stage {stage.pp_rank} of "
            f"{stage.pp_size} cannot be placed among the {self.total} layers of decode: its "
            f"target may have {said}{' or more' if len(several) > 4 else ''} of them, the rest "
            "would be a draft model's; give kv_layer_ids on both sides"
        )

    def _is_even(self) -> bool:
        stage, layers = self.stage, self.layers
        return self.total == layers * stage.pp_size and stage.start_layer == layers * stage.pp_rank

    def _pairs(self, target: int) -> Pairs:
        keys = range(self.stage.start_layer, self.stage.start_layer + self.layers)
        found = [*keys, *(target + layer for layer in keys)]
        return Pairs(tuple(range(2 * self.layers)), tuple(found))

    def _fits(self, target: int) -> bool:
        """Whether lengths allow ``target`` layers; true where nobody says lengths."""
        if target not in self._known:
            self._known[target] = self._allowed(target)
        return self._known[target]

    def _allowed(self, target: int) -> bool:
        if not self.src_lens or not self.dst_lens:
            return True
        pairs = self._pairs(target)
        if any(
            self.src_lens[s] != self.dst_lens[d] for s, d in zip(pairs.src, pairs.dst, strict=True)
        ):
            return False
        # A stage whose layers are all alike belongs to a model whose layers are.
        halves = ((0, 0), (self.layers, target))
        for src, dst in halves:
            ours = set(self.src_lens[src : src + self.layers])
            theirs = set(self.dst_lens[dst : dst + target])
            if len(ours) == 1 and theirs != ours:
                return False
        return True
