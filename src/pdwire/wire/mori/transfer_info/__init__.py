"""TransferInfo: its message and the codec of every layout.

GENERATED from protocol/mori/transfer_info.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from typing import Any, Final

from pdwire.codec import Codec
from pdwire.wire.mori.transfer_info import r1, r2, r3, r4
from pdwire.wire.mori.transfer_info.message import TransferInfo

__all__ = ["CODECS", "TransferInfo"]

CODECS: Final[tuple[Codec[Any], ...]] = (
    Codec(
        backend="mori",
        message="TransferInfo",
        layout="r1",
        releases=("0.5.9", "0.5.10", "0.5.10.post1", "0.5.11"),
        directions=("decode -> prefill",),
        transport="zmq",
        guard=b"MoriMsgGuard",
        lead=((0, b"MoriMsgGuard"),),
        number=1,
        counts=(8,),
        fields=(
            "room",
            "endpoint",
            "dst_port",
            "engine_key",
            "dst_kv_indices",
            "dst_aux_index",
            "required_dst_info_num",
        ),
        fingerprint="b3717a12d6aec8a97f1c6cb7fecae06168978f7bf80820b865bf5e0606d27e14",
        cls=TransferInfo,
        decode=r1.decode,
        encode=r1.encode,
    ),
    Codec(
        backend="mori",
        message="TransferInfo",
        layout="r2",
        releases=("0.5.12", "0.5.12.post1"),
        directions=("decode -> prefill",),
        transport="zmq",
        guard=b"MoriMsgGuard",
        lead=((0, b"MoriMsgGuard"),),
        number=1,
        counts=(8,),
        fields=(
            "room",
            "endpoint",
            "dst_port",
            "engine_key",
            "dst_kv_indices",
            "dst_aux_index",
            "dst_state_indices",
            "required_dst_info_num",
        ),
        fingerprint="c5200dbfc079b620348a35fecddf7fac0ed2886923835cdfb52665534f65f5d5",
        cls=TransferInfo,
        decode=r2.decode,
        encode=r2.encode,
    ),
    Codec(
        backend="mori",
        message="TransferInfo",
        layout="r3",
        releases=("0.5.13", "0.5.13.post1"),
        directions=("decode -> prefill",),
        transport="zmq",
        guard=b"MoriMsgGuard",
        lead=((0, b"MoriMsgGuard"),),
        number=1,
        counts=(8,),
        fields=(
            "room",
            "endpoint",
            "dst_port",
            "engine_key",
            "dst_kv_indices",
            "dst_aux_index",
            "dst_state_indices",
            "required_dst_info_num",
        ),
        fingerprint="af05130461318b669ee30b4ee7b8a6e5d21e55ccc0dc5f3d4117951fea4a4287",
        cls=TransferInfo,
        decode=r3.decode,
        encode=r3.encode,
    ),
    Codec(
        backend="mori",
        message="TransferInfo",
        layout="r4",
        releases=(
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
        directions=("decode -> prefill",),
        transport="zmq",
        guard=b"MoriMsgGuard",
        lead=((0, b"MoriMsgGuard"),),
        number=1,
        counts=(9,),
        fields=(
            "room",
            "endpoint",
            "dst_port",
            "engine_key",
            "dst_kv_indices",
            "dst_aux_index",
            "dst_state_indices",
            "required_dst_info_num",
            "decode_prefix_len",
        ),
        fingerprint="5f6c752960ae5532b957e65a36b8f6ae4d07278bd2f6cd7ed936fb1908236a7f",
        cls=TransferInfo,
        decode=r4.decode,
        encode=r4.encode,
    ),
)
TransferInfo.newest = CODECS[3]
