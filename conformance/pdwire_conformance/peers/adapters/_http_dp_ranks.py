"""Which prefill DP rank serves a room: the three bodies that say and ask it (0.5.10 on)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pdwire_conformance.peers.errors import Unavailable
from pdwire_conformance.peers.registry import Decoder, Encoder, Values
from pdwire_conformance.peers.standins import StandIn

from ._http_side import ADDRESS, Http, body_of, handled, json_request

Call = Callable[[], list[bytes]]


def _dp_ranks(http: Http) -> Http:
    if not http.knows_dp_ranks:
        raise Unavailable(f"{http.peer.release} has no table of DP ranks")
    return http


def register_dp_rank_encoder(http: Http) -> Encoder:
    """A sender says which DP rank it runs on."""
    _dp_ranks(http)

    def prepare(values: Values) -> Call:
        sender = http.sender(
            bootstrap_server_url=ADDRESS,
            bootstrap_room=values["bootstrap_room"],
            kv_mgr=StandIn(attn_dp_rank=values["dp_rank"]),
        )
        return lambda: [body_of(http.sent(sender._register_prefill_dp_rank))]

    return Encoder(prepare=prepare)


def register_dp_rank_decoder(http: Http) -> Decoder:
    """The server notes a room's DP rank."""
    _dp_ranks(http)

    def prepare(frames: list[bytes]) -> Callable[[], Any]:
        server = http.server()
        request, _ = json_request("POST", frames[0])

        def call() -> dict[int, Any]:
            handled(server._handle_register_dp_rank, request)
            table: dict[int, Any] = server.room_to_dp_rank
            return table

        return call

    def read(table: dict[int, Any]) -> Values:
        ((room, entry),) = table.items()
        return {"bootstrap_room": room, "dp_rank": entry["dp_rank"]}

    return Decoder(prepare=prepare, read=read)


def _query_rooms(http: Http, rooms: list[int]) -> Callable[[], Any]:
    receiver = type(http.receiver())
    return lambda: receiver.query_prefill_dp_ranks(ADDRESS, rooms)


def query_dp_ranks_encoder(http: Http) -> Encoder:
    """A decode side asks about rooms."""
    _dp_ranks(http)
    return Encoder(
        prepare=lambda values: (
            lambda: [body_of(http.sent(_query_rooms(http, values["bootstrap_rooms"])))]
        )
    )


def query_dp_ranks_decoder(http: Http) -> Decoder:
    """The server looks rooms up: which ones is what it has read."""
    _dp_ranks(http)

    def prepare(frames: list[bytes]) -> Callable[[], Any]:
        asked = _Asked()
        server = http.server(room_to_dp_rank=asked)
        request, _ = json_request("POST", frames[0])

        def call() -> list[int]:
            asked.rooms.clear()
            handled(server._handle_query_dp_ranks, request)
            return asked.rooms

        return call

    return Decoder(prepare=prepare, read=lambda rooms: {"bootstrap_rooms": rooms})


class _Asked:
    """A table without rooms; it notes which ones are looked for."""

    def __init__(self) -> None:
        self.rooms: list[int] = []

    def __contains__(self, room: int) -> bool:
        self.rooms.append(room)
        return False


def query_dp_ranks_rsp_encoder(http: Http) -> Encoder:
    """The server answers for the rooms that it knows."""
    _dp_ranks(http)

    def prepare(values: Values) -> Call:
        ranks = {int(room): rank for room, rank in values["dp_ranks"].items()}
        server = http.server(room_to_dp_rank={room: {"dp_rank": ranks[room]} for room in ranks})
        body = json.dumps({"bootstrap_rooms": list(ranks)}).encode()
        request, _ = json_request("POST", body)
        return lambda: [handled(server._handle_query_dp_ranks, request)]

    return Encoder(prepare=prepare)


def query_dp_ranks_rsp_decoder(http: Http) -> Decoder:
    """A decode side learns the DP ranks of the rooms that it asked about."""
    _dp_ranks(http)
    ask = _query_rooms(http, [])
    return Decoder(
        prepare=lambda frames: lambda: http.answered(ask, frames[0]),
        read=lambda ranks: {"dp_ranks": ranks},
    )
