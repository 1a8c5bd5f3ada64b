"""NOTIF_STG: its message and the codec of every layout.

GENERATED from protocol/nixl/notif_stg.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from typing import Any, Final

from pdwire.codec import Codec
from pdwire.wire.nixl.notif_stg import r1
from pdwire.wire.nixl.notif_stg.message import NotifStg

__all__ = ["CODECS", "NotifStg"]

CODECS: Final[tuple[Codec[Any], ...]] = (
    Codec(
        backend="nixl",
        message="NOTIF_STG",
        layout="r1",
        releases=(
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
        ),
        directions=("prefill -> decode",),
        transport="notification",
        guard=None,
        lead=(),
        number=None,
        counts=(1,),
        fields=(
            "room",
            "chunk_id",
            "is_last",
            "pp_rank",
            "chunk_idx",
            "page_start",
            "num_pages",
            "agent_name",
        ),
        fingerprint="13fd62d1b8a73f4977ac02d3cf039519b8ff15080574534c5cbbdc2263e06d64",
        cls=NotifStg,
        decode=r1.decode,
        encode=r1.encode,
    ),
)
NotifStg.newest = CODECS[0]
