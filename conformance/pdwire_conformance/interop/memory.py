"""A model's KV cache in plain memory: filled from a seed, compared by digest.

Rules:

* What a byte is depends on seed, layer, K or V, token and head of the whole model, never on
  how the model is split. So two ranks that hold the same head hold the same bytes.
* A digest covers one page of one head of one layer (K and V). Its name, ``layer.head``,
  is the whole model's, so sides with different tensor or pipeline parallelism compare.
* Memory is one array per region, in the order of SGLang's pools: all K layers, then all V
  layers (MHA, a page is tokens × heads × dim); one region per layer (MLA).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .options import ELEMENT, Options

Bytes = NDArray[np.uint8]

AUX_ITEMS = (64, 256, 40)
"""Bytes per row of each aux buffer."""
_MARGIN = 4096
"""Bytes before and behind each region that are never registered: writes there are seen."""
_STATE_ITEM = 96
"""Bytes per row of the one state component's one tensor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """One registered array: its address, its bytes, and bytes per page or row."""

    array: Bytes

    @property
    def address(self) -> int:
        """Address of the first byte."""
        return int(self.array.ctypes.data)

    @property
    def length(self) -> int:
        """Bytes in all."""
        return int(self.array.nbytes)

    @property
    def item(self) -> int:
        """Bytes per page or row."""
        return int(self.array.nbytes // self.array.shape[0])


class Memory:
    """The memory of one rank."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.heads = _heads(options)
        self.layer_ids = _layers(options)
        kinds = 1 if options.mla else 2
        shape = (options.pages, options.page_size, len(self.heads), options.head_dim * ELEMENT)
        self._whole: list[Bytes] = []
        self.kv = [self._region(shape) for _ in range(kinds * len(self.layer_ids))]
        self.aux = [self._region((options.aux_rows, item)) for item in AUX_ITEMS]
        rows = options.pages if options.state else 0
        self.state = (
            [self._region((rows, _STATE_ITEM)) for _ in self.layer_ids] if options.state else []
        )

    def _region(self, shape: tuple[int, ...]) -> Region:
        """A region between two margins that nobody may write to."""
        size = math.prod(shape)
        whole = np.zeros(size + 2 * _MARGIN, np.uint8)
        self._whole.append(whole)
        return Region(array=whole[_MARGIN : _MARGIN + size].reshape(shape))

    @property
    def kv_layer_ids(self) -> list[int]:
        """Layer of each KV region, where the model says it; else empty."""
        kinds = 1 if self.options.mla else 2
        return self.layer_ids * kinds if self.options.layer_ids else []

    def fill(self, seed: int) -> None:
        """Write the content that belongs to the seed into every region."""
        options = self.options
        whole = (
            options.pages,
            options.page_size,
            _whole_heads(options),
            options.head_dim * ELEMENT,
        )
        count = len(self.layer_ids)
        for index, region in enumerate(self.kv):
            kind, layer = divmod(index, count)
            drawn = _drawn(seed, 1 + kind, self.layer_ids[layer], whole)
            region.array[:] = drawn[:, :, list(self.heads), :]
        for index, region in enumerate(self.aux):
            region.array[:] = _drawn(seed, 3, index, region.array.shape)
        for layer, region in zip(self.layer_ids, self.state, strict=False):
            region.array[:] = _drawn(seed, 4, layer, region.array.shape)

    def wipe(self) -> None:
        """Zero every region."""
        for region in (*self.kv, *self.aux, *self.state):
            region.array[:] = 0

    def page_digests(self, pages: Sequence[int]) -> dict[str, list[str]]:
        """``layer.head`` -> one digest per page, in the order of ``pages``."""
        count = len(self.layer_ids)
        told: dict[str, list[str]] = {}
        for position, layer in enumerate(self.layer_ids):
            regions = self.kv[position::count]
            for local, head in enumerate(self.heads):
                told[f"{layer}.{head}"] = [
                    _digest([region.array[page, :, local] for region in regions]) for page in pages
                ]
        return told

    def token_digests(self, places: Sequence[tuple[int, int]]) -> dict[str, list[str]]:
        """Layer -> one digest per token (MLA); a place is a page and an offset in it."""
        return {
            str(layer): [_digest([region.array[page, offset]]) for page, offset in places]
            for layer, region in zip(self.layer_ids, self.kv, strict=True)
        }

    def aux_digests(self, row: int) -> list[str]:
        """One digest per aux buffer of one row."""
        return [_digest([region.array[row]]) for region in self.aux]

    def state_digests(self, rows: Sequence[int]) -> dict[str, list[str]]:
        """Layer -> one digest per state row, in the order of ``rows``."""
        return {
            str(layer): [_digest([region.array[row]]) for row in rows]
            for layer, region in zip(self.layer_ids, self.state, strict=False)
        }

    def outside(
        self, pages: Sequence[int] = (), aux: Sequence[int] = (), state: Sequence[int] = ()
    ) -> list[str]:
        """One digest per region of all its pages or rows but these, and of its margins."""
        kinds = ((self.kv, pages), (self.aux, aux), (self.state, state))
        chosen = [(region, list(rows)) for regions, rows in kinds for region in regions]
        return [
            _digest([whole[:_MARGIN], np.delete(region.array, rows, axis=0), whole[-_MARGIN:]])
            for whole, (region, rows) in zip(self._whole, chosen, strict=True)
        ]


def _layers(options: Options) -> list[int]:
    each, rest = divmod(options.layers, options.pp_size)
    if rest:
        raise ValueError(f"{options.layers} layers do not split into {options.pp_size} stages")
    return list(range(options.pp_rank * each, (options.pp_rank + 1) * each))


def _whole_heads(options: Options) -> int:
    return 1 if options.mla else options.heads


def _heads(options: Options) -> range:
    """The whole model's heads that this rank holds; with few heads, ranks share them."""
    if options.mla:
        return range(1)
    first = options.tp_rank * options.heads // options.tp_size
    return range(first, first + options.local_heads)


def _drawn(seed: int, kind: int, index: int, shape: tuple[int, ...]) -> Bytes:
    generator = np.random.Generator(np.random.PCG64([seed, kind, index]))
    # Never zero, so that what was not written is told from what was.
    return generator.integers(1, 256, size=shape, dtype=np.uint8)


def _digest(parts: Sequence[Bytes]) -> str:
    summed = hashlib.sha256()
    for part in parts:
        summed.update(part.tobytes())
    return summed.hexdigest()[:32]
