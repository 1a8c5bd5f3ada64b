"""NOTIF_STATE: its message and the codec of every layout.

GENERATED from protocol/nixl/notif_state.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from typing import Any, Final

from pdwire.codec import Codec
from pdwire.wire.nixl.notif_state import r1, r2
from pdwire.wire.nixl.notif_state.message import NotifState

__all__ = ["CODECS", "NotifState"]

CODECS: Final[tuple[Codec[Any], ...]] = (
    Codec(
        backend="nixl",
        message="NOTIF_STATE",
        layout="r1",
        releases=("0.5.9", "0.5.10", "0.5.10.post1", "0.5.11"),
        directions=("prefill -> decode",),
        transport="notification",
        guard=None,
        lead=(),
        number=None,
        counts=(1,),
        fields=("room", "pp_rank"),
        fingerprint="17c2756f6d374ad6aa992b609ef8ae9a49687ebef62999b884be7353077e57d9",
        cls=NotifState,
        decode=r1.decode,
        encode=r1.encode,
    ),
    Codec(
        backend="nixl",
        message="NOTIF_STATE",
        layout="r2",
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
        fields=("room", "pp_rank", "component"),
        fingerprint="16b96adaedc77e74e86d6dcdc39e58da6c4ac61cb8511567beaeeab1fc2551fa",
        cls=NotifState,
        decode=r2.decode,
        encode=r2.encode,
    ),
)
NotifState.newest = CODECS[1]
