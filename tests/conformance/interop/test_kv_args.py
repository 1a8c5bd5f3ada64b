from __future__ import annotations

from enum import StrEnum
from typing import Any, cast

import pytest

from pdwire_conformance.interop.kv_args import kv_args
from pdwire_conformance.interop.memory import Memory
from pdwire_conformance.interop.options import Options
from pdwire_conformance.peers.loader import LoadedRelease


class StateType(StrEnum):
    SWA = "swa"


class Release:
    """What ``kv_args`` asks a release for: its class, and whether state has types."""

    def __init__(self, *, nested: bool) -> None:
        self._nested = nested

    def attribute(self, _: str, path: str) -> Any:  # noqa: ANN401
        return {"KVArgs": type("KVArgs", (), {}), "StateType": StateType}[path]

    def has_class(self, _: str, name: str) -> bool:
        return self._nested and name == "StateType"


def made(*, nested: bool = True, **more: bool | int) -> Any:  # noqa: ANN401
    told: dict[str, Any] = {"release": "0.5.19", "backend": "nixl", "role": "prefill", "layers": 4}
    options = Options(**{**told, **more})
    return kv_args(cast("LoadedRelease", Release(nested=nested)), options, Memory(options))


def test_regions_are_addresses_lengths_and_bytes_per_page() -> None:
    args = made()
    assert len(args.kv_data_ptrs) == len(set(args.kv_data_ptrs)) == 8
    assert args.kv_item_lens == [16 * 4 * 16 * 2] * 8
    assert args.kv_data_lens == [64 * item for item in args.kv_item_lens]
    assert args.aux_item_lens == [64, 256, 40]


def test_a_later_stage_says_where_its_layers_begin() -> None:
    args = made(pp_size=2, pp_rank=1, layer_ids=True)
    assert (args.prefill_start_layer, args.prefill_end_layer) == (2, 4)
    assert args.kv_layer_ids == [2, 3, 2, 3]


@pytest.mark.parametrize(("state", "kind"), [(False, "none"), (True, "swa")])
def test_state_is_flat_where_it_has_no_types(state: bool, kind: str) -> None:
    args = made(nested=False, state=state)
    assert args.state_type == kind
    assert args.state_item_lens == [96] * (4 if state else 0)


def test_state_is_a_list_per_component_where_it_has_types() -> None:
    args = made(state=True)
    assert args.state_types == [StateType.SWA]
    assert args.state_item_lens == [[96] * 4]
    assert made().state_types == made().state_data_ptrs == []
