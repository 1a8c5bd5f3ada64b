"""Recorded vectors: what a release sent and read, small enough to keep beside the tests.

One file per release. A vector is a message's frames, who made them, and the values that
the release itself reads in them. Frames that come from the release's own encoder say
``"by": "peer"``; where it has none, ours were read by its decoder.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pdwire.wire import layout as codec_for
from pdwire_conformance.peers.client import Peer
from pdwire_conformance.peers.errors import InexpressibleError, PeerError

from .check import Pair
from .convert import from_message, to_message
from .spec import messages_of

__all__ = ["SCHEMA", "VECTORS", "read_vectors", "record_release", "write_vectors"]

SCHEMA = "pdwire.vectors/1"
VECTORS = Path(__file__).parent.parent / "vectors" / "recorded"

Vector = dict[str, Any]
_PER_MESSAGE = 2
_LARGEST = 600


def record_release(peer: Peer, seed: int = 1) -> Iterator[Vector]:
    """A few small vectors of every message of every backend but the inheriting ones."""
    for backend, can in peer.hello()["backends"].items():
        if backend == "ascend":  # the very frames of Mooncake
            continue
        for message, layout in messages_of(backend, peer.release):
            name = message["name"]
            if name in can["encode"] or name in can["decode"]:
                pair = Pair(peer, backend, name, seed)
                base = {"backend": backend, "message": name, "layout": layout["id"]}
                for found in _vectors(pair, by_peer=name in can["encode"]):
                    yield base | found


def _vectors(pair: Pair, *, by_peer: bool) -> Iterator[Vector]:
    kept = 0
    for _ in range(40):
        for values in (pair.draw() for _ in range(50)):
            frames = _frames(pair, values, by_peer=by_peer)
            if frames is None or sum(map(len, frames)) > _LARGEST:
                continue
            read = pair.read([frames])[0]
            expected = read if isinstance(read, dict) else None
            if pair.reads and expected is None:
                continue
            ours = from_message(pair.codec.decode(frames))
            yield {
                "by": "peer" if by_peer else "ours",
                "frames": [frame.hex() for frame in frames],
                "values": {name: value for name, value in values.items() if name in ours},
                "peer_reads": expected,
            }
            kept += 1
            if kept == _PER_MESSAGE:
                return


def _frames(pair: Pair, values: dict[str, Any], *, by_peer: bool) -> list[bytes] | None:
    if not by_peer:
        codec = codec_for(pair.backend, pair.name, release=pair.peer.release)
        return codec.encode(to_message(codec, values))
    answer = pair.ask("encode", [{"values": pair.whole(values)}])[0]
    if isinstance(answer, InexpressibleError | PeerError):
        return None
    return [bytes(frame) for frame in answer]


def write_vectors(release: str, sha256: str, vectors: list[Vector], folder: Path = VECTORS) -> Path:
    """Write a release's file, one vector a line."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{release}.json"
    head = json.dumps({"schema": SCHEMA, "release": release, "wheel_sha256": sha256})[:-1]
    rows = [json.dumps(vector, ensure_ascii=False, separators=(",", ":")) for vector in vectors]
    path.write_text(f'{head}, "vectors": [\n' + ",\n".join(rows) + "\n]}\n", encoding="utf-8")
    return path


def read_vectors(release: str, folder: Path = VECTORS) -> list[Vector]:
    """A release's recorded vectors; ``FileNotFoundError`` when none were recorded."""
    data = json.loads((folder / f"{release}.json").read_text(encoding="utf-8"))
    if data.get("schema") != SCHEMA:
        raise ValueError(f"{release}: not {SCHEMA}")
    vectors: list[Vector] = data["vectors"]
    return vectors
