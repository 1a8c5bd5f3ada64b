"""Wire type to Python: annotation, decoder, encoder and what an error expects.

One row per type of the spec language. Everything that the emitters know about a type
is in :data:`TYPES`; a new type is a row here and a pair of functions in
``pdwire.frames``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pdwire_codegen.model import Field, Frame

__all__ = ["TYPES", "WireType", "expected", "shape_of", "wire_type"]

Shape = Literal["scalar", "flat", "nested", "json"]


@dataclass(frozen=True, slots=True)
class WireType:
    """One row: ``dtype`` is the name of the numpy dtype for array types."""

    annotation: str
    read: str
    write: str
    says: str
    shape: Shape = "scalar"
    dtype: str = ""

    @property
    def imports(self) -> frozenset[str]:
        """Names from ``pdwire.frames`` that the annotation needs."""
        return frozenset({f"{self.dtype}Array"}) if self.dtype else frozenset()


def _flat(dtype: str, width: int) -> WireType:
    says = f"{dtype.lower()} items, a multiple of {width} bytes"
    return WireType(f"{dtype}Array", "array", "put_array", says, "flat", dtype)


def _nested(dtype: str) -> WireType:
    says = f"nested {dtype.lower()} lists, every byte used"
    return WireType(f"tuple[{dtype}Array, ...]", "lists", "put_lists", says, "nested", dtype)


TYPES: dict[str, WireType] = {
    "dec": WireType("int", "dec", "put_dec", "a canonical decimal"),
    "flag": WireType("bool", "flag", "put_flag", "0 or 1"),
    "u32": WireType("int", "u32", "put_u32", "4 bytes, little-endian"),
    "u64": WireType("int", "u64", "put_u64", "8 bytes, little-endian"),
    "u32be": WireType("int", "u32be", "put_u32be", "4 bytes, big-endian"),
    "text": WireType("str", "text", "put_text", "printable ASCII without blanks"),
    "utf8": WireType("str", "utf8", "put_utf8", "UTF-8 text"),
    "host": WireType("str", "host", "put_host", "an IP address or host name"),
    "hostport": WireType("str", "hostport", "put_hostport", "host:port, IPv6 in brackets"),
    "bytes": WireType("bytes", "opaque", "put_opaque", "bytes"),
    "i32[]": _flat("I32", 4),
    "u32[]": _flat("U32", 4),
    "u64[]": _flat("U64", 8),
    "i32[][]": _nested("I32"),
    "u32[][]": _nested("U32"),
    "u64[][]": _nested("U64"),
    "names": WireType("tuple[str, ...]", "names", "put_names", "a comma list", "nested"),
    "bin[]": WireType("tuple[bytes, ...]", "bins", "put_bins", "a msgpack array of bin", "nested"),
    "bin[][]": WireType(
        "tuple[tuple[bytes, ...], ...]",
        "bin_lists",
        "put_bin_lists",
        "a msgpack array of arrays of bin",
        "nested",
    ),
    "bin?[][]": WireType(
        "tuple[tuple[bytes | None, ...], ...]",
        "bin_or_nil_lists",
        "put_bin_or_nil_lists",
        "a msgpack array of arrays of bin or nil",
        "nested",
    ),
}
_JSON = {"int": "int", "str": "str", "bool": "bool", "object": "dict[str, Any]", "any": "Any"}


def _json(kind: str) -> str:
    if kind.endswith("?"):
        return f"{_json(kind[:-1])} | None"
    if kind.endswith("[]"):
        return f"tuple[{_json(kind[:-2])}, ...]"
    if kind.endswith("{}"):
        return f"dict[str, {_json(kind[:-2])}]"
    return _JSON[kind]


def wire_type(name: str) -> WireType:
    """The row of a type; JSON types are rows made on the spot."""
    if name.startswith("json:"):
        return WireType(_json(name[5:]), "json_key", "put_json_key", f"JSON {name[5:]}", "json")
    return TYPES[name]


def shape_of(name: str) -> Shape:
    """``scalar``, ``flat``, ``nested`` or ``json``."""
    return wire_type(name).shape


def expected(frame: Frame | Field) -> str:
    """What an error says was expected of a frame."""
    says = wire_type(frame.type).says
    if frame.allowed:
        return f"{says} of {', '.join(frame.allowed)}"
    if frame.min is not None and frame.max is not None:
        return f"{says} in {frame.min}..{frame.max}"
    return says
