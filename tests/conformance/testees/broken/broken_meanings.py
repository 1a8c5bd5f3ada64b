"""Testees that take empty, absent, none and dummy for one another."""

from __future__ import annotations

from typing import Any

from pdwire_conformance.testees.ours import Generated

Values = dict[str, Any]


class DummyByPages(Generated):
    """No KV pages: a dummy, whatever else is said (field report E1)."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        told = super().decode(backend, release, message, frames)
        if "is_dummy" in told:
            told["is_dummy"] = not told["dst_kv_indices"]
        return told


class NoneAsText(Generated):
    """``str(None)`` went over the wire, and is None again (field report F13)."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        if message == "TransferInfo":
            frames = [b"" if frame == b"None" else frame for frame in frames]
        return super().decode(backend, release, message, frames)


class NoneSpelled(Generated):
    """Sends ``None`` where a frame is to be empty."""

    def encode(self, backend: str, release: str, message: str, values: Values) -> list[bytes]:
        told = super().encode(backend, release, message, values)
        return [frame or b"None" for frame in told] if message == "TransferInfo" else told


class ZeroForNone(Generated):
    """No prefix and a prefix of no tokens are the same."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        told = super().decode(backend, release, message, frames)
        if told.get("decode_prefix_len", 0) is None:
            told["decode_prefix_len"] = 0
        return told


class AbsentAsEmpty(Generated):
    """Sends every trailing frame, the ones without a value empty."""

    def encode(self, backend: str, release: str, message: str, values: Values) -> list[bytes]:
        told = super().encode(backend, release, message, values)
        return told + [b""] * (5 - len(told)) if message == "ABORT" else told


class DropsField(Generated):
    """The layer ids are of no use to it, so it does not send them."""

    def encode(self, backend: str, release: str, message: str, values: Values) -> list[bytes]:
        given = values | {"dst_kv_layer_ids": []} if "dst_kv_layer_ids" in values else values
        return super().encode(backend, release, message, given)


class LeavesOut(Generated):
    """Does not tell a field that it has read."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        told = super().decode(backend, release, message, frames)
        told.pop("dst_dcp_rank", None)
        return told


class SilentLoss(Generated):
    """What an older layout cannot carry is left out, and nobody hears of it."""

    def encode(self, backend: str, release: str, message: str, values: Values) -> list[bytes]:
        carried = set(self.codec(backend, release, message).fields)
        given = {name: value for name, value in values.items() if name in carried}
        return super().encode(backend, release, message, given)


class WidensEncoder(Generated):
    """Checks what it reads and not what it sends: numbers are cut down to what fits."""

    def encode(self, backend: str, release: str, message: str, values: Values) -> list[bytes]:
        given = {
            name: value % 2**16 or 1 if name.endswith("_port") and value is not None else value
            for name, value in values.items()
        }
        return super().encode(backend, release, message, given)
