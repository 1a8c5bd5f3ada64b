"""Which byte of a staged chunk is what. Pure arithmetic, the same on both sides.

A chunk's place in the ring is cut, from the outside in, into::

    writer (prefill TP ranks that write this decode rank, in rank order)
      slot (K of layer 0, K of layer 1, …, V of layer 0, V of layer 1, …)
        token (page by page, in the order of the room's pages)
          head (of those that the writer sends)
            element

Rules, those of the releases from 0.5.16 to 0.5.23:

1. More prefill than decode ranks: ``prefill_tp // decode_tp`` writers, each with all its heads.
   Otherwise one writer, with the heads that the decode rank keeps.
2. Heads as in :mod:`pdwire.plan`: fewer heads than ranks are replicated.
3. Layers are those of the decode rank. A prefill pipeline stage writes its slots into their places
   among them (:func:`slot_pairs`); every stage writes a part of every chunk.
4. Layers are of one shape. Sizes are of the pages that are really written, not of the place.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["StagingLayout", "head_bytes", "slot_pairs"]


def head_bytes(item_len: int, *, page_size: int, tp: int, total_kv_heads: int) -> int:
    """Bytes of one head of one token in a region whose pages have ``item_len`` bytes.

    Raises:
        ValueError: the page does not split into whole heads.
    """
    cells = page_size * max(1, total_kv_heads // tp)
    if item_len < 1 or item_len % cells:
        raise ValueError(f"a page of {item_len} bytes does not split into {cells} heads of tokens")
    return item_len // cells


def slot_pairs(src_layers: Sequence[int], dst_layers: Sequence[int]) -> list[tuple[int, int]]:
    """Which slot of the decode rank each slot of a prefill stage goes to, by layer ids.

    Both lists name the layer of every slot: all K, then all V. A layer that stands there twice is
    paired in order.

    Raises:
        ValueError: the decode side lacks a slot.
    """
    places: defaultdict[int, deque[int]] = defaultdict(deque)
    for slot, layer in enumerate(dst_layers):
        places[layer].append(slot)
    for layer in set(src_layers):
        if (missing := list(src_layers).count(layer) - len(places[layer])) > 0:
            raise ValueError(f"the decode side has {missing} slots too few for layer {layer}")
    return [(slot, places[layer].popleft()) for slot, layer in enumerate(src_layers)]


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingLayout:
    """The layout between one prefill engine and one decode rank.

    Attributes:
        prefill_tp: attention TP size of the prefill side.
        decode_tp: attention TP size of the decode side.
        decode_rank: the decode rank within it.
        total_kv_heads: KV heads of the model.
        page_size: tokens of a page.
        head_bytes: bytes of one head of one token in one region (:func:`head_bytes`).
        layers: layers of the decode rank, half as many as its slots.

    Raises:
        ValueError: a size below 1 or a negative rank.
    """

    prefill_tp: int
    decode_tp: int
    decode_rank: int
    total_kv_heads: int
    page_size: int
    head_bytes: int
    layers: int

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if getattr(self, name) < (name != "decode_rank"):
                raise ValueError(f"{name} is {getattr(self, name)}")

    @property
    def writers(self) -> int:
        """Prefill TP ranks that write a chunk; pipeline stages not counted."""
        return self.prefill_tp // self.decode_tp if self._narrows else 1

    @property
    def heads(self) -> int:
        """Heads that each writer sends."""
        return max(1, self.total_kv_heads // max(self.prefill_tp, self.decode_tp))

    @property
    def src_head(self) -> int:
        """The first head that a writer sends, among its own."""
        if self._narrows:
            return 0
        copies = max(1, self.decode_tp // self.total_kv_heads)
        first = self.decode_rank % self.decode_tp // copies * self.heads
        return first % max(1, self.total_kv_heads // self.prefill_tp)

    def dst_head(self, writer: int) -> int:
        """Where the heads of a writer begin among those of the decode rank."""
        if not self._narrows:
            return 0
        copies = max(1, self.prefill_tp // self.total_kv_heads)
        first = writer // copies * self.heads
        return first % max(1, self.total_kv_heads // self.decode_tp)

    def slot_bytes(self, pages: int) -> int:
        """Bytes of K or V of one layer from one writer."""
        return pages * self.page_size * self.heads * self.head_bytes

    def writer_bytes(self, pages: int) -> int:
        """Bytes from one writer, all slots of the decode rank."""
        return self.slot_bytes(pages) * self.layers * 2

    def chunk_bytes(self, pages: int) -> int:
        """Bytes of the whole chunk: what the decode rank sets aside."""
        return self.writer_bytes(pages) * self.writers

    def writer_of(self, prefill_rank: int) -> int:
        """Which of the writers a prefill TP rank is."""
        return prefill_rank % self.prefill_tp % self.writers

    def writes(
        self, prefill_rank: int, pages: int, pairs: Iterable[tuple[int, int]] | None = None
    ) -> list[tuple[int, int, int]]:
        """``(source offset, destination offset, bytes)`` of what a prefill rank writes.

        Args:
            prefill_rank: TP rank.
            pages: of the chunk.
            pairs: of slots (:func:`slot_pairs`), where the prefill rank holds only a part of the
                layers; ``None``: it holds them all, and one write does.

        Returns:
            Offsets into what ``gather`` wrote and into the chunk's place.
        """
        base = self.writer_of(prefill_rank) * self.writer_bytes(pages)
        if pairs is None:
            return [(0, base, self.writer_bytes(pages))]
        size = self.slot_bytes(pages)
        return [(src * size, base + dst * size, size) for src, dst in pairs]

    @property
    def _narrows(self) -> bool:
        return self.prefill_tp > self.decode_tp
