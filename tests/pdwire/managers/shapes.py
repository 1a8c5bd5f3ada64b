"""Whole shapes of two sides, drawn, and what decode's memory has to be when a room is over.

A :class:`Shape` is a model and how each side holds it: heads and bytes of K and V, a draft model,
stages, tensor parallelism, decode context parallelism, state, auxiliary rows, a prefix. The content
of every region is cut out of one model, so what should arrive is known without asking a planner.
A *misfit* is one fact that differs between the sides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.pdwire.managers.fleet import Bytes, Memory, place

from pdwire.frames import I32Array
from pdwire.managers.config import KVArgs, ParallelInfo

__all__ = ["MISFITS", "Rank", "Shape", "decode_ranks", "fill", "prefill_ranks", "shapes"]

SLOTS = {"prefill": 14, "decode": 12}
ROWS = 4
MISFITS = ("page", "value", "draft", "state", "state-count", "buffers", "row", "layers")
"""A page of another size, V alone, the draft alone, items, components, buffers, a layer less …"""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One model on two sides.

    Attributes:
        stages: target layers of each prefill stage.
        heads: KV heads of the target model.
        key: bytes of one head of one token of K (MLA: of a token).
        value: of V.
        draft: layers of the draft model on decode; 0 for none.
        draft_here: whether prefill runs it as well.
        draft_heads: its heads.
        draft_head: bytes of one head of one token of it.
        state: regions per target layer, items and bytes of an item, for each component.
        prefix: pages that decode has already.
        num_pages: pages that are sent.
        cuts: where the sends of the last stage end.
    """

    backend: str
    release: str
    mla: bool
    stages: tuple[int, ...]
    src_tp: int
    dst_tp: int
    dcp: int
    heads: int
    tokens: int
    key: int
    value: int
    draft: int
    draft_here: bool
    draft_heads: int
    draft_head: int
    ids: bool
    staged: tuple[bool, bool]
    state: tuple[tuple[int, int, int], ...]
    aux: tuple[int, ...]
    prefix: int
    num_pages: int
    cuts: tuple[int, ...]
    misfit: str | None
    seed: int

    @property
    def target(self) -> int:
        """Target layers."""
        return sum(self.stages)


@dataclass(kw_only=True)
class Rank:
    """One rank: its place and its regions by name."""

    parallel: ParallelInfo
    kv: dict[str, Bytes]
    args: KVArgs
    memory: Memory
    head_ranges: dict[str, tuple[int, int]] = field(default_factory=dict)


