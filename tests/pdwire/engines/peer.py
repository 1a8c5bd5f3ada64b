"""The other process of a real engine's test: one engine, one buffer, commands on stdin.

``python peer.py ENGINE BYTES NAME`` prints its session id, metadata and buffer as one JSON line,
then answers one JSON line per command: ``sum`` (CRC of the buffer), ``take`` (notifications). NAME
is NIXL's agent name, or empty. Whoever closes its stdin, or kills it, ends it.
"""

from __future__ import annotations

import json
import os
import sys
import zlib

import numpy as np
from numpy.typing import NDArray

from pdwire.engines import Engine, MooncakeEngine, NixlEngine, Region


def make(engine: str, name: str) -> Engine:
    if engine == "mooncake":
        return MooncakeEngine("127.0.0.1")
    return NixlEngine(name or None, threads=0)


def answer(engine: Engine, memory: NDArray[np.uint8], command: str) -> object:
    if command == "sum":
        return zlib.crc32(memory.data)
    return [(name, text.decode()) for name, text in engine.notifications()]


def main(kind: str, size: int, name: str) -> None:
    # Native libraries log to stdout as they please: answers go where they cannot.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    engine, memory = make(kind, name), np.zeros(size, np.uint8)
    address = int(memory.ctypes.data)
    engine.register([Region(address=address, length=size)])
    hello = [engine.session_id, engine.metadata.hex(), address]
    print(json.dumps(hello), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(engine, memory, line.strip())), file=out, flush=True)
    engine.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
