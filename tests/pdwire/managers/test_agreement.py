"""What both sides must share, as a table of rules: field report P7."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pdwire.managers.agreement import disagreement, dtype_name
from pdwire.managers.config import KVArgs, ManagerConfig, ParallelInfo
from pdwire.wire import layout
from pdwire.wire.bootstrap import RouteServerInfo

HERE = KVArgs(kv_data_ptrs=(), kv_data_lens=(), kv_item_lens=(), page_size=16)
THERE = RouteServerInfo(attn_tp_size=1, dp_size=1, pp_size=1, page_size=16, kv_cache_dtype=None)


def verdict(
    theirs: dict[str, Any],
    ours: dict[str, Any] | None = None,
    *,
    release: str = "0.5.23",
    **config: Any,  # noqa: ANN401
) -> str | None:
    carried = layout("mooncake", "ROUTE_SERVER_INFO", release=release).fields
    return disagreement(
        replace(THERE, **theirs),
        replace(HERE, **(ours or {})),
        ManagerConfig(release=release, **config),
        "x:1",
        carried,
    )


@pytest.mark.parametrize(
    ("said", "name"),
    [
        (None, None),
        ("", None),
        ("auto", None),
        ("None", None),
        ("bf16", "bfloat16"),
        ("torch.bfloat16", "bfloat16"),
        ("FP8_E4M3", "fp8_e4m3"),
        ("float8_e4m3fn", "fp8_e4m3"),
        ("float8_e4m3fnuz", "float8_e4m3fnuz"),
        ("something new", "something new"),
    ],
)
def test_one_type_has_one_name(said: str | None, name: str | None) -> None:
    assert dtype_name(said) == name


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("fp8_e4m3", "fp8_e5m2"),
        ("bfloat16", "float16"),
        ("bf16", "fp16"),
        ("fp8_e4m3", "bfloat16"),
        ("float8_e4m3fn", "float8_e4m3fnuz"),
        ("fp4_e2m1", "fp8_e4m3"),
    ],
)
def test_p7_types_whose_bytes_differ_are_refused_either_way(theirs: str, ours: str) -> None:
    for a, b in ((theirs, ours), (ours, theirs)):
        told = verdict({"kv_cache_dtype": a}, {"kv_cache_dtype": b})
        assert told == f"kv_cache_dtype {dtype_name(b)} here, {dtype_name(a)} at x:1"


@pytest.mark.parametrize("release", ["0.5.20", "0.5.21", "0.5.23"])
def test_p7_a_draft_layout_on_one_side_only_is_refused_where_it_can_be_said(release: str) -> None:
    here = verdict({}, {"dsv41_spec_layout": {"x": 1}}, release=release)
    assert (here is None) == (release == "0.5.20")
    if release != "0.5.20":
        assert here == "dsv41_spec_layout {'x': 1} here, None at x:1"
        told = verdict({"dsv41_spec_layout": {"x": 1}}, release=release)
        assert told == "dsv41_spec_layout None here, {'x': 1} at x:1"


@pytest.mark.parametrize(
    ("theirs", "ours", "config", "told"),
    [
        ({"attn_tp_size": 2}, {"state_types": ("minimax_index_k",)}, {}, "needs equal TP"),
        ({"attn_tp_size": 2}, {"state_types": ("minimax_index_k",)}, {"is_mla": True}, "equal TP"),
        ({"attn_tp_size": 2}, {"state_types": ("block_scale",)}, {}, "needs equal TP: 1 here, 2"),
        ({"attn_cp_size": 2}, {}, {"parallel": ParallelInfo(dcp_size=2)}, "needs prefill CP 1"),
        (
            {"enable_kv_cache_sharding": True},
            {},
            {"parallel": ParallelInfo(dcp_size=2)},
            "does not go with a sharded cache",
        ),
        (
            {"decode_allocation_policy": "prefill_complete", "pp_size": 2},
            {},
            {"decode_allocation_policy": "prefill_complete"},
            "needs TP 1 CP 1 PP 1, not TP 1 CP 1 PP 2",
        ),
    ],
)
def test_sizes_that_a_release_refuses_are_refused(
    theirs: dict[str, Any], ours: dict[str, Any], config: dict[str, Any], told: str
) -> None:
    if "state_types" in ours:
        ours |= {"state_data_ptrs": ((),), "state_data_lens": ((),)}
    assert told in str(verdict(theirs, ours, **config))


def test_sides_that_say_the_same_agree() -> None:
    said: dict[str, Any] = {
        "kv_cache_dtype": "bfloat16",
        "kv_layout": "a",
        "dsv41_spec_layout": {"x": [1]},
    }
    assert verdict(said, said) is None
    assert verdict({"page_size": None}) is None