def _heads(total: int, tp: int, rank: int) -> tuple[int, int]:
    """The heads of a rank; with fewer heads than ranks neighbours hold the same one."""
    if total >= tp:
        return rank * (total // tp), (rank + 1) * (total // tp)
    head = rank // (tp // total)
    return head, head + 1


def _names(shape: Shape, layers: range, draft: int) -> list[tuple[str, int]]:
    """Regions in a pool's order, with the layer id of each."""
    kinds = ["c"] if shape.mla else ["k", "v"]
    names = [(f"{kind}{layer}", layer) for kind in kinds for layer in layers]
    first = shape.target
    return names + [(f"d{kind}{n}", first + n) for kind in kinds for n in range(draft)]


def _cell(shape: Shape, name: str) -> tuple[int, int]:
    """Heads and bytes of a head of a region, over all ranks."""
    if name.startswith("d"):
        return (1 if shape.mla else shape.draft_heads), shape.draft_head
    if shape.mla:
        return 1, shape.key
    return shape.heads, shape.key if name.startswith("k") else shape.value


def content(shape: Shape, name: str) -> NDArray[np.uint8]:
    """What prefill's pool holds of a region, all heads: ``[page, token, head, byte]``."""
    heads, size = _cell(shape, name)
    seed = (shape.seed, *name.encode())
    return np.random.default_rng(seed).integers(
        0, 256, (SLOTS["prefill"], shape.tokens, heads, size), dtype=np.uint8
    )


def _rank(
    shape: Shape,
    side: str,
    parallel: ParallelInfo,
    layers: range,
    draft: int,
    sizes: dict[str, int],
) -> Rank:
    rng = np.random.default_rng((shape.seed, side == "decode", parallel.unique_rank))
    slots, tp, rank = SLOTS[side], parallel.attn_tp_size, parallel.attn_tp_rank
    names = _names(shape, layers, draft)
    kv: dict[str, Bytes] = {}
    ranges: dict[str, tuple[int, int]] = {}
    for name, _ in names:
        total, size = _cell(shape, name)
        first, end = (0, 1) if shape.mla else _heads(total, tp, rank)
        ranges[name] = first, end
        item = shape.tokens * (end - first) * size * sizes.get(name[0], 1)
        kv[name] = rng.integers(0, 256, (slots, item), dtype=np.uint8)
        if side == "prefill":
            kv[name][:] = content(shape, name)[:, :, first:end].reshape(slots, -1)
    rows = rng if side == "decode" else np.random.default_rng((shape.seed, 99))  # all ranks' rows
    *fixed, last = shape.aux  # what speculative decoding widens is never all of it
    lens = (*fixed, last * sizes.get("row", 1))
    aux = [rows.integers(0, 256, (ROWS, n), dtype=np.uint8) for n in lens]
    state: list[list[Bytes]] = []
    ids: list[tuple[int, ...]] = []
    for n, (per, items, plain) in enumerate(shape.state):
        per_layer = [(layer, k) for layer in layers for k in range(per)]
        size = plain * sizes.get("state", 1)
        made = [rng.integers(0, 256, (items, size), dtype=np.uint8) for _ in per_layer]
        if side == "prefill":  # every TP rank holds the same
            for (layer, k), region in zip(per_layer, made, strict=True):
                same = np.random.default_rng((shape.seed, 77, n, layer, k))
                region[:] = same.integers(0, 256, region.shape, dtype=np.uint8)
        state.append(made)
        ids.append(tuple(layer for layer, _ in per_layer))
    regions = list(kv.values())
    args = KVArgs(
        kv_data_ptrs=_ptrs(regions),
        kv_data_lens=_lens(regions),
        kv_item_lens=tuple(r.shape[1] for r in regions),
        aux_data_ptrs=_ptrs(aux),
        aux_data_lens=_lens(aux),
        aux_item_lens=tuple(r.shape[1] for r in aux),
        state_types=tuple(f"s{n}" for n in range(len(state))),
        state_data_ptrs=tuple(map(_ptrs, state)),
        state_data_lens=tuple(map(_lens, state)),
        state_item_lens=tuple(tuple(r.shape[1] for r in part) for part in state),
        state_dim_per_tensor=tuple((1,) * len(part) for part in state),
        kv_layer_ids=tuple(layer for _, layer in names) if shape.ids else (),
        state_layer_ids=tuple(ids) if shape.ids else (),
        page_size=shape.tokens,
        total_kv_head_num=1 if shape.mla else shape.heads,
        prefill_start_layer=layers.start,
    )
    memory = Memory(kv=regions, aux=aux, state=state, args=args)
    return Rank(parallel=parallel, kv=kv, args=args, memory=memory, head_ranges=ranges)


def _ptrs(regions: list[Bytes]) -> tuple[int, ...]:
    return tuple(region.ctypes.data for region in regions)


def _lens(regions: list[Bytes]) -> tuple[int, ...]:
    return tuple(region.nbytes for region in regions)


def prefill_ranks(shape: Shape) -> list[Rank]:
    """Every rank of the prefill side; the draft model lives on the last stage."""
    found = []
    for stage, count in enumerate(shape.stages):
        start = sum(shape.stages[:stage])
        last = stage == len(shape.stages) - 1
        for rank in range(shape.src_tp):
            parallel = place(tp=shape.src_tp, tp_rank=rank, pp=len(shape.stages), pp_rank=stage)
            draft = shape.draft if shape.draft_here and last else 0
            found.append(_rank(shape, "prefill", parallel, range(start, start + count), draft, {}))
    return found


def decode_ranks(shape: Shape) -> list[Rank]:
    """Every rank of the decode side, which has one stage."""
    sizes = {
        "page": {"k": 2, "v": 2, "c": 2},
        "value": {"v": 2, "c": 2},
        "draft": {"d": 2},
        "state": {"state": 2},
        "row": {"row": 2},
    }.get(shape.misfit or "", {})
    layers = range(shape.target - 1 if shape.misfit == "layers" else shape.target)
    told = shape
    if shape.misfit == "state-count":
        told = _with(
            shape, state=(*shape.state, (1, 4, 8)) if not shape.state else shape.state[:-1]
        )
    if shape.misfit == "buffers":
        told = _with(shape, aux=(*shape.aux, 8))
    found = []
    for rank in range(shape.dst_tp):
        parallel = place(
            tp=shape.dst_tp, tp_rank=rank, dcp=shape.dcp, dcp_rank=rank if shape.dcp > 1 else 0
        )
        found.append(_rank(told, "decode", parallel, layers, shape.draft, sizes))
    return found


def _with(shape: Shape, **facts: Any) -> Shape:  # noqa: ANN401
    return Shape(**{name: getattr(shape, name) for name in Shape.__dataclass_fields__} | facts)


def fill(
    shape: Shape,
    rank: Rank,
    sources: list[Rank],
    *,
    src: I32Array,
    dst: I32Array,
    rows: tuple[int, int],
    items: list[tuple[I32Array, I32Array]],
) -> None:
    """Put into a decode rank's memory what a room has to bring."""
    moved = {name for source in sources for name in source.kv}
    for name in sorted(moved & set(rank.kv)):
        first, end = rank.head_ranges[name]
        cells = content(shape, name)[src][:, :, first:end]
        if shape.dcp > 1:
            tokens = cells.reshape(-1, cells.shape[2] * cells.shape[3])[
                rank.parallel.dcp_rank :: shape.dcp
            ]
            held = rank.kv[name][dst].reshape(-1, tokens.shape[1])
            held[: len(tokens)] = tokens
            rank.kv[name][dst] = held.reshape(len(dst), -1)
        else:
            rank.kv[name][dst] = cells.reshape(len(src), -1)
    last = sources[-1]
    for buffer, sent in zip(rank.memory.aux, last.memory.aux, strict=True):
        buffer[rows[1]] = sent[rows[0]]
    for n, (taken, put) in enumerate(items):
        whole = [region for source in sources[:: shape.src_tp] for region in source.memory.state[n]]
        for region, sent in zip(rank.memory.state[n], whole, strict=True):
            region[put] = sent[taken]


RELEASES = {
    "mooncake": ("0.5.9", "0.5.12", "0.5.16", "0.5.17", "0.5.19", "0.5.20", "0.5.21", "0.5.23"),
    "nixl": ("0.5.16", "0.5.17", "0.5.19", "0.5.22", "0.5.23"),
    "mori": ("0.5.13", "0.5.22", "0.5.23"),
    "ascend": ("0.5.16", "0.5.20", "0.5.23"),
}


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Any shape, two times in three one whose sides fit."""
    backend = draw(st.sampled_from(["mooncake", "nixl", "mooncake", "nixl", "mori", "ascend"]))
    mla = draw(st.booleans())
    stages = draw(st.sampled_from([(2,), (2,), (1,), (1, 1), (2, 1), (1, 2), (2, 2), (3, 1)]))
    src_tp, dst_tp = draw(st.sampled_from([(1, 1), (1, 1), (2, 1), (1, 2), (2, 2), (4, 2)]))
    if len(stages) > 1 and src_tp * dst_tp > 2:
        src_tp, dst_tp = 1, 2
    dcp = draw(st.sampled_from([1, 2])) if mla and (src_tp, dst_tp) == (1, 2) else 1
    key = draw(st.sampled_from([4, 8]))
    ids = draw(st.booleans())
    draft = draw(st.sampled_from([0, 0, 1, 2]))
    misfit = draw(st.sampled_from([None] * 2 * len(MISFITS) + list(MISFITS)))
    if misfit == "layers" and draft and not ids:
        misfit = None  # two models whose pools have as many regions: nobody says a word about it
    pages = draw(st.integers(1, 5))
    return Shape(
        backend=backend,
        release=draw(st.sampled_from(RELEASES[backend])) if draw(st.booleans()) else "0.5.23",
        mla=mla,
        stages=stages,
        src_tp=src_tp,
        dst_tp=dst_tp,
        dcp=dcp,
        heads=draw(st.sampled_from([1, 2, 4])),
        tokens=draw(st.sampled_from([1, 4])),
        key=key,
        value=draw(st.sampled_from([key, key, 4, 8])),
        draft=draft,
        draft_here=draw(st.booleans()) and (len(stages) == 1),
        draft_heads=draw(st.sampled_from([1, 2, 4])),
        draft_head=draw(st.sampled_from([key, 4, 8])),
        ids=ids,
        staged=draw(st.tuples(st.booleans(), st.booleans())),
        state=draw(st.sampled_from([(), (), ((1, 4, 8),), ((2, 5, 4), (1, 3, 16))])),
        aux=draw(st.sampled_from([(16,), (16, 64)])),
        prefix=draw(st.sampled_from([0, 0, 1])),
        num_pages=pages,
        cuts=tuple(sorted(draw(st.sets(st.integers(1, pages), max_size=2)) | {pages})),
        misfit=misfit,
        seed=draw(st.integers(0, 2**16)),
    )
