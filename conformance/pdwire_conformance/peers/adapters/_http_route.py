"""The bodies and queries of ``/route``: registering a prefill rank, and asking for one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from pdwire_conformance.peers.errors import InexpressibleError
from pdwire_conformance.peers.registry import Decoder, Encoder, Values
from pdwire_conformance.peers.standins import StandIn

from ._http_side import (
    ADDRESS,
    Equal,
    Http,
    RefusedError,
    body_of,
    handled,
    json_request,
    query_of,
    query_request,
)

Call = Callable[[], list[bytes]]

_RANKS = ("prefill_dp_rank", "prefill_cp_rank", "target_tp_rank", "target_pp_rank")
_OLD_NAMES = {
    "prefill_attn_tp_size": "attn_tp_size",
    "prefill_dp_size": "dp_size",
    "prefill_pp_size": "pp_size",
    "prefill_page_size": "page_size",
}
_SERVER_INFO = (
    *("attn_tp_size", "attn_cp_size", "dp_size", "pp_size", "page_size", "kv_cache_dtype"),
    *("follow_bootstrap_room", "enable_dsa_cache_layer_split", "dsv41_spec_layout", "kv_layout"),
    *("decode_allocation_policy", "enable_kv_cache_sharding", "prefill_http_port"),
)
_KEPT_BY_SERVER = (
    *("attn_tp_size", "attn_cp_size", "pp_size", "page_size", "kv_cache_dtype", "kv_layout"),
    *("prefill_http_port", "dsv41_spec_layout", "decode_allocation_policy"),
    *("enable_dsa_cache_layer_split", "enable_kv_cache_sharding"),
)


def _is_no_answer(info: Any) -> bool:
    """How releases before 0.5.10 say that they could not use what came."""
    return isinstance(info, tuple) and None in info


# -- PUT /route -------------------------------------------------------------------------


def route_put_encoder(http: Http) -> Encoder:
    """A prefill manager registers."""

    def prepare(values: Values) -> Call:
        if values.get("role", "Prefill") != "Prefill":
            raise InexpressibleError("only a prefill rank registers")
        manager = http.manager(**_registrant(values))
        public = hasattr(type(manager), "register_to_bootstrap")
        register = manager.register_to_bootstrap if public else manager._register_to_bootstrap

        def call() -> list[bytes]:
            with http.globals(**_getters(values)):
                return [body_of(http.sent(register))]

        return call

    return Encoder(prepare=prepare)


def _registrant(values: Values) -> dict[str, Any]:
    """The attributes from which a manager builds its registration, by release."""
    own = ("role", "rank_ip", "page_size", "load_balance_method", "kv_cache_dtype")
    plain = {name: value for name, value in values.items() if name not in own}
    settings = StandIn(
        kv_cache_dtype=values.get("kv_cache_dtype"),
        load_balance_method=values.get("load_balance_method"),
        enable_dsa_cache_layer_split=values.get("enable_dsa_cache_layer_split"),
        port=values.get("prefill_http_port"),
    )
    return plain | {
        "local_ip": values["rank_ip"],
        "kv_args": StandIn(page_size=values.get("page_size")),
        "kv_cache_dtype_str": values.get("kv_cache_dtype"),
        "server_args": settings,
        "dist_init_addr": None,
        "bootstrap_host": "127.0.0.1",
        "bootstrap_port": 1,
    }


def _getters(values: Values) -> dict[str, Callable[[], StandIn]]:
    """The process-wide settings of later releases, as far as a registration reads them."""
    parallel = StandIn(
        load_balance_method=values.get("load_balance_method"),
        enable_dsa_cache_layer_split=values.get("enable_dsa_cache_layer_split"),
        enable_kv_cache_sharding=values.get("enable_kv_cache_sharding"),
        enable_cp_tp_group_sharing=False,
    )
    policy = values.get("decode_allocation_policy")
    return {
        "get_parallel": lambda: parallel,
        "get_serving": lambda: StandIn(port=values.get("prefill_http_port")),
        "get_disagg": lambda: StandIn(disaggregation_decode_allocation_policy=policy),
    }


def route_put_decoder(http: Http) -> Decoder:
    """The server takes a registration in."""

    def prepare(frames: list[bytes]) -> Callable[[], Any]:
        server = http.server()
        request, keys = json_request("PUT", frames[0])

        def call() -> tuple[Any, Mapping[str, Any]]:
            handled(server._handle_route, request)
            return server, keys.read

        return call

    return Decoder(prepare=prepare, read=_registered)


def _registered(result: tuple[Any, Mapping[str, Any]]) -> Values:
    server, read = result
    known = {name: getattr(server, name) for name in _KEPT_BY_SERVER if name in read}
    return dict(read) | known | _entry(server.prefill_port_table)


def _entry(table: Any) -> Values:
    """Address of the one rank in the server's table, however deep it nests."""
    while isinstance(table, dict) and "rank_ip" not in table:
        if not table:
            return {}
        (table,) = table.values()
    entry = table if isinstance(table, dict) else dataclasses.asdict(table)
    return {"rank_ip": entry["rank_ip"], "rank_port": entry["rank_port"]}


# -- GET /route -------------------------------------------------------------------------


def route_get_encoder(http: Http) -> Encoder:
    """A receiver asks for a rank, or with -1 throughout for the prefill side."""

    def prepare(values: Values) -> Call:
        ranks = [values[name] for name in _asked(http)]
        ask = _ask_for_rank(http, ranks) if any(rank != -1 for rank in ranks) else _ask(http)
        return lambda: [query_of(http.sent(ask))]

    return Encoder(prepare=prepare)


