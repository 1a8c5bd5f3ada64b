"""The bootstrap server's HTTP bodies, written and read by the releases' own code.

Requests are written by the real clients and read by the real handlers; answers the
other way round. What a handler reads is noted key by key and joined with what the
server then knows, so that a value that it changes on the way shows. Every backend has
the same code; each is driven through its own classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pdwire_conformance.peers.loader import LoadedRelease
from pdwire_conformance.peers.registry import Decoder, Encoder, decodes, encodes

from . import _http_dp_ranks as dp_ranks
from . import _http_route as route
from ._http_side import PREFIXES, Http

_Made = TypeVar("_Made", Encoder, Decoder)

_ENCODERS: dict[str, Callable[[Http], Encoder]] = {
    "ROUTE_PUT": route.route_put_encoder,
    "ROUTE_GET": route.route_get_encoder,
    "ROUTE_RANK_INFO": route.rank_info_encoder,
    "ROUTE_SERVER_INFO": route.server_info_encoder,
    "REGISTER_DP_RANK": dp_ranks.register_dp_rank_encoder,
    "QUERY_DP_RANKS": dp_ranks.query_dp_ranks_encoder,
    "QUERY_DP_RANKS_RSP": dp_ranks.query_dp_ranks_rsp_encoder,
}
_DECODERS: dict[str, Callable[[Http], Decoder]] = {
    "ROUTE_PUT": route.route_put_decoder,
    "ROUTE_GET": route.route_get_decoder,
    "ROUTE_RANK_INFO": route.rank_info_decoder,
    "ROUTE_SERVER_INFO": route.server_info_decoder,
    "REGISTER_DP_RANK": dp_ranks.register_dp_rank_decoder,
    "QUERY_DP_RANKS": dp_ranks.query_dp_ranks_decoder,
    "QUERY_DP_RANKS_RSP": dp_ranks.query_dp_ranks_rsp_decoder,
}


def _register(backend: str) -> None:
    for message, encoder in _ENCODERS.items():
        encodes(backend, message)(_made(encoder, backend))
    for message, decoder in _DECODERS.items():
        decodes(backend, message)(_made(decoder, backend))


def _made(make: Callable[[Http], _Made], backend: str) -> Callable[[LoadedRelease], _Made]:
    return lambda peer: make(Http(peer, backend))


for _backend in PREFIXES:
    _register(_backend)
