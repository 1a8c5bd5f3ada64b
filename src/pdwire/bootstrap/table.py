"""What the bootstrap server knows: the prefill side's ranks and sizes, sans IO.

The first rank that says a size of the whole prefill side settles it; a later rank that says
another one is refused, for two prefill sides at one server would be mixed up. So is a rank
outside its sizes: it would count as one of those that are waited for.

Who lives decides where two contradict each other. The shell asks (a connection to the control
socket) and tells: a rank takes the place of another one only when that does not answer any more,
and ranks of which none answers do not outlast one that does. A rank that has answered once and
then does not for several times in a row is taken out; one that never answered stays, for it may
be hidden from this machine.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from pdwire.wire.bootstrap import RoutePut, RouteRankInfo, RouteServerInfo

__all__ = ["TAKEN", "BootstrapTable", "Clash", "Endpoint", "Place", "Refused"]

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
_MOST_RANKS: Final = 1 << 16
"""Ranks of one prefill side at most: more than any has, and few enough to be waited for."""

TAKEN: Final = 409
"""A rank lives in the place that another one wants."""

Place = tuple[int, int, int, int]
"""DP, CP, TP and PP rank."""
Endpoint = tuple[str, int]


class Refused(Exception):
    """A registration or question that cannot be served; the HTTP status and why."""

    def __init__(self, status: int, text: str, *, gone: bool = False) -> None:
        super().__init__(text)
        self.status = status
        self.gone = gone


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """Ranks that a registration cannot stand beside, and what it is refused with if they live."""

    places: tuple[Place, ...]
    refusal: Refused


@dataclass(slots=True, kw_only=True)
class _Entry:
    """One rank: what it said, whether it ever answered, how often it has not since."""

    said: RoutePut
    answered: bool = False
    missed: int = 0

    @property
    def endpoint(self) -> Endpoint:
        return self.said.rank_ip, self.said.rank_port


@dataclass(slots=True)
class BootstrapTable:
    """Ranks by ``(dp, cp, tp, pp)``, and the DP rank of each room that said one."""

    most_rooms: int = 100_000
    most_missed: int = 3
    """Failed connections in a row after which a rank that has answered before is taken out."""
    _ranks: dict[Place, _Entry] = field(default_factory=dict)
    _gone: OrderedDict[Place, str] = field(default_factory=OrderedDict)
    _dp_ranks: OrderedDict[int, int] = field(default_factory=OrderedDict)

    # ---------------------------------------------------------------- entering

    def register(self, rank: RoutePut) -> None:
        """Enter a prefill rank, in the place of one that was there.

        Raises:
            Refused: it contradicts itself or those before it.
        """
        clash = self.clash(rank)
        if clash is not None and clash.refusal.status != TAKEN:
            raise clash.refusal
        self._enter(rank)

    def replace(self, rank: RoutePut, dead: Collection[Place]) -> None:
        """Enter a prefill rank where ranks in its way do not answer: they are taken out first."""
        for place in dead:
            self._remove(place, "does not answer, and another prefill side registered")
        self.register(rank)

    def clash(self, rank: RoutePut) -> Clash | None:
        """The ranks that stand in the way of a registration.

        Raises:
            Refused: it contradicts itself.
        """
        if rank.role != "Prefill":  # older releases let every rank register and enter only these
            return None
        _sound(rank)
        told = self._contradiction(rank)
        if told is not None:
            return Clash(places=tuple(self._ranks), refusal=Refused(400, told))
        place = _place(rank)
        there = self._ranks.get(place)
        if there is None or there.endpoint == (rank.rank_ip, rank.rank_port):
            return None
        told = f"{_name(place)} lives at {_at(there.endpoint)}"
        return Clash(places=(place,), refusal=Refused(TAKEN, told))

    def leave(self, rank: RoutePut) -> None:
        """A rank says goodbye: its entry goes, if it is its own."""
        place = _place(rank)
        there = self._ranks.get(place)
        if there is not None and there.endpoint == (rank.rank_ip, rank.rank_port):
            self._remove(place, "has left")

    # ------------------------------------------------------------------ living

    def endpoints(self) -> dict[Place, Endpoint]:
        """Where every rank listens."""
        return {place: entry.endpoint for place, entry in self._ranks.items()}

    def heard(self, place: Place, endpoint: Endpoint, *, answers: bool) -> bool:
        """Whether a rank answered there; ``True`` when it has been taken out for that."""
        entry = self._ranks.get(place)
        if entry is None or entry.endpoint != endpoint:
            return False
        if answers:
            entry.answered, entry.missed = True, 0
            return False
        entry.missed += entry.answered
        if entry.missed < self.most_missed:
            return False
        self._remove(place, f"does not answer at {_at(endpoint)}")
        return True

    # ------------------------------------------------------------------ asking

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
        place = (dp, cp, tp, pp)
        if place in self._gone:
            raise Refused(404, f"{_name(place)} {self._gone[place]}", gone=True)
        self._ready()
        found = self._ranks.get(place)
        if found is None:
            raise Refused(404, f"no rank with dp {dp} cp {cp} tp {tp} pp {pp}")
        return RouteRankInfo(rank_ip=found.said.rank_ip, rank_port=found.said.rank_port)

    def note_dp_rank(self, room: int, dp_rank: int) -> None:
        """Remember a room's DP rank; the oldest goes when there are too many."""
        self._dp_ranks[room] = dp_rank
        self._dp_ranks.move_to_end(room)
        if len(self._dp_ranks) > self.most_rooms:
            self._dp_ranks.popitem(last=False)

    def dp_ranks(self, rooms: tuple[int, ...]) -> dict[str, int]:
        """The DP ranks of those rooms that said one."""
        return {str(room): self._dp_ranks[room] for room in rooms if room in self._dp_ranks}

    # ------------------------------------------------------------- the insides

    def _first(self) -> RoutePut | None:
        return next((entry.said for entry in self._ranks.values()), None)

    def _contradiction(self, rank: RoutePut) -> str | None:
        first = self._first()
        if first is None:
            return None
        if _dp_size(first) != _dp_size(rank):
            said = f"{_dp_size(rank)}, the first rank said {_dp_size(first)}"
            return f"DP size: this rank says {said}"
        for name in _SHARED:
            if getattr(first, name) != getattr(rank, name):
                said = f"{getattr(rank, name)!r}, the first rank said {getattr(first, name)!r}"
                return f"{name}: this rank says {said}"
        return None

    def _enter(self, rank: RoutePut) -> None:
        if rank.role != "Prefill":
            return
        place = _place(rank)
        there = self._ranks.get(place)
        if there is not None and there.endpoint == (rank.rank_ip, rank.rank_port):
            there.said, there.missed = rank, 0
        else:
            if not self._ranks:  # the first of a new life: who has left the old one is past
                self._gone.clear()
            self._ranks[place] = _Entry(said=rank)
        self._gone.pop(place, None)

    def _remove(self, place: Place, why: str) -> None:
        """Take a rank out; the sizes are settled anew when it was the last one."""
        del self._ranks[place]
        self._gone[place] = why
        if len(self._gone) > _MOST_RANKS:
            self._gone.popitem(last=False)

    def _ready(self) -> RoutePut:
        first = self._first()
        known = len(self._ranks)
        gone = next(reversed(self._gone.items()), None)
        last = "" if gone is None else f"; {_name(gone[0])} {gone[1]}"
        if first is None:
            text = "no prefill rank has registered yet" if gone is None else "no prefill rank"
            raise Refused(503, f"{text}{last}", gone=gone is not None)
        wanted = _dp_size(first) * first.attn_cp_size * first.attn_tp_size * first.pp_size
        if known < wanted:
            told = f"{known} of {wanted} prefill ranks have registered{last}"
            raise Refused(503, told, gone=gone is not None)
        return first


