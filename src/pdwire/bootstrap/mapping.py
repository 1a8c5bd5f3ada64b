"""Which prefill ranks a decode rank talks to, and how many answers make a request whole.

A pure function of both sides' sizes, as every release from 0.5.10 on computes it
(``_resolve_rank_mapping``; earlier inside the receiver):

* equal TP: the same rank; decode TP larger: several decode ranks share one prefill rank,
  which waits for all of them; decode TP smaller: one decode rank draws from several. With
  MLA every prefill rank holds all of it, so only the first one writes and the others get
  dummy requests.
* decode PP equals prefill PP (same stage) or is 1 (all stages).
* decode CP is 1; of several prefill CP ranks only rank 0 writes, unless the prefill side
  shards its cache over them.
* an MLA cache sharded over prefill's TP ranks (0.5.22 on, without CP) comes from all of them,
  and TP is equal then.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RankMapping", "Sizes", "Target", "map_ranks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The sizes of the prefill side that the mapping depends on."""

    attn_tp_size: int
    attn_cp_size: int = 1
    attn_dp_size: int = 1
    pp_size: int = 1
    all_cp_ranks: bool = False
    kv_sharding: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One prefill rank to register with; a dummy only gets counted there."""

    cp_rank: int
    tp_rank: int
    pp_rank: int
    is_dummy: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RankMapping:
    """The ranks, the metadata each of them waits for, and the answers decode waits for."""

    targets: tuple[Target, ...]
    required_dst_info_num: int
    required_prefill_response_num: int


def map_ranks(
    prefill: Sizes, *, tp_size: int, tp_rank: int, pp_size: int = 1, pp_rank: int = 0, is_mla: bool
) -> RankMapping:
    """The mapping of one decode rank.

    Raises:
        ValueError: sizes that do not divide each other, or a decode PP that is neither 1
            nor the prefill side's.
    """
    is_sharded = is_mla and prefill.kv_sharding and prefill.attn_cp_size == 1
    if is_sharded:
        ranks, expected, answers = _sharded(prefill.attn_tp_size, tp_size)
    else:
        ranks, expected, answers = _tensor(
            prefill.attn_tp_size, tp_size, tp_rank % tp_size, is_mla=is_mla
        )
    cp_ranks = range(prefill.attn_cp_size if prefill.all_cp_ranks else 1)
    if pp_size not in {1, prefill.pp_size}:
        raise ValueError(f"decode PP {pp_size} is neither 1 nor prefill PP {prefill.pp_size}")
    stages = [pp_rank] if pp_size == prefill.pp_size else list(range(prefill.pp_size))
    has_dummies = is_mla and not is_sharded
    # Later stages first, as the releases do: they start later and need the word sooner.
    targets = tuple(
        Target(cp_rank=cp, tp_rank=tp, pp_rank=pp, is_dummy=has_dummies and tp != ranks[0])
        for cp in cp_ranks
        for tp in ranks
        for pp in reversed(stages)
    )
    return RankMapping(
        targets=targets,
        required_dst_info_num=expected,
        required_prefill_response_num=answers * len(cp_ranks) * len(stages),
    )


def _sharded(prefill: int, decode: int) -> tuple[range, int, int]:
    """As ``_tensor``, for a cache of which every prefill TP rank holds a part."""
    if prefill != decode:
        raise ValueError(f"a sharded MLA cache needs equal TP, not {prefill} and {decode}")
    return range(prefill), decode, prefill


def _tensor(prefill: int, decode: int, rank: int, *, is_mla: bool) -> tuple[range, int, int]:
    """Prefill TP ranks, metadata that each waits for, answers that decode waits for."""
    if decode >= prefill:
        if decode % prefill:
            raise ValueError(f"decode TP {decode} is no multiple of prefill TP {prefill}")
        share = decode // prefill
        return range(rank // share, rank // share + 1), share, 1
    if prefill % decode:
        raise ValueError(f"prefill TP {prefill} is no multiple of decode TP {decode}")
    share = prefill // decode
    return range(rank * share, (rank + 1) * share), 1, 1 if is_mla else share