def _asked(http: Http) -> tuple[str, ...]:
    """The ranks of a query in the order in which the release's receiver takes them."""
    if http.knows_dp_ranks:
        return _RANKS
    return ("target_tp_rank", "prefill_dp_rank", "target_pp_rank")


def _ask_for_rank(http: Http, ranks: list[int]) -> Callable[[], Any]:
    receiver = http.receiver()
    return lambda: receiver._get_bootstrap_info_from_server(*ranks)


def _ask(http: Http, keep: Callable[[Any], None] = lambda _: None) -> Callable[[], Any]:
    """The release's request for the prefill side; ``keep`` gets what it makes of the answer."""
    receiver = http.receiver()
    if hasattr(type(receiver), "_get_prefill_parallel_info_from_server"):
        return lambda: keep(receiver._get_prefill_parallel_info_from_server())
    agrees = Equal()
    manager = http.manager(
        prefill_info_table={},
        kv_args=StandIn(page_size=agrees),
        server_args=StandIn(kv_cache_dtype=agrees, enable_hisparse=False),
        kv_cache_dtype_str=agrees,
        kv_layout=agrees,
        dsv41_spec_layout=agrees,
        attn_tp_size=agrees,
        attn_cp_size=agrees,
        is_mla_backend=True,
        is_hybrid_mla_backend=False,
        dcp_size=1,
        _resolve_rank_mapping=keep,
    )
    return lambda: manager.try_ensure_parallel_info(ADDRESS) or None


def route_get_decoder(http: Http) -> Decoder:
    """The server looks a rank up: which one it looks for is what it has read."""

    def prepare(frames: list[bytes]) -> Callable[[], Any]:
        looked_up: list[int] = []
        one = dict.fromkeys(("attn_tp_size", "attn_cp_size", "dp_size", "pp_size"), 1)
        table = _Table(http, looked_up)
        server = http.server(**one, prefill_port_table=table, _is_ready=lambda: True)
        request = query_request(frames[0])

        def call() -> list[int]:
            looked_up.clear()
            handled(server._handle_route, request)
            return looked_up

        return call

    def read(looked_up: list[int]) -> Values:
        names = _RANKS if http.knows_dp_ranks else tuple(n for n in _RANKS if "cp" not in n)
        ranks = looked_up or [-1] * len(names)
        return dict(zip(names, ranks, strict=True)) | {"asks_server_info": not looked_up}

    return Decoder(prepare=prepare, read=read)


class _Table:
    """A table of every rank; it notes the way to the one that is looked up."""

    def __init__(self, http: Http, path: list[int]) -> None:
        self._http = http
        self._path = path

    def __getitem__(self, rank: int) -> Any:
        self._path.append(rank)
        return self if len(self._path) < len(_asked(self._http)) else _rank_info(self._http)


def _rank_info(http: Http, address: str = "127.0.0.1", port: int = 1) -> Any:
    kind = getattr(http.module, "PrefillRankInfo", dict)
    return kind(rank_ip=address, rank_port=port)


def rank_info_encoder(http: Http) -> Encoder:
    """The server answers for the one rank that it knows."""

    def prepare(values: Values) -> Call:
        info = _rank_info(http, values["rank_ip"], values["rank_port"])
        table = {0: {0: {0: {0: info} if http.knows_dp_ranks else info}}}
        server = http.server(prefill_port_table=table, _is_ready=lambda: True)
        request = query_request(_query(http, 0))
        return lambda: [handled(server._handle_route, request)]

    return Encoder(prepare=prepare)


def _query(http: Http, rank: int) -> bytes:
    """The release's own query with one number for every rank."""
    count = len(_asked(http))
    return query_of(http.sent(_ask_for_rank(http, [rank] * count)))


def rank_info_decoder(http: Http) -> Decoder:
    """A receiver learns where a rank listens."""

    def prepare(frames: list[bytes]) -> Callable[[], Any]:
        ask = _ask_for_rank(http, [0] * len(_asked(http)))
        return lambda: http.answered(ask, frames[0])

    def read(info: dict[str, Any] | None) -> Values:
        if info is None or not {"rank_ip", "rank_port"} <= info.keys():
            raise RefusedError("the receiver needs an address and a port")
        return {"rank_ip": info["rank_ip"], "rank_port": info["rank_port"]}

    return Decoder(prepare=prepare, read=read)


def server_info_encoder(http: Http) -> Encoder:
    """The server describes the prefill side."""

    def prepare(values: Values) -> Call:
        server = http.server(**values, _is_ready=lambda: True)
        request = query_request(_query(http, -1))
        return lambda: [handled(server._handle_route, request)]

    return Encoder(prepare=prepare)


def server_info_decoder(http: Http) -> Decoder:
    """A decode side learns what the prefill side looks like."""

    def prepare(frames: list[bytes]) -> Callable[[], Any]:
        kept: list[Any] = []
        ask = _ask(http, kept.append)

        def call() -> Any:
            kept.clear()
            http.answered(ask, frames[0])
            if not kept or _is_no_answer(kept[0]):
                raise RefusedError("the decode side takes the answer for none")
            return kept[-1]

        return call

    def read(info: Any) -> Values:
        if isinstance(info, tuple):
            return dict(zip(_OLD_NAMES.values(), info, strict=False))
        return {name: getattr(info, name) for name in _SERVER_INFO if hasattr(info, name)}

    return Decoder(prepare=prepare, read=read)
