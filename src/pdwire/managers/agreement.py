"""What prefill and decode must have in common for bytes to mean the same, as a table of rules.

The prefill side says these facts in ``/route``, from the release on that carries them; the decode
side compares before it registers, as the releases do from 0.5.10 on. A rule never compares less
than theirs. A fact that one side does not say (``None``, an empty text, a dtype of ``auto``, which
stands for whatever the model has) compares with nothing, but for those that the releases compare
even so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

from pdwire.managers.config import KVArgs, ManagerConfig
from pdwire.wire.bootstrap import RouteServerInfo

__all__ = ["disagreement", "dtype_name"]

_DTYPES: Final = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "half": "float16",
    "fp32": "float32",
    "float": "float32",
    "float8_e4m3fn": "fp8_e4m3",
    "float8_e5m2": "fp8_e5m2",
    "float4_e2m1fn_x2": "fp4_e2m1",
}
"""Other spelling -> the command line's: releases before 0.5.17 say the word that they were given.
Types whose bytes differ (``fnuz``) are no spelling of one another."""
_WITHOUT_SLICES: Final = ("minimax_index_k", "block_scale", "block_scale_swa")
"""State that is replicated or scaled by whole heads: no rank can take a part of it (0.5.23)."""


def dtype_name(said: object) -> str | None:
    """The one spelling of an element type; ``None`` where nothing is said."""
    if said is None:
        return None
    name = str(said).strip().lower().removeprefix("torch.")
    return None if name in {"", "auto", "none"} else _DTYPES.get(name, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """One fact: what it is called here, and how it is read on each side.

    Attributes:
        name: its key in ``/route``.
        ours: how the decode side's is read.
        read: a value as it is compared; ``None`` where it says nothing.
        always: compared even where one side does not say it, if its release carries the key.
    """

    name: str
    ours: Callable[[KVArgs, ManagerConfig], Any]
    read: Callable[[Any], Any] = lambda value: value or None
    always: bool = False
    label: str = ""


_RULES: Final = (
    _Rule(name="page_size", ours=lambda args, _: args.page_size, label="page size"),
    _Rule(name="kv_cache_dtype", ours=lambda args, _: args.kv_cache_dtype, read=dtype_name),
    _Rule(name="kv_layout", ours=lambda args, _: args.kv_layout),
    _Rule(name="dsv41_spec_layout", ours=lambda args, _: args.dsv41_spec_layout, always=True),
    _Rule(
        name="decode_allocation_policy",
        ours=lambda _, config: config.decode_allocation_policy,
        always=True,
    ),
)


def disagreement(
    info: RouteServerInfo,
    args: KVArgs,
    config: ManagerConfig,
    address: str,
    carried: Collection[str],
) -> str | None:
    """Why nothing may be handed over, with the fact, both values and the address; or ``None``.

    Args:
        info: what the prefill side says.
        args: the decode rank's memory.
        config: its place and release.
        address: of the prefill side's bootstrap server.
        carried: fields that an answer in the decode side's release can have.
    """
    for rule in _RULES:
        ours = rule.read(rule.ours(args, config))
        theirs = rule.read(getattr(info, rule.name))
        must = rule.always and rule.name in carried
        if ours != theirs and (must or None not in {_key(ours), _key(theirs)}):
            return f"{rule.label or rule.name} {_text(ours, theirs)} at {address}"
    return _shapes(info, args, config, address)


def _shapes(info: RouteServerInfo, args: KVArgs, config: ManagerConfig, address: str) -> str | None:
    """Sizes that do not go with what is handed over, each as a release refuses it."""
    parallel = config.parallel
    here, there = parallel.attn_tp_size, info.attn_tp_size
    whole = [kind for kind in args.state_types if kind in _WITHOUT_SLICES]
    if whole and here != there and not (config.is_mla and whole[0] != _WITHOUT_SLICES[0]):
        return f"state {whole[0]!r} needs equal TP: {here} here, {there} at {address}"
    if args.dsv41_spec_layout and here != there:
        spread = config.is_mla and info.attn_cp_size > 1 and there * info.attn_cp_size == here
        if not (spread and parallel.attn_cp_size == 1):
            return f"a draft layout needs equal TP: {here} here, {there} at {address}"
    if config.decode_allocation_policy == "prefill_complete":
        sizes = there, info.attn_cp_size, info.pp_size
        if sizes != (1, 1, 1):
            said = "TP {} CP {} PP {}".format(*sizes)
            return f"prefill_complete needs TP 1 CP 1 PP 1, not {said} at {address}"
    if parallel.dcp_size > 1 and info.attn_cp_size != 1:
        told = f"decode context parallelism {parallel.dcp_size} needs prefill CP 1"
        return f"{told}, not {info.attn_cp_size} at {address}"
    if parallel.dcp_size > 1 and info.enable_kv_cache_sharding:
        return f"decode context parallelism does not go with a sharded cache at {address}"
    return None


def _key(value: object) -> object:
    """A value that a set can hold; only whether it is ``None`` counts."""
    return None if value is None else type(value)


def _text(ours: object, theirs: object) -> str:
    """Both values; of two objects only where they differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        differs = sorted(k for k in ours.keys() | theirs.keys() if ours.get(k) != theirs.get(k))
        ours = {k: ours.get(k) for k in differs}
        theirs = {k: theirs.get(k) for k in differs}
    return f"{ours} here, {theirs}"
