"""``python -m pdwire_conformance.bench.target BACKEND BYTES``: memory that an engine writes into.

Prints one JSON line with session id, metadata and address, then waits for the end of its
input. It is the receiving process of the bare engine's measurement.
"""

from __future__ import annotations

import json
import os
import sys

import numpy as np

from pdwire.engines import Engine, Region

__all__ = ["engine_of", "main"]


def engine_of(backend: str) -> Engine:
    """A new engine of a backend."""
    if backend == "mooncake":
        os.environ.setdefault("MC_LOG_LEVEL", "ERROR")  # its log would bury the results
        from pdwire.engines.mooncake import MooncakeEngine  # noqa: PLC0415  # an extra

        return MooncakeEngine("127.0.0.1")
    # NIXL's own log goes to standard output, which is for results here.
    os.environ.setdefault("NIXL_LOG_LEVEL", "WARN")
    from pdwire.engines.nixl import NixlEngine  # noqa: PLC0415  # an extra

    return NixlEngine()


def main() -> None:
    """Register, say where, wait."""
    backend, size = sys.argv[1], int(sys.argv[2])
    memory = np.zeros(size, np.uint8)
    engine = engine_of(backend)
    engine.register([Region(address=memory.ctypes.data, length=memory.nbytes)])
    told = {
        "session": engine.session_id,
        "metadata": engine.metadata.hex(),
        "address": memory.ctypes.data,
    }
    sys.stdout.write("@" + json.dumps(told) + "\n")
    sys.stdout.flush()
    sys.stdin.read()
    engine.close()


if __name__ == "__main__":
    main()