def _sound(rank: RoutePut) -> None:
    """``Refused`` (400) for sizes that no prefill side has, and ranks outside of them."""
    sizes = _dp_size(rank), rank.attn_cp_size, rank.attn_tp_size, rank.pp_size
    ranks = 1
    for size in sizes:
        ranks *= size
    if ranks > _MOST_RANKS:
        said = "dp {} x cp {} x tp {} x pp {}".format(*sizes)
        raise Refused(400, f"{said}: more than {_MOST_RANKS} prefill ranks")
    _inside("attn_tp", rank.attn_tp_rank, rank.attn_tp_size)
    _inside("attn_cp", rank.attn_cp_rank, rank.attn_cp_size)
    _inside("pp", rank.pp_rank, rank.pp_size)
    _inside("dp", _dp_group(rank), _dp_size(rank))


def _inside(name: str, rank: int, size: int) -> None:
    if rank >= size:
        raise Refused(400, f"{name}_rank {rank} is outside {name}_size {size}")


def _place(rank: RoutePut) -> Place:
    return _dp_group(rank), rank.attn_cp_rank, rank.attn_tp_rank, rank.pp_rank


def _name(place: Place) -> str:
    return "the rank dp {} cp {} tp {} pp {}".format(*place)


def _at(endpoint: Endpoint) -> str:
    host, port = endpoint
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _dp_size(rank: RoutePut) -> int:
    return rank.attn_dp_size if rank.system_dp_size == 1 else rank.system_dp_size


def _dp_group(rank: RoutePut) -> int:
    return rank.attn_dp_rank if rank.system_dp_size == 1 else rank.system_dp_rank
