from __future__ import annotations

import pytest

from pdwire.staging import ChunkGrid, grid_pages


@pytest.mark.parametrize(
    ("tokens", "page_size", "pages"),
    [(8192, 16, 512), (None, 16, 512), (0, 1, 8192), (100, 16, 6), (8, 16, 1), (-1, 16, 1)],
)
def test_pages_of_a_chunk(tokens: int | None, page_size: int, pages: int) -> None:
    assert grid_pages(tokens, page_size) == pages


def test_a_page_has_tokens() -> None:
    with pytest.raises(ValueError, match="0 tokens"):
        grid_pages(8192, 0)


def test_chunks_cover_every_page_once_and_the_last_is_shorter() -> None:
    grid = ChunkGrid(10, 4)
    assert len(grid) == 3
    assert [list(grid.pages(index)) for index in range(3)] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9],
    ]
    assert [grid.chunk_of(page) for page in (0, 3, 4, 9)] == [0, 0, 1, 2]


def test_no_pages_are_no_chunks() -> None:
    assert len(ChunkGrid(0, 4)) == 0
    assert ChunkGrid(0, 4).whole_chunks(0) == 0


@pytest.mark.parametrize(("ready", "whole"), [(0, 0), (3, 0), (4, 1), (9, 2), (10, 3), (11, 3)])
def test_how_many_chunks_are_whole(ready: int, whole: int) -> None:
    assert ChunkGrid(10, 4).whole_chunks(ready) == whole


@pytest.mark.parametrize("index", [-1, 3, 2_000_000_000])
def test_a_chunk_outside_the_grid_is_an_error(index: int) -> None:  # S5
    with pytest.raises(IndexError, match="of 3"):
        ChunkGrid(10, 4).pages(index)


@pytest.mark.parametrize("page", [-1, 10])
def test_a_page_outside_the_grid_is_an_error(page: int) -> None:
    with pytest.raises(IndexError, match="of 10"):
        ChunkGrid(10, 4).chunk_of(page)


@pytest.mark.parametrize(("total", "chunk"), [(-1, 4), (10, 0)])
def test_a_grid_of_nonsense_is_an_error(total: int, chunk: int) -> None:
    with pytest.raises(ValueError, match="pages in chunks"):
        ChunkGrid(total, chunk)
