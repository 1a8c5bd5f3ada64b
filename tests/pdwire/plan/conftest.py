"""Memory that plans are carried out in: plain arrays, an address is an index."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from pdwire.plan import Blocks

Bytes = NDArray[np.uint8]
Carry = Callable[[Blocks, Bytes, Bytes], None]


def carry_out(blocks: Blocks, source: Bytes, target: Bytes) -> None:
    """Copies every block; a range that leaves an array, or a byte written twice, is a failure."""
    written = np.zeros(len(target), bool)
    arrays = (blocks.src, blocks.dst, blocks.size)
    for src, dst, size in zip(*(array.tolist() for array in arrays), strict=True):
        assert size
        assert src + size <= len(source)
        assert dst + size <= len(target)
        assert not written[dst : dst + size].any()
        written[dst : dst + size] = True
        target[dst : dst + size] = source[src : src + size]


@pytest.fixture(scope="session")
def carry() -> Carry:
    return carry_out
