"""NOTIF_AUX: its message and the codec of every layout.

GENERATED from protocol/nixl/notif_aux.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from typing import Any, Final

from pdwire.codec import Codec
from pdwire.wire.nixl.notif_aux import r1, r2, r3
from pdwire.wire.nixl.notif_aux.message import NotifAux

__all__ = ["CODECS", "NotifAux"]

CODECS: Final[tuple[Codec[Any], ...]] = (
    Codec(
        backend="nixl",
        message="NOTIF_AUX",
        layout="r1",
        releases=(
            "0.5.6",
            "0.5.6.post1",
            "0.5.6.post2",
            "0.5.7",
            "0.5.8",
            "0.5.8.post1",
            "0.5.9",
            "0.5.10",
            "0.5.10.post1",
        ),
        directions=("prefill -> decode",),
        transport="notification",
        guard=None,
        lead=(),
        number=None,
        counts=(1,),
        fields=("room",),
        fingerprint="1403cf8aa6bccff9001ea907f3e1cb386d57b98229c2a747df80457e1846950a",
        cls=NotifAux,
        decode=r1.decode,
        encode=r1.encode,
    ),
    Codec(
        backend="nixl",
        message="NOTIF_AUX",
        layout="r2",
        releases=(
            "0.5.11",
            "0.5.12",
            "0.5.12.post1",
            "0.5.13",
            "0.5.13.post1",
            "0.5.14",
            "0.5.15",
            "0.5.15.post1",
            "0.5.16",
        ),
        directions=("prefill -> decode",),
        transport="notification",
        guard=None,
        lead=(),
        number=None,
        counts=(1,),
        fields=("room", "pp_rank"),
        fingerprint="266b0ad0041300aabeff8d4c1fbed9637815e7cfed865f841f40a5c8c80d0c9f",
        cls=NotifAux,
        decode=r2.decode,
        encode=r2.encode,
    ),
    Codec(
        backend="nixl",
        message="NOTIF_AUX",
        layout="r3",
        releases=("0.5.17", "0.5.18", "0.5.19", "0.5.20", "0.5.21", "0.5.22"),
        directions=("prefill -> decode",),
        transport="notification",
        guard=None,
        lead=(),
        number=None,
        counts=(1,),
        fields=("room", "pp_rank", "expected"),
        fingerprint="2290af357ecc4d0d1a692a40b4358fe21262513caaaf840a1122747b899735b1",
        cls=NotifAux,
        decode=r3.decode,
        encode=r3.encode,
    ),
)
NotifAux.newest = CODECS[2]
