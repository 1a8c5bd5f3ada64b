"""What the bootstrap server knows: the prefill side's ranks and sizes, sans IO.

The first rank that says a size of the whole prefill side settles it; a later rank that
says another one is refused, for two prefill sides at one server would be mixed up. So is a
rank outside its sizes: it would count as one of those that are waited for. A rank that
registers again (a restart) replaces its entry.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pdwire.wire.bootstrap import RoutePut, RouteRankInfo, RouteServerInfo

__all__ = ["BootstrapTable", "Refused"]

_SHARED = (
    "attn_tp_size",
    "attn_cp_size",
    "pp_size",
    "page_size",
    "kv_cache_dtype",
    "kv_layout",
    "decode_allocation_policy",
    "dsv41_spec_layout",
)

Place = tuple[int, int, int, int]


class Refused(Exception):
    """A registration or question that cannot be served; the HTTP status and why."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(slots=True)
class BootstrapTable:
    """Ranks by ``(dp, cp, tp, pp)``, and the DP rank of each room that said one."""

    most_rooms: int = 100_000
    _first: RoutePut | None = None
    _ranks: dict[Place, RouteRankInfo] = field(default_factory=dict)
    _dp_ranks: dict[int, int] = field(default_factory=dict)

    def register(self, rank: RoutePut) -> None:
        """Enter a prefill rank; ``Refused`` when it contradicts itself or those before it."""
        if rank.role != "Prefill":  # older releases let every rank register and enter only these
            return
        _inside("attn_tp", rank.attn_tp_rank, rank.attn_tp_size)
        _inside("attn_cp", rank.attn_cp_rank, rank.attn_cp_size)
        _inside("pp", rank.pp_rank, rank.pp_size)
        _inside("dp", _dp_group(rank), _dp_size(rank))
        first = self._first
        if first is not None:
            if _dp_size(first) != _dp_size(rank):
                said = f"{_dp_size(rank)}, the first rank said {_dp_size(first)}"
                raise Refused(400, f"DP size: this rank says {said}")
            for name in _SHARED:
                if getattr(first, name) != getattr(rank, name):
                    said = f"{getattr(rank, name)!r}, the first rank said {getattr(first, name)!r}"
                    raise Refused(400, f"{name}: this rank says {said}")
        self._first = first or rank
        place = (_dp_group(rank), rank.attn_cp_rank, rank.attn_tp_rank, rank.pp_rank)
        self._ranks[place] = RouteRankInfo(rank_ip=rank.rank_ip, rank_port=rank.rank_port)

    def server_info(self) -> RouteServerInfo:
        """The prefill side as a whole; ``Refused`` until every rank has registered."""
        first = self._ready()
        return RouteServerInfo(
            attn_tp_size=first.attn_tp_size,
            attn_cp_size=first.attn_cp_size,
            dp_size=_dp_size(first),
            pp_size=first.pp_size,
            page_size=first.page_size,
            kv_cache_dtype=first.kv_cache_dtype,
            follow_bootstrap_room=first.load_balance_method == "follow_bootstrap_room",
            enable_dsa_cache_layer_split=first.enable_dsa_cache_layer_split,
            kv_layout=first.kv_layout,
            dsv41_spec_layout=first.dsv41_spec_layout,
            decode_allocation_policy=first.decode_allocation_policy,
            enable_kv_cache_sharding=first.enable_kv_cache_sharding,
            prefill_http_port=first.prefill_http_port,
        )

    def rank_info(self, dp: int, cp: int, tp: int, pp: int) -> RouteRankInfo:
        """One rank's control socket; ``Refused`` (404) when there is no such rank."""
        self._ready()
        found = self._ranks.get((dp, cp, tp, pp))
        if found is None:
            raise Refused(404, f"no rank with dp {dp} cp {cp} tp {tp} pp {pp}")
        return found

    def note_dp_rank(self, room: int, dp_rank: int) -> None:
        """Remember a room's DP rank; the oldest goes when there are too many."""
        self._dp_ranks.pop(room, None)
        self._dp_ranks[room] = dp_rank
        if len(self._dp_ranks) > self.most_rooms:
            del self._dp_ranks[next(iter(self._dp_ranks))]

    def dp_ranks(self, rooms: tuple[int, ...]) -> dict[str, int]:
        """The DP ranks of those rooms that said one."""
        return {str(room): self._dp_ranks[room] for room in rooms if room in self._dp_ranks}

    def _ready(self) -> RoutePut:
        first = self._first
        known = len(self._ranks)
        if first is None:
            raise Refused(503, "no prefill rank has registered yet")
        wanted = _dp_size(first) * first.attn_cp_size * first.attn_tp_size * first.pp_size
        if known < wanted:
            raise Refused(503, f"{known} of {wanted} prefill ranks have registered")
        return first


def _inside(name: str, rank: int, size: int) -> None:
    if rank >= size:
        raise Refused(400, f"{name}_rank {rank} is outside {name}_size {size}")


def _dp_size(rank: RoutePut) -> int:
    return rank.attn_dp_size if rank.system_dp_size == 1 else rank.system_dp_size


def _dp_group(rank: RoutePut) -> int:
    return rank.attn_dp_rank if rank.system_dp_size == 1 else rank.system_dp_rank
