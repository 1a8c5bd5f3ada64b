"""Values of the right kind that a layout may not carry, made from ones that it does.

Rules: a list stays a list and a number a number, ``None`` apart; whether the outcome can
be carried nobody knows here.
"""

# ruff: noqa: ANN401 - values of every type are made here

from __future__ import annotations

from random import Random
from typing import Any, Final

Json = dict[str, Any]
Values = dict[str, Any]

_INTEGERS: Final = {"dec", "u32", "u64", "u32be", "json:int", "json:int?"}
_TEXTS: Final = {"text", "utf8", "host", "hostport", "json:str", "json:str?"}
_ODD_TEXTS: Final = (
    "", " ", "a", "a b", "é", "a\n", "\x00", "\ud800", "h:1", "h:0", "h:70000", "[::1]:5", "::1",
    "[::1]", "fe80::1%e 0", "10.0.0.2", "10.0.0.256", "x" * 400, "None", "0", "-1", "VRAM",
)  # fmt: skip
_ODD_NUMBERS: Final = (0, 1, -1, 7, 2**31, 2**32, 2**63, 2**64, -(2**31), -(2**63) - 1)


def spoiled(message: Json, values: Values, rng: Random) -> Values:
    """The same with one or two fields changed."""
    changed = dict(values)
    for field in rng.choices(message["fields"], k=rng.randint(1, 2)):
        changed[field["name"]] = _changed(field, changed[field["name"]], rng)
    return changed


def _changed(field: Json, value: Any, rng: Random) -> Any:
    kind = field["type"]
    if rng.random() < 0.2:
        return None
    if kind in _INTEGERS:
        low, high = field["min"], field["max"]
        return rng.choice([low - 1, low, high, high + 1, *_ODD_NUMBERS])
    if kind == "flag" or kind.startswith("json:bool"):
        return rng.random() < 0.5
    if kind == "bytes":
        return rng.randbytes(rng.randrange(3))
    if kind in _TEXTS:
        return rng.choice([*_ODD_TEXTS, *field["allowed"]])
    if kind.endswith("{}") or kind.startswith("json:object"):
        return rng.choice([{}, {"a": rng.choice(_ODD_NUMBERS)}, {"a": None}, {"\ud800": 1}])
    return _list(kind, list(value or ()), rng)


def _list(kind: str, items: list[Any], rng: Random) -> Any:
    """A list that is longer, shorter, empty or has an item that may not fit."""
    odd: Any = rng.choice(_ODD_NUMBERS)
    if kind in {"names", "json:str[]"}:
        odd = rng.choice(["FOO", "", "VRAM"])
    elif kind.startswith("bin"):
        odd = rng.choice([b"", b"\xc0", None])
    if kind.endswith("[][]"):
        odd = rng.choice([[], [odd], [odd, odd]])
    return rng.choice([[], items[:-1], [*items, odd], [odd, *items[1:]], [*items, *items], [odd]])
