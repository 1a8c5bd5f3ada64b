"""KV_STATUS: its message and the codec of every layout.

GENERATED from protocol/nixl/kv_status.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from typing import Any, Final

from pdwire.codec import Codec
from pdwire.wire.nixl.kv_status import r1
from pdwire.wire.nixl.kv_status.message import KVStatus

__all__ = ["CODECS", "KVStatus"]

CODECS: Final[tuple[Codec[Any], ...]] = (
    Codec(
        backend="nixl",
        message="KV_STATUS",
        layout="r1",
        releases=("0.5.20", "0.5.21", "0.5.22", "0.5.23"),
        directions=("prefill -> decode",),
        transport="zmq",
        guard=None,
        lead=((0, b"KV_STATUS"),),
        number=None,
        counts=(5,),
        fields=("room", "status", "prefill_rank", "failure_reason"),
        fingerprint="558881c0f164b3dd6fe4e3fc2a6177b5ab95586f86152710ed7dbf11b6072ed4",
        cls=KVStatus,
        decode=r1.decode,
        encode=r1.encode,
    ),
)
KVStatus.newest = CODECS[0]
