"""Gather and scatter of staged chunks with torch: correct on CPU, unchanged on CUDA.

Rules:

1. Bytes are copied, never converted. Regions are looked at as rows of whole heads in the widest
   integers that head size and addresses allow.
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
    slot, total = _slots(regions, pages, out, layout)
    tokens = _tokens(pages, layout.page_size, out.device)
    width, kind = _widest(layout.head_bytes, out, *regions)
    first, last = _columns(layout.src_head, layout, width)
    for index, region in enumerate(regions):
        rows = _rows(region, kind)
        part = out[index * slot : (index + 1) * slot].view(kind).view(len(tokens), last - first)
        torch.index_select(rows[:, first:last], 0, tokens, out=part)
    _wait(out.device)
    return total


def scatter(
    region: torch.Tensor,
    regions: Sequence[torch.Tensor],
    pages: I64Array,
    layout: StagingLayout,
) -> None:
    """Copy a chunk that all writers have written out of its place into KV regions.

    Args:
        region: flat uint8 view of the chunk's place in the ring.
        regions: this decode rank's regions, all K, then all V, each ``[token, …]`` contiguous.
        pages: destination pages of the chunk, in order.
        layout: between the prefill engine and this decode rank.

    Raises:
        ValueError: the place is too small, or a region has no such heads or pages.
    """
    slot, total = _slots(regions, pages, region, layout, writers=layout.writers)
    del total
    tokens = _tokens(pages, layout.page_size, region.device)
    width, kind = _widest(layout.head_bytes, region, *regions)
    at = 0
    for writer in range(layout.writers):
        first, last = _columns(layout.dst_head(writer), layout, width)
        for target in regions:
            part = region[at : at + slot].view(kind).view(len(tokens), last - first)
            _rows(target, kind)[:, first:last].index_copy_(0, tokens, part)
            at += slot
    _wait(region.device)


def _slots(
    regions: Sequence[torch.Tensor],
    pages: I64Array,
    flat: torch.Tensor,
    layout: StagingLayout,
    writers: int = 1,
) -> tuple[int, int]:
    """Bytes of one slot and of all of them, checked against the memory that there is."""
    slot = layout.slot_bytes(len(pages))
    total = slot * len(regions) * writers
    if total > flat.numel():
        raise ValueError(f"{total} bytes of {len(pages)} pages, staging has {flat.numel()}")
    rows = (int(pages.max()) + 1) * layout.page_size if len(pages) else 0
    if len(pages) and int(pages.min()) < 0:
        raise ValueError(f"page {int(pages.min())}")
    for region in regions:
        if len(region) < rows:
            raise ValueError(f"{rows} tokens, a region has {len(region)}")
    return slot, total


def _tokens(pages: I64Array, page_size: int, device: torch.device) -> torch.Tensor:
    rows = pages.astype(np.int64)[:, None] * page_size + np.arange(page_size)
    return torch.from_numpy(rows.ravel()).to(device)


def _widest(head_bytes: int, *tensors: torch.Tensor) -> tuple[int, torch.dtype]:
    """The widest integer that divides a head and every address."""
    for width, kind in _WIDTHS:
        if head_bytes % width == 0 and all(tensor.data_ptr() % width == 0 for tensor in tensors):
            return width, kind
    raise AssertionError("one byte divides everything")


def _columns(head: int, layout: StagingLayout, width: int) -> tuple[int, int]:
    """First and last column of the slice, in integers of ``width`` bytes."""
    per_head = layout.head_bytes // width
    return head * per_head, (head + layout.heads) * per_head


def _rows(region: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
    return region.view(torch.uint8).view(len(region), -1).view(kind)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.current_stream(device).synchronize()
