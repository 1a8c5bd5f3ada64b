"""BOOTSTRAP: its message and the codec of every layout.

GENERATED from protocol/common/bootstrap.toml by `pdwire generate`. Do not edit.
"""

from __future__ import annotations

from typing import Any, Final

from pdwire.codec import Codec
from pdwire.wire.common.bootstrap import r1
from pdwire.wire.common.bootstrap.message import Bootstrap

__all__ = ["CODECS", "Bootstrap"]

CODECS: Final[tuple[Codec[Any], ...]] = (
    Codec(
        backend="mooncake",
        message="BOOTSTRAP",
        layout="r1",
        releases=("0.5.22", "0.5.23"),
        directions=("decode -> prefill",),
        transport="zmq",
        guard=None,
        lead=((0, b"BOOTSTRAP"),),
        number=None,
        counts=(4,),
        fields=("room", "decode_ip", "decode_port"),
        fingerprint="8a0f6d75e603e0ba1c81dfa7bbe95071279c2d569029ce73952f481496aab2cb",
        cls=Bootstrap,
        decode=r1.decode,
        encode=r1.encode,
    ),
    Codec(
        backend="ascend",
        message="BOOTSTRAP",
        layout="r1",
        releases=("0.5.22", "0.5.23"),
        directions=("decode -> prefill",),
        transport="zmq",
        guard=None,
        lead=((0, b"BOOTSTRAP"),),
        number=None,
        counts=(4,),
        fields=("room", "decode_ip", "decode_port"),
        fingerprint="8a0f6d75e603e0ba1c81dfa7bbe95071279c2d569029ce73952f481496aab2cb",
        cls=Bootstrap,
        decode=r1.decode,
        encode=r1.encode,
    ),
    Codec(
        backend="nixl",
        message="BOOTSTRAP",
        layout="r1",
        releases=("0.5.22", "0.5.23"),
        directions=("decode -> prefill",),
        transport="zmq",
        guard=None,
        lead=((0, b"BOOTSTRAP"),),
        number=None,
        counts=(4,),
        fields=("room", "decode_ip", "decode_port"),
        fingerprint="8a0f6d75e603e0ba1c81dfa7bbe95071279c2d569029ce73952f481496aab2cb",
        cls=Bootstrap,
        decode=r1.decode,
        encode=r1.encode,
    ),
    Codec(
        backend="mori",
        message="BOOTSTRAP",
        layout="r1",
        releases=("0.5.22", "0.5.23"),
        directions=("decode -> prefill",),
        transport="zmq",
        guard=None,
        lead=((0, b"BOOTSTRAP"),),
        number=None,
        counts=(4,),
        fields=("room", "decode_ip", "decode_port"),
        fingerprint="8a0f6d75e603e0ba1c81dfa7bbe95071279c2d569029ce73952f481496aab2cb",
        cls=Bootstrap,
        decode=r1.decode,
        encode=r1.encode,
    ),
)
Bootstrap.newest = CODECS[0]
