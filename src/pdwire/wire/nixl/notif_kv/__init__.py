"""NOTIF_KV: its message and the codec of every layout.

GENERATED from protocol/nixl/notif_kv.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from typing import Any, Final

from pdwire.codec import Codec
from pdwire.wire.nixl.notif_kv import r1, r2, r3
from pdwire.wire.nixl.notif_kv.message import NotifKV

__all__ = ["CODECS", "NotifKV"]

CODECS: Final[tuple[Codec[Any], ...]] = (
    Codec(
        backend="nixl",
        message="NOTIF_KV",
        layout="r1",
        releases=("0.5.6", "0.5.6.post1", "0.5.6.post2"),
        directions=("prefill -> decode",),
        transport="notification",
        guard=None,
        lead=(),
        number=None,
        counts=(1,),
        fields=("room", "chunk_id", "is_last"),
        fingerprint="6cbc142ba3b9b3fee5384f0dafeffc7f8961d07f2f550b324e90361a00a63aa2",
        cls=NotifKV,
        decode=r1.decode,
        encode=r1.encode,
    ),
    Codec(
        backend="nixl",
        message="NOTIF_KV",
        layout="r2",
        releases=(
            "0.5.7",
            "0.5.8",
            "0.5.8.post1",
            "0.5.9",
            "0.5.10",
            "0.5.10.post1",
            "0.5.11",
            "0.5.12",
            "0.5.12.post1",
            "0.5.13",
            "0.5.13.post1",
            "0.5.14",
        ),
        directions=("prefill -> decode",),
        transport="notification",
        guard=None,
        lead=(),
        number=None,
        counts=(1,),
        fields=("room", "chunk_id", "is_last", "pp_rank"),
        fingerprint="3620c1c54ffbf0e2f53e639e7e0b5a0467429fab317543fd5941fe1b42450390",
        cls=NotifKV,
        decode=r2.decode,
        encode=r2.encode,
    ),
    Codec(
        backend="nixl",
        message="NOTIF_KV",
        layout="r3",
        releases=(
            "0.5.15",
            "0.5.15.post1",
            "0.5.16",
            "0.5.17",
            "0.5.18",
            "0.5.19",
            "0.5.20",
            "0.5.21",
            "0.5.22",
        ),
        directions=("prefill -> decode",),
        transport="notification",
        guard=None,
        lead=(),
        number=None,
        counts=(1,),
        fields=("room", "chunk_id", "is_last", "pp_rank", "part_idx", "num_parts"),
        fingerprint="d0e4ad8dcd30db380daa802a067138ee0d2bda1e620aa6169bfc62bef564718d",
        cls=NotifKV,
        decode=r3.decode,
        encode=r3.encode,
    ),
)
NotifKV.newest = CODECS[2]
