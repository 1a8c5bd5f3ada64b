"""Gather and scatter of staged chunks with torch: correct on CPU, unchanged on CUDA.

Rules:

1. Bytes are copied, never converted: a NaN keeps its bits. Regions are looked at as rows of whole
   heads in the widest integers that head size and addresses allow.
2. The layout is that of :mod:`pdwire.staging.layout`: all K, then all V; token by token.
3. When a function returns, its bytes are where they belong: on CUDA the work runs on the calling
   thread's current stream, which is then waited for. What wrote the sources must have been
   ordered before, by the caller.

The only module of the package that needs torch, and never imported by the package itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from pdwire.staging.effects import I64Array
from pdwire.staging.layout import StagingLayout

__all__ = ["at_address", "gather", "kv_regions", "scatter"]

_WIDTHS = ((8, torch.int64), (4, torch.int32), (2, torch.int16), (1, torch.uint8))


def at_address(address: int, length: int, device: str = "cpu") -> torch.Tensor:
    """A flat uint8 tensor over memory that somebody else owns and keeps alive.

    Args:
        address: absolute address, of the host or of the CUDA device.
        length: bytes.
        device: ``"cpu"`` or ``"cuda:N"``.
    """
    if not length:
        return torch.empty(0, dtype=torch.uint8, device=device)
    if torch.device(device).type == "cpu":
        memory = (ctypes.c_uint8 * length).from_address(address)
        return torch.frombuffer(memory, dtype=torch.uint8)
    return torch.as_tensor(_CudaMemory(address, length), device=device)


class _CudaMemory:
    """Device memory in the form that torch takes without a copy."""

    def __init__(self, address: int, length: int) -> None:
        self.__cuda_array_interface__: dict[str, Any] = {
            "shape": (length,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


def kv_regions(
    ptrs: Sequence[int], lens: Sequence[int], *, token_bytes: int, device: str = "cpu"
) -> list[torch.Tensor]:
    """KV regions as ``[token, byte]`` tensors, ready for :func:`gather` and :func:`scatter`.

    Args:
        ptrs: address of each region, all K, then all V.
        lens: its bytes; a remainder of less than a token is left out.
        token_bytes: bytes of one token of one region, all heads of the rank.
        device: where they are.
    """
    return [
        at_address(ptr, size // token_bytes * token_bytes, device).view(-1, token_bytes)
        for ptr, size in zip(ptrs, lens, strict=True)
    ]


def gather(
    regions: Sequence[torch.Tensor],
    pages: I64Array,
    out: torch.Tensor,
    layout: StagingLayout,
) -> int:
    """Copy the head slice of a chunk out of KV regions into a staging buffer.

    Args:
        regions: this prefill rank's regions, all K, then all V, each ``[token, …]`` contiguous.
        pages: page indices of the chunk, in order.
        out: flat uint8 staging buffer on the same device.
        layout: between this engine and the decode rank.

    Returns:
        Bytes written to the front of ``out``.

    Raises:
        ValueError: the buffer is too small, or a region has no such heads or pages.
    """
    if not len(pages):
        return 0
    slots = _Slots(layout, pages, out, regions)
    columns = slots.columns(layout.src_head)
    for index, region in enumerate(regions):
        torch.index_select(slots.rows(region)[:, columns], 0, slots.tokens, out=slots.part(index))
    _wait(out.device)
    return slots.size * len(regions)


def scatter(
    place: torch.Tensor,
    regions: Sequence[torch.Tensor],
    pages: I64Array,
    layout: StagingLayout,
) -> None:
    """Copy a chunk that all writers have written out of its place into KV regions.

    Args:
        place: flat uint8 view of the chunk's place in the ring.
        regions: this decode rank's regions, all K, then all V, each ``[token, …]`` contiguous.
        pages: destination pages of the chunk, in order.
        layout: between the prefill engine and this decode rank.

    Raises:
        ValueError: the place is too small, or a region has no such heads or pages.
    """
    if not len(pages):
        return
    slots = _Slots(layout, pages, place, regions, writers=layout.writers)
    for writer in range(layout.writers):
        columns = slots.columns(layout.dst_head(writer))
        for index, region in enumerate(regions, writer * len(regions)):
            slots.rows(region)[:, columns].index_copy_(0, slots.tokens, slots.part(index))
    _wait(place.device)


class _Slots:
    """The slots of a flat buffer and the rows of the regions, checked against each other."""

    def __init__(
        self,
        layout: StagingLayout,
        pages: I64Array,
        flat: torch.Tensor,
        regions: Sequence[torch.Tensor],
        writers: int = 1,
    ) -> None:
        self._layout = layout
        self._regions = regions
        self.size = layout.slot_bytes(len(pages))
        self._bytes = self.size * len(regions) * writers
        self._check(pages, flat)
        self._width, self._kind = _widest(layout.head_bytes, flat, *regions)
        self._flat = flat[: self._bytes].view(self._kind)
        rows = pages.astype(np.int64)[:, None] * layout.page_size + np.arange(layout.page_size)
        self.tokens = torch.from_numpy(rows.ravel()).to(flat.device)

    def _check(self, pages: I64Array, flat: torch.Tensor) -> None:
        if self._bytes > flat.numel():
            raise ValueError(f"{self._bytes} bytes to stage, the buffer has {flat.numel()}")
        first, last = int(pages.min()), int(pages.max())
        if first < 0:
            raise ValueError(f"page {first}")
        tokens = (last + 1) * self._layout.page_size
        for region in self._regions:
            if len(region) < tokens:
                raise ValueError(f"page {last} of a region of {len(region)} tokens")

    def columns(self, head: int) -> slice:
        """The columns of a writer's heads, beginning with ``head``, in every region."""
        last = (head + self._layout.heads) * self._layout.head_bytes
        for region in self._regions:
            if region[:1].nbytes < last:
                raise ValueError(f"{last} bytes of heads, a token has {region[:1].nbytes}")
        return slice(head * self._layout.head_bytes // self._width, last // self._width)

    def rows(self, region: torch.Tensor) -> torch.Tensor:
        """A region, a token a row."""
        return region.view(torch.uint8).view(len(region), -1).view(self._kind)

    def part(self, index: int) -> torch.Tensor:
        """One slot, a token a row."""
        size = self.size // self._width
        return self._flat[index * size : (index + 1) * size].view(len(self.tokens), -1)


def _widest(head_bytes: int, *tensors: torch.Tensor) -> tuple[int, torch.dtype]:
    """The widest integer that divides a head and every address."""
    for width, kind in _WIDTHS[:-1]:
        if head_bytes % width == 0 and all(_is_aligned(tensor, width) for tensor in tensors):
            return width, kind
    return _WIDTHS[-1]


def _is_aligned(tensor: torch.Tensor, width: int) -> bool:
    begin = tensor.storage_offset() * tensor.element_size()
    return tensor.data_ptr() % width == 0 and begin % width == 0


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.current_stream(device).synchronize()
