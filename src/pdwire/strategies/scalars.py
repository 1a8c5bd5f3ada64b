"""Values of single frames and keys: edges often, long ones rarely, small ones to shrink to.

Rules:

* A strategy here gives values that a frame with bytes in it carries, in the form of the
  second reading (:data:`pdwire.reading.Value`): lists, ``bytes``, plain numbers.
* Nothing is filtered. The first branch is the simplest, so failures shrink towards 0, 1,
  short lists and readable words.
* What a type carries is written down once more here, as what to draw, and held to both
  decoders by the tests: a value that either refuses is a fault of this module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from pdwire.reading.spec import Slot, Value

__all__ = [
    "EDGES",
    "HOSTS",
    "LONG",
    "array",
    "filled",
    "integers",
    "items",
    "listed",
    "nested",
]

EDGES: Final = (
    0, 1, 2, 1023, 1024, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1
)  # fmt: skip
"""Numbers where widths and tables end; those within a field's range are drawn often."""

HOSTS: Final = (
    "h", "127.0.0.1", "10.0.0.2", "::1", "fe80::1%eth0", "2001:db8::ff00:42:8329",
    "255.255.255.255", "[::1]", "decode-7.cluster.local",
)  # fmt: skip
LONG: Final = 100
"""Items of a long list, drawn rarely."""

_WORDS: Final = ("a", "None", "0", "agent-7", "a_b_1", "10.0.0.2:17000", "x" * 64)
_TOLD: Final = ("no memory", "délai dépassé", "失敗: 接続が切れた", "a\nb", "\x00", "0", "x" * 500)
_OCTETS: Final = (b"\x00", b"\xff" * 8, b"\x80\x05", b"m" * 700)
_NAMES: Final = ("a", "0", "", "auto", "fp8_e4m3", "é", "失敗", '"\\', "\x00")
_PRINTABLE: Final = "".join(map(chr, range(0x21, 0x7F)))
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789"
_LIMITS: Final = {"i32": (-(2**31), 2**31 - 1), "u32": (0, 2**32 - 1), "u64": (0, 2**64 - 1)}
_MOST_ITEMS: Final = 5


@cache
def integers(low: int, high: int) -> SearchStrategy[int]:
    """``low..high``: small numbers, edges of the range and of widths, any magnitude."""
    least = max(low, 0)
    edges = sorted({low, low + 1, high - 1, high, *EDGES}, key=lambda n: (abs(n), n < 0))
    return st.one_of(
        st.integers(least, min(least + 16, high)),
        st.sampled_from([edge for edge in edges if low <= edge <= high]),
        st.integers(low, high),
    )


def items(kind: str) -> SearchStrategy[int]:
    """One item of an array of ``i32``, ``u32`` or ``u64``."""
    return integers(*_LIMITS[kind])


def array(kind: str, size: int | None = None, *, least: int = 0) -> SearchStrategy[list[Any]]:
    """Items of an array: exactly ``size``, or at least ``least``, a few and rarely many."""
    if size is not None:
        return _sized(kind, size)
    few = st.lists(items(kind), min_size=least, max_size=_MOST_ITEMS)
    return st.one_of(few, few, few, _rarely(_long(kind), few))


