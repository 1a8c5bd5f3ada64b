"""Our side of a row, and the two that stand beside it: construct and msgspec's msgpack.

``pdwire``
    the generated codec. Its encoder gets what SGLang's own callers hold: lists of pointers,
    numpy arrays of page indices.
``construct``
    the second reading of the same spec: interpreted, strict, and reading what it wrote.
``msgpack``
    the same fields in a ``msgspec.Struct``, arrays as lists of integers.
``msgpack-raw``
    the same with each array as its bytes, which a reader would still have to view.

Neither of the last two is the wire format; they say what a general format would cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np

from pdwire.codec import Codec, Message
from pdwire.reading import Reading, Value, packaged_spec
from pdwire_conformance.bench.cases import Values
from pdwire_conformance.proof.convert import to_message
from pdwire_conformance.proof.spec import layout_of

__all__ = ["NAMES", "Contender", "contenders", "held"]

NAMES: Final = ("pdwire", "construct", "msgpack", "msgpack-raw")
Read = Mapping[str, Value]
_PAGE_INDICES: Final = ("dst_kv_indices", "dst_device_kv_indices")
_DTYPES: Final = {"i32": np.int32, "u32": np.uint32, "u64": np.uint64}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """The calls that are timed; neither takes an argument."""

    name: str
    decode: Callable[[], Any]
    encode: Callable[[], Any]


def held(codec: Codec[Any], values: Values) -> Message:
    """The message as a sender has it: pages in arrays of their own, all else as listed."""
    known = set(codec.fields) | {"is_dummy"}
    given = {name: value for name, value in values.items() if name in known}
    for name in _PAGE_INDICES:
        if name in given:
            given[name] = np.array(given[name], np.int32)
    return to_message(codec, given)


def contenders(codec: Codec[Any], message: Message, frames: list[bytes]) -> dict[str, Contender]:
    """All four, by name."""
    reading = Reading(packaged_spec())
    ours = reading.message(codec.message, backend=codec.backend)
    values = reading.decode(ours, codec.layout, frames)
    made = (
        _ours(codec, message, frames),
        Contender(
            name="construct",
            decode=lambda: reading.decode(ours, codec.layout, frames),
            encode=lambda: reading.encode(ours, codec.layout, values),
        ),
        _msgpack("msgpack", codec, values, raw=False),
        _msgpack("msgpack-raw", codec, values, raw=True),
    )
    return {contender.name: contender for contender in made}


def _ours(codec: Codec[Any], message: Message, frames: list[bytes]) -> Contender:
    decode, encode = codec.decode, codec.encode
    return Contender(name="pdwire", decode=lambda: decode(frames), encode=lambda: encode(message))


def _msgpack(name: str, codec: Codec[Any], values: Read, *, raw: bool) -> Contender:
    kinds = {field: _kind(codec, field) for field in values}
    annotations = [(field, _annotation(kind, raw=raw)) for field, kind in kinds.items()]
    struct = msgspec.defstruct(codec.cls.__name__, annotations)
    given = {field: _packed(value, kinds[field]) for field, value in values.items()}
    thing = struct(**(given if raw else values))
    encode = msgspec.msgpack.Encoder().encode
    decode = msgspec.msgpack.Decoder(struct).decode
    packed = encode(thing)
    return Contender(name=name, decode=lambda: decode(packed), encode=lambda: encode(thing))


def _kind(codec: Codec[Any], field: str) -> str:
    """The field's type in the spec."""
    message, _ = layout_of(codec.backend, codec.message, codec.releases[0])
    kind: str = next(each["type"] for each in message["fields"] if each["name"] == field)
    return kind


def _annotation(kind: str, *, raw: bool) -> object:
    if kind.endswith("[][]"):
        return list[bytes] if raw else list[list[int]]
    if kind.endswith("[]"):
        return bytes if raw else list[int]
    others = {"names": list[str], "bytes": bytes, "flag": bool, "dec": int | None, "u64": int}
    return others.get(kind, str | None)


def _packed(value: Value, kind: str) -> object:
    """Arrays as their bytes, all else as it is."""
    if not kind.endswith("[]"):
        return value
    dtype = _DTYPES[kind.partition("[")[0]]
    if isinstance(value, list) and kind.endswith("[][]"):
        return [np.array(part, dtype).tobytes() for part in value]
    return np.array(value, dtype).tobytes()
