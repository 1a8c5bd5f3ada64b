"""One value of a type, for a profile: typical, least or most.

Rules: lists of one case have one length, so that lists that must match do: three elements
typically, none at least, two at most; a nested list has as many components as a flat one
has elements, and one that travels flat has one component.
"""

from __future__ import annotations

from pdwire.reading import Value
from pdwire_codegen.kinds import Kind, kind_of
from pdwire_codegen.model import Field

Limits = tuple[int | None, int | None]

_LENGTHS = {"typical": 3, "least": 0, "most": 2}
_WIDTHS = {"i32": (-(2**31), 2**31 - 1), "u32": (0, 2**32 - 1), "u64": (0, 2**64 - 1)}
_TEXTS = {
    "text": {"typical": "agent-7_b", "least": "a", "most": "~" * 40},
    "utf8": {"typical": "Zeitüberschreitung", "least": "a", "most": "末端 𝄞 " * 4},
    "host": {"typical": "10.0.0.2", "least": "a", "most": "fe80::1%eth0"},
    "hostport": {"typical": "10.0.0.2:17000", "least": "a:1", "most": "[fe80::1%eth0]:65535"},
    "json:str": {"typical": "auto", "least": "", "most": 'a "b" \\ ü'},
}
_BYTES = {"typical": b"\x80\x05N.", "least": b"", "most": bytes(range(248, 256)) * 4}


def value_of(name: str, field: Field, limits: Limits, profile: str, index: int) -> Value:
    """A value of type ``name`` as ``field`` has it; ``index`` tells fields apart."""
    kind, whole = kind_of(name), kind_of(field.type)
    assert kind is not None
    assert whole is not None
    if kind.json:
        return _json_value(kind, field, limits, profile, index)
    if kind.is_list:
        flat = _list(kind, field, profile, index)
        if whole.is_nested and not kind.is_nested:
            return [flat] if flat else []
        return flat
    if kind.is_int:
        return _int(limits, profile, index)
    if kind.value == "bool":
        return profile != "least"
    return _BYTES[profile] if kind.value == "bytes" else _text(kind.name, field, profile, index)


def _int(limits: Limits, profile: str, index: int) -> int:
    low, high = limits
    if profile == "least":
        return low or 0
    if profile == "most" and high is not None:
        return high
    wanted = (low or 0) + index + 1
    return wanted if high is None else min(wanted, high)


def _text(name: str, field: Field, profile: str, index: int) -> str:
    if field.allowed:
        return field.allowed[-1 if profile == "most" else index % len(field.allowed)]
    return _TEXTS[name][profile]


def _list(kind: Kind, field: Field, profile: str, index: int) -> list[Value]:
    length = _LENGTHS[profile]
    if not kind.is_nested:
        return [_element(kind, field, profile, index + at) for at in range(length)]
    return [
        [_element(kind, field, profile, index + at + below) for below in range(2)]
        for at in range(length)
    ]


def _element(kind: Kind, field: Field, profile: str, index: int) -> Value:
    """An element of a list: a word, some bytes or a number."""
    if kind.name == "names":
        return field.allowed[index % len(field.allowed)]
    if kind.name == "bin?[][]" and index % 2:
        return None
    if kind.name.startswith("bin"):
        return _BYTES[profile] * (1 + index % 2)
    low, high = _WIDTHS[kind.name.partition("[")[0]]
    return index + 1 if profile == "typical" else (high, low, high - 1)[index % 3]


def _json_value(kind: Kind, field: Field, limits: Limits, profile: str, index: int) -> Value:
    """A JSON value; nullable ones are null at least."""
    if kind.nullable and profile == "least":
        return None
    return _json_of(kind.value, field, limits, profile, index)


def _json_of(value: str, field: Field, limits: Limits, profile: str, index: int) -> Value:
    if value.endswith("[]"):
        inner = value.removesuffix("[]")
        return [
            _json_of(inner, field, limits, profile, index + at) for at in range(_LENGTHS[profile])
        ]
    if value.endswith("{}"):
        inner = value.removesuffix("{}")
        return {
            str(index + at): _json_of(inner, field, limits, profile, index + at)
            for at in range(_LENGTHS[profile])
        }
    if value == "int":
        return _int(limits, profile, index)
    if value == "bool":
        return profile != "least"
    if value == "str":
        return _text("json:str", field, profile, index)
    return {"a": 1} if profile == "typical" else {}