@cache
def _rarely(seldom: SearchStrategy[Any], often: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """``seldom`` one time in eight."""
    return st.integers(0, 7).flatmap(lambda n: seldom if n == 7 else often)


@cache
def _sized(kind: str, size: int) -> SearchStrategy[list[Any]]:
    if size <= 2 * _MOST_ITEMS:
        return st.lists(items(kind), min_size=size, max_size=size)
    return _tile(kind).map(lambda block: (block * (size // len(block) + 1))[:size])


@cache
def _tile(kind: str) -> SearchStrategy[list[Any]]:
    return st.lists(items(kind), min_size=1, max_size=3)


@cache
def _long(kind: str) -> SearchStrategy[list[Any]]:
    return st.sampled_from((17, 60, LONG)).flatmap(lambda size: _sized(kind, size))


def nested(kind: str, *, least: int = 0) -> SearchStrategy[list[Any]]:
    """Lists of lists of an item type, components that are empty among them."""
    part = st.lists(items(kind), max_size=3)
    few = st.lists(part, min_size=least, max_size=3)
    return st.one_of(few, few, few, _rarely(_many_parts(kind), few))


@cache
def _many_parts(kind: str) -> SearchStrategy[list[Any]]:
    """More components than a codec has tables for."""
    return _tile(kind).map(lambda block: [block, []] * 6)


def _host(_: Slot) -> SearchStrategy[Value]:
    dotted = st.tuples(*[st.integers(0, 255)] * 4).map(lambda quad: ".".join(map(str, quad)))
    label = st.text(_LETTERS, min_size=1, max_size=63)
    name = st.tuples(st.sampled_from("abxyz_"), label).map(lambda two: (two[0] + two[1])[:63])
    return st.one_of(st.sampled_from(HOSTS), dotted, name)


def _hostport(slot: Slot) -> SearchStrategy[Value]:
    """IPv6 in brackets; a scope may stand in them."""

    def joined(two: tuple[Any, int]) -> str:
        name, port = two
        bare = ":" in name and not name.startswith("[")
        return f"[{name}]:{port}" if bare else f"{name}:{port}"

    return st.tuples(_host(slot), integers(1, 65535)).map(joined)


def _word(slot: Slot) -> SearchStrategy[Value]:
    if slot.allowed:
        return st.sampled_from(slot.allowed)
    return st.one_of(
        st.sampled_from(_WORDS),
        st.text(_PRINTABLE, min_size=1, max_size=12),
    )


def _utf8(slot: Slot) -> SearchStrategy[Value]:
    if slot.allowed:
        return st.sampled_from(slot.allowed)
    anything = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
    return st.one_of(st.sampled_from(_TOLD), anything)


def _octets(*, least: int = 0) -> SearchStrategy[bytes]:
    few = st.binary(min_size=least, max_size=12)
    return st.one_of(few, few, st.sampled_from(_OCTETS))


def _bins(*, nil: bool = False, least: int = 0) -> SearchStrategy[list[Any]]:
    one: SearchStrategy[Any] = st.one_of(_octets(), st.none()) if nil else _octets()
    few = st.lists(one, min_size=least, max_size=3)
    return st.one_of(few, few, few, _rarely(st.just([b"d"] * 17), few))


def _bin_lists(*, nil: bool) -> SearchStrategy[Value]:
    return st.lists(_bins(nil=nil), min_size=1, max_size=3)


def _number(slot: Slot) -> SearchStrategy[Value]:
    if slot.min is None or slot.max is None:
        raise ValueError(f"{slot.name}: a number without a range")
    return integers(slot.min, slot.max)


_FILLED: Final[dict[str, Callable[[Slot], SearchStrategy[Any]]]] = {
    "dec": _number,
    "u32": _number,
    "u64": _number,
    "u32be": _number,
    "flag": lambda _: st.booleans(),
    "text": _word,
    "utf8": _utf8,
    "host": _host,
    "hostport": _hostport,
    "bytes": lambda _: _octets(least=1),
    "names": lambda slot: st.lists(st.sampled_from(slot.allowed), min_size=1, max_size=_MOST_ITEMS),
    "bin[]": lambda _: _bins(least=1),
    "bin[][]": lambda _: _bin_lists(nil=False),
    "bin?[][]": lambda _: _bin_lists(nil=True),
}


def filled(slot: Slot) -> SearchStrategy[Any]:
    """Values that the slot carries in a frame with bytes, or under a key.

    Raises:
        ValueError: a type that is not known here.
    """
    if slot.type.startswith("json:"):
        return _json(slot, slot.type.removeprefix("json:"))
    if slot.type in _FILLED:
        return _FILLED[slot.type](slot)
    if slot.type.endswith("[][]"):
        return nested(slot.type.removesuffix("[][]"), least=1)
    if slot.type.endswith("[]"):
        return array(slot.type.removesuffix("[]"), least=1)
    raise ValueError(f"{slot.name}: no type {slot.type!r}")


def _json(slot: Slot, kind: str) -> SearchStrategy[Any]:
    if kind.endswith("?"):
        return st.one_of(st.none(), _json(slot, kind[:-1]))
    if kind.endswith("[]"):
        return st.lists(_json(slot, kind[:-2]), max_size=_MOST_ITEMS)
    if kind.endswith("{}"):
        return st.dictionaries(_names(), _json(slot, kind[:-2]), max_size=3)
    match kind:
        case "int":
            return _number(slot)
        case "bool":
            return st.booleans()
        case "str":
            return st.sampled_from(slot.allowed) if slot.allowed else _names()
        case "object":
            return st.dictionaries(_names(), _anything(), max_size=3)
    raise ValueError(f"{slot.name}: no JSON type {kind!r}")


def _names() -> SearchStrategy[str]:
    return st.one_of(st.sampled_from(_NAMES), st.text(st.characters(codec="utf-8"), max_size=8))


def _anything() -> SearchStrategy[Any]:
    """What may stand in an object that this protocol does not look into."""
    leaf = st.one_of(
        st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), _names(), st.just(0.5)
    )
    return st.one_of(leaf, st.lists(leaf, max_size=3), st.dictionaries(_names(), leaf, max_size=2))


def _numbers(low: int, high: int) -> list[int]:
    return sorted({n for n in (low, low + 1, 7, high - 1, high, *EDGES) if low <= n <= high})


def _lists(kind: str) -> list[list[int]]:
    """Each item another one, so that order and number show; edges alone and together."""
    low, high = _LIMITS[kind]
    edges = [n for n in (low, 2**31 - 1, 2**31, 2**32 - 1, 2**63, high) if low <= n <= high]
    counted = [list(range(1, n + 1)) for n in (1, 2, 3, 4, 5, 9, 17, 33)]
    return [*counted, edges, *[[edge] for edge in edges]]


def listed(slot: Slot) -> list[Any]:
    """The same values without drawing: some dozens of each type, always the same.

    Raises:
        ValueError: a type that is not known here.
    """
    if slot.type.startswith("json:"):
        return _listed_json(slot, slot.type.removeprefix("json:"))
    if slot.type in {"dec", "u32", "u64", "u32be"}:
        return _numbers(slot.min or 0, slot.max or 0)
    if slot.allowed and slot.type != "names":
        return list(slot.allowed)
    known: dict[str, list[Any]] = {
        "flag": [False, True],
        "text": list(_WORDS),
        "utf8": list(_TOLD),
        "host": list(HOSTS),
        "hostport": ["h:1", "10.0.0.2:65535", "[::1]:7", "[fe80::1%eth0]:80", "a.b:17000"],
        "bytes": [b"0", b"None", *_OCTETS],
        "names": [list(slot.allowed), list(slot.allowed[::-1]), [*slot.allowed[-1:] * 3]],
        "bin[]": [[b""], [b"a", b"b", b"c"], [b"d"] * 17, list(_OCTETS)],
        "bin[][]": [[[]], [[b"a"], []], [[b"a", b"b"], [b"c"]], [[b"d"] * 17] * 17],
        "bin?[][]": [[[]], [[None]], [[b"a", None], []], [[b"a", b"b"], [b"c"]]],
    }
    if slot.type in known:
        return known[slot.type]
    kind, _, rest = slot.type.partition("[")
    if kind not in _LIMITS:
        raise ValueError(f"{slot.name}: no type {slot.type!r}")
    if rest == "]":
        return list(_lists(kind))
    return [[[]], [[1]], [[1], [2, 3]], [[], [1]], [[1, 2, 3], [], [4]], [[n] for n in range(12)]]


def _listed_json(slot: Slot, kind: str) -> list[Any]:
    if kind.endswith("?"):
        return [None, *_listed_json(slot, kind[:-1])]
    if kind.endswith("[]"):
        inner = _listed_json(slot, kind[:-2])
        return [[], inner, *[[item] for item in inner], inner[:3]]
    if kind.endswith("{}"):
        inner = _listed_json(slot, kind[:-2])
        return [{}, {str(n): item for n, item in enumerate(inner)}, *[{"a": n} for n in inner]]
    known: dict[str, list[Any]] = {
        "bool": [False, True],
        "str": list(slot.allowed or _NAMES),
        "object": [{}, {"a": None}, {"n": {"m": [1, "é", True, 0.5, 2**64 - 1, -(2**63)]}}],
    }
    return known[kind] if kind in known else _numbers(slot.min or 0, slot.max or 0)
