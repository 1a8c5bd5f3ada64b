"""What both sides of ``pdwire bench sick`` are made of: small pages, one region, real engines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdwire.engines import NixlEngine
from pdwire.frames import I32Array
from pdwire.managers import (
    DisaggregationMode,
    KVArgs,
    ManagerConfig,
    MooncakeKVManager,
    NixlKVManager,
)

__all__ = ["DEADLINE_S", "PAGES", "make", "pages_of"]

PAGES, PAGE = 512, 8 << 10
"""Pages of a rank, and bytes of each."""
DEADLINE_S = 60.0


def make(backend: str, role: str, content: int) -> tuple[NDArray[np.uint8], Any]:
    """Memory full of one number, and a manager of it with the backend's own engine."""
    memory = np.full((PAGES, PAGE), content, np.uint8)
    row = np.zeros((4, 64), np.uint8)
    args = KVArgs(
        kv_data_ptrs=(memory.ctypes.data,),
        kv_data_lens=(memory.nbytes,),
        kv_item_lens=(PAGE,),
        aux_data_ptrs=(row.ctypes.data,),
        aux_data_lens=(row.nbytes,),
        aux_item_lens=(64,),
        page_size=16,
    )
    manager = NixlKVManager if backend == "nixl" else MooncakeKVManager
    # A decode rank writes nothing: UCX's workers would only spin, in nine processes.
    engine = NixlEngine(threads=0) if (backend, role) == ("nixl", "decode") else None
    made = manager(args, DisaggregationMode(role), ManagerConfig(is_mla=True), engine=engine)
    vars(made)["bench_memory"] = memory, row  # lives as long as the manager
    return memory, made


def pages_of(count: int) -> I32Array:
    """Every page of so many, in an order that nothing merges."""
    return np.random.default_rng(3).permutation(PAGES)[:count].astype(np.int32)
