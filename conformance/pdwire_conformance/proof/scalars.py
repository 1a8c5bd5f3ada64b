"""Values of single fields, edges first, drawn from a seeded generator.

Nothing here knows a message: a frame of the JSON export says type and range, and a
value in the form of the JSON export comes back (``docs/spec-language.md``).
"""

from __future__ import annotations

import string
from collections.abc import Callable
from random import Random
from typing import Any, Final

__all__ = ["BIG", "draw_items", "draw_value"]

BIG: Final = 131_072
"""Items of the largest index array that is drawn: one per proof, not per value."""

Json = dict[str, Any]

_HOSTS: Final = (
    "127.0.0.1",
    "10.0.0.2",
    "255.255.255.255",
    "::1",
    "fe80::1%eth0",
    "2001:db8::ff00:42:8329",
    "decode-7.cluster.local",
    "h",
)
_WORDS: Final = string.ascii_letters + string.digits + "-._:/@"


def _integer(frame: Json, rng: Random) -> int:
    """A number within the frame's range: an edge, a small one, or any magnitude."""
    low, high = int(frame["min"]), int(frame["max"])
    edges = [n for n in (low, low + 1, 0, 1, 2, 1023, 1024, high - 1, high) if low <= n <= high]
    kind = rng.random()
    if kind < 0.3:
        return rng.choice(edges)
    if kind < 0.6:
        return rng.randint(low, min(high, low + 64))
    return rng.randint(
        low, low + ((high - low) >> rng.randrange(0, (high - low).bit_length() or 1))
    )


def _host(_: Json, rng: Random) -> str:
    return rng.choice(_HOSTS)


def _hostport(frame: Json, rng: Random) -> str:
    name = _host(frame, rng)
    port = rng.choice((1, 80, 17000, 65535, rng.randint(1, 65535)))
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


def _word(frame: Json, rng: Random) -> str:
    if frame.get("allowed"):
        return str(rng.choice(frame["allowed"]))
    return "".join(rng.choice(_WORDS) for _ in range(rng.choice((1, 8, 36, 64))))


def _utf8(_: Json, rng: Random) -> str:
    return rng.choice(("no memory", "délai dépassé", "失敗: 接続が切れた", "a\nb", "x" * 500, "0"))


def _octets(_: Json, rng: Random) -> Json:
    return {"hex": rng.randbytes(rng.choice((0, 1, 3, 16, 700))).hex()}


def draw_items(kind: str, count: int, rng: Random) -> list[int]:
    """``count`` items of an array type, the widest ones (bit 63) among them."""
    width = {"i32": 31, "u32": 32, "u64": 64}[kind]
    low = -(2**31) if kind == "i32" else 0
    edges = [low, 0, 1, 2**width - 1, 2 ** (width - 1)]
    return [
        rng.choice(edges) if rng.random() < 0.25 else rng.randrange(1 << rng.randint(1, width))
        for _ in range(count)
    ]


def _flat(frame: Json, rng: Random) -> list[int]:
    return draw_items(frame["type"].split("[")[0], rng.choice((0, 1, 2, 3, 17, 60)), rng)


def _nested(frame: Json, rng: Random) -> list[list[int]]:
    kind = frame["type"].split("[")[0]
    return [
        draw_items(kind, rng.choice((0, 1, 2, 9)), rng) for _ in range(rng.choice((0, 1, 2, 3)))
    ]


def _names(frame: Json, rng: Random) -> list[str]:
    return [rng.choice(frame["allowed"]) for _ in range(rng.choice((0, 1, 2, 5)))]


def _bins(frame: Json, rng: Random) -> list[Json]:
    return [_octets(frame, rng) for _ in range(rng.choice((0, 1, 2, 17)))]


def _bin_lists(frame: Json, rng: Random) -> list[list[Json | None]]:
    return [
        [None if "?" in frame["type"] and rng.random() < 0.2 else one for one in _bins(frame, rng)]
        for _ in range(rng.choice((0, 1, 2, 3)))
    ]


_DRAW: Final[dict[str, Callable[[Json, Random], Any]]] = {
    "flag": lambda _, rng: rng.random() < 0.5,
    "text": _word,
    "utf8": _utf8,
    "host": _host,
    "hostport": _hostport,
    "bytes": _octets,
    "names": _names,
    "bin[]": _bins,
    "bin[][]": _bin_lists,
    "bin?[][]": _bin_lists,
    "dec": _integer,
    "u32": _integer,
    "u64": _integer,
    "u32be": _integer,
}


def _json(kind: str, frame: Json, rng: Random) -> Any:
    if kind.endswith("?"):
        return None if rng.random() < 0.3 else _json(kind[:-1], frame, rng)
    if kind.endswith("[]"):
        return [_json(kind[:-2], frame, rng) for _ in range(rng.choice((0, 1, 3)))]
    if kind.endswith("{}"):
        return {str(n): _json(kind[:-2], frame, rng) for n in range(rng.choice((0, 1, 3)))}
    if kind == "int":
        return _integer(frame, rng)
    if kind == "bool":
        return rng.random() < 0.5
    return _word(frame, rng) if kind == "str" else {"n": rng.randrange(9)}


def draw_value(frame: Json, rng: Random) -> Any:
    """A value of a frame or field that is there and not empty-by-meaning."""
    kind = str(frame["type"])
    if kind.startswith("json:"):
        return _json(kind[5:], frame, rng)
    if kind in _DRAW:
        return _DRAW[kind](frame, rng)
    return _nested(frame, rng) if kind.endswith("[][]") else _flat(frame, rng)
