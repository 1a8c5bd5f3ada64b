"""What decoding a big array allocates, and whether it copies it."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass
from typing import Any

import numpy as np

from pdwire.codec import Codec
from pdwire_conformance.bench.measure import quiet

__all__ = ["Memory", "memory"]

_ARRAY = "dst_kv_indices"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One decode of metadata.

    Attributes:
        backend: whose layout.
        array_bytes: size of the index array in the frame.
        shares_memory: the decoded array looks into the frame itself.
        peak_bytes: the most that was allocated at once while decoding, message included.
    """

    backend: str
    array_bytes: int
    shares_memory: bool
    peak_bytes: int


def memory(codec: Codec[Any], frames: list[bytes]) -> Memory:
    """Decode once, watched; what is remembered between messages is remembered before."""
    codec.decode(frames)
    with quiet():
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            message = codec.decode(frames)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    indices = getattr(message, _ARRAY)
    frame = next(frame for frame in frames if len(frame) == indices.nbytes)
    return Memory(
        backend=codec.backend,
        array_bytes=indices.nbytes,
        shares_memory=np.shares_memory(indices, np.frombuffer(frame, np.uint8)),
        peak_bytes=peak - before,
    )
