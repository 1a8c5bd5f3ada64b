"""KV_STATUS: its message and the codec of every layout.

GENERATED from protocol/mori/kv_status.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from typing import Any, Final

from pdwire.codec import Codec
from pdwire.wire.mori.kv_status import r1
from pdwire.wire.mori.kv_status.message import KVStatus

__all__ = ["CODECS", "KVStatus"]

CODECS: Final[tuple[Codec[Any], ...]] = (
    Codec(
        backend="mori",
        message="KV_STATUS",
        layout="r1",
        releases=(
            "0.5.9",
            "0.5.10",
            "0.5.10.post1",
            "0.5.11",
            "0.5.12",
            "0.5.12.post1",
            "0.5.13",
            "0.5.13.post1",
            "0.5.14",
            "0.5.15",
            "0.5.15.post1",
            "0.5.16",
            "0.5.17",
            "0.5.18",
            "0.5.19",
            "0.5.20",
            "0.5.21",
            "0.5.22",
            "0.5.23",
        ),
        directions=("prefill -> decode",),
        transport="zmq",
        guard=b"MoriMsgGuard",
        lead=((0, b"MoriMsgGuard"),),
        number=None,
        counts=(4,),
        fields=("room", "status", "prefill_rank", "failure_reason"),
        fingerprint="061f0152d4c9a44a85460764938acb79a279b9ed12344d19708d45daaa272be2",
        cls=KVStatus,
        decode=r1.decode,
        encode=r1.encode,
    ),
)
KVStatus.newest = CODECS[0]
