"""Gather and scatter against plain numpy, and against everything that they must not touch."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pdwire.staging import StagingLayout

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed: make engines", allow_module_level=True)
import torch

from pdwire.staging.copy import at_address, gather, kv_regions, scatter

Pool = NDArray[np.uint8]
"""``[slot, token, head, byte]``, all K, then all V."""

LAYOUT = StagingLayout(
    prefill_tp=2,
    decode_tp=1,
    decode_rank=0,
    total_kv_heads=4,
    page_size=2,
    head_bytes=4,
    layers=1,
)


@dataclass(frozen=True)
class Case:
    """A layout, the pages on both sides, and how many pages the pools have."""

    layout: StagingLayout
    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    pool_pages: int
    seed: int

    def pool(self, heads: int, number: int) -> Pool:
        rng = np.random.default_rng(self.seed * 100 + number)
        tokens = self.pool_pages * self.layout.page_size
        shape = (2 * self.layout.layers, tokens, heads, self.layout.head_bytes)
        return rng.integers(0, 256, shape, np.uint8)

    def tokens(self, pages: NDArray[np.int64]) -> list[int]:
        size = self.layout.page_size
        return [int(page) * size + token for page in pages for token in range(size)]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    sizes = st.sampled_from([1, 2, 4])
    decode_tp = draw(sizes)
    layout = StagingLayout(
        prefill_tp=draw(sizes),
        decode_tp=decode_tp,
        decode_rank=draw(st.integers(0, decode_tp - 1)),
        total_kv_heads=draw(st.sampled_from([1, 2, 4, 8])),
        page_size=draw(st.integers(1, 4)),
        head_bytes=draw(st.sampled_from([1, 2, 3, 4, 6, 8, 16])),
        layers=draw(st.integers(1, 3)),
    )
    pool_pages = draw(st.integers(1, 8))
    pages = st.permutations(range(pool_pages))
    count = draw(st.integers(0, pool_pages))
    src, dst = draw(pages)[:count], draw(pages)[:count]
    return Case(layout, np.array(src, np.int64), np.array(dst, np.int64), pool_pages, 1)


def regions(pool: Pool) -> list[torch.Tensor]:
    return [torch.from_numpy(slot.reshape(len(slot), -1)) for slot in pool]


@given(cases())
def test_what_is_gathered_and_scattered_is_what_numpy_says(case: Case) -> None:
    layout, count = case.layout, len(case.src)
    held = max(1, layout.total_kv_heads // layout.prefill_tp)
    kept = max(1, layout.total_kv_heads // layout.decode_tp)
    place = torch.zeros(layout.chunk_bytes(count), dtype=torch.uint8)
    target = case.pool(kept, 99)
    expected = target.copy()
    for writer in range(layout.writers):
        pool = case.pool(held, writer)
        buffer = torch.zeros(layout.writer_bytes(count) + 5, dtype=torch.uint8)
        written = gather(regions(pool), case.src, buffer, layout)
        assert written == layout.writer_bytes(count)
        assert not buffer[written:].any()
        for src, dst, size in layout.writes(writer, count):
            place[dst : dst + size] = buffer[src : src + size]
        theirs = slice(layout.src_head, layout.src_head + layout.heads)
        ours = slice(layout.dst_head(writer), layout.dst_head(writer) + layout.heads)
        expected[:, case.tokens(case.dst), ours] = pool[:, case.tokens(case.src), theirs]
    scatter(place, regions(target), case.dst, layout)
    np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.float32])
def test_a_nan_keeps_its_bits(kind: torch.dtype) -> None:
    source = torch.arange(0xFF80, 0xFF88, dtype=torch.int32).to(torch.uint16).view(torch.uint8)
    region = source.repeat(2).view(kind).view(4, 1, -1)
    layout = StagingLayout(
        prefill_tp=1,
        decode_tp=1,
        decode_rank=0,
        total_kv_heads=1,
        page_size=2,
        head_bytes=8,
        layers=1,
    )
    place, target = torch.zeros(32, dtype=torch.uint8), torch.zeros_like(region)
    other = torch.zeros_like(region)
    gather([region, region], np.array([1]), place, layout)
    scatter(place, [target, other], np.array([0]), layout)
    expected = region.view(torch.uint8).flatten()[16:]
    assert torch.equal(target.view(torch.uint8).flatten()[:16], expected)
    assert torch.equal(other.view(torch.uint8).flatten()[:16], expected)


@pytest.mark.parametrize(("base", "offset"), [(0, 3), (1, 7), (5, 0)])
def test_an_odd_place_in_an_odd_ring_is_fine(base: int, offset: int) -> None:
    memory = np.zeros(200, np.uint8)
    ring = at_address(memory.ctypes.data + base, 190)
    place = ring[offset : offset + LAYOUT.chunk_bytes(1)]
    place.copy_(torch.arange(place.numel(), dtype=torch.uint8))
    targets = [torch.zeros(4, 16, dtype=torch.uint8) for _ in range(2)]
    scatter(place, targets, np.array([1]), LAYOUT)
    assert targets[0][2].tolist() == [*range(8), *range(32, 40)]
    assert targets[1][3].tolist() == [*range(24, 32), *range(56, 64)]
    assert not targets[0][:2].any()


@pytest.mark.parametrize(
    ("pages", "tokens", "width", "size", "message"),
    [
        ([0], 4, 8, 31, "32 bytes to stage, the buffer has 31"),
        ([2], 4, 8, 32, "page 2 of a region of 4 tokens"),
        ([-1], 4, 8, 32, "page -1"),
        ([254201 * 2], 4, 8, 32, "page 508402 of a region"),
        ([0], 4, 7, 32, "8 bytes of heads, a token has 7"),
    ],
)
def test_what_does_not_fit_is_an_error_and_touches_nothing(
    pages: list[int], tokens: int, width: int, size: int, message: str
) -> None:
    out = torch.zeros(size, dtype=torch.uint8)
    sources = [torch.ones(tokens, width, dtype=torch.uint8)] * 2
    with pytest.raises(ValueError, match=message):
        gather(sources, np.array(pages), out, LAYOUT)
    assert not out.any()


def test_a_place_that_is_too_small_is_an_error_and_touches_nothing() -> None:
    target = torch.zeros(4, 16, dtype=torch.uint8)
    with pytest.raises(ValueError, match="64 bytes to stage, the buffer has 63"):
        scatter(torch.ones(63, dtype=torch.uint8), [target, target], np.array([0]), LAYOUT)
    assert not target.any()


def test_memory_is_looked_at_and_not_copied() -> None:
    memory = np.zeros(100, np.uint8)
    flat = at_address(memory.ctypes.data, memory.nbytes)
    flat[7] = 9
    assert memory[7] == 9
    assert at_address(0, 0).numel() == 0


def test_regions_are_rows_of_tokens_without_the_rest() -> None:
    memory = np.arange(100, dtype=np.uint8)
    first, second = kv_regions(
        [memory.ctypes.data, memory.ctypes.data + 50], [50, 50], token_bytes=16
    )
    assert first.shape == (3, 16)
    assert second[0].tolist() == list(range(50, 66))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_cuda_device_gives_the_same_bytes() -> None:
    pool = np.random.default_rng(1).integers(0, 256, (2, 16, 8), np.uint8)
    pages = np.array([5, 1, 7])
    places = {}
    for device in ("cpu", "cuda:0"):
        sources = [torch.from_numpy(slot).to(device) for slot in pool]
        out = torch.zeros(LAYOUT.chunk_bytes(3), dtype=torch.uint8, device=device)
        gather(sources, pages, out, LAYOUT)
        targets = [torch.zeros(16, 16, dtype=torch.uint8, device=device) for _ in range(2)]
        held = [at_address(t.data_ptr(), t.numel(), device).view(16, 16) for t in targets]
        scatter(out, held, pages, LAYOUT)
        places[device] = [out.cpu(), *(target.cpu() for target in targets)]
    assert all(map(torch.equal, places["cpu"], places["cuda:0"]))
