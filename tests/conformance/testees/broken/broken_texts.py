"""Testees that read hosts, texts and bodies wrongly."""

from __future__ import annotations

import json
import re
from typing import Any

from pdwire_conformance.testees.ours import Generated
from pdwire_conformance.testees.protocol import Refused

Values = dict[str, Any]


class AnyPort(Generated):
    """A port is any number: 0 and 70000, too (field report F7)."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        told = [re.sub(rb"^([a-z0-9.]+):(0|[6-9][0-9]{4,})$", rb"\1:1", frame) for frame in frames]
        return super().decode(backend, release, message, told)


class SplitsAtFirstColon(Generated):
    """``host, port = text.split(":")`` knows no IPv6."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        told = super().decode(backend, release, message, frames)
        session = told.get("mooncake_session_id", "h:1")
        if len(session.split(":")) != 2:
            raise Refused("frame-value", "too many values to unpack")
        return told


class LosesScope(Generated):
    """``fe80::1%eth0`` is ``fe80::1`` (field report F8)."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        told = super().decode(backend, release, message, frames)
        for name in {"endpoint", "decode_ip"} & set(told):
            told[name] = told[name] and told[name].split("%")[0]
        return told


class Replaces(Generated):
    """What is no UTF-8 becomes question marks."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        if message == "KV_STATUS":
            frames = [frame.decode("utf-8", "replace").encode() for frame in frames]
        return super().decode(backend, release, message, frames)


class Lowercase(Generated):
    """Tags, roles and hosts are the same in any case."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        if frames and frames[0].upper() == message.encode():
            frames = [frames[0].upper(), *frames[1:]]
        return super().decode(backend, release, message, frames)


class ClosedBodies(Generated):
    """A key that it does not know is a fault of the peer (field report V4)."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        told = super().decode(backend, release, message, frames)
        if message == "ROUTE_RANK_INFO" and set(json.loads(frames[0])) != set(told):
            raise Refused("frame-value", "an unknown key")
        return told


class Forgiving(Generated):
    """A key that is missing has some value, surely."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        try:
            return super().decode(backend, release, message, frames)
        except Refused as fault:
            if "required in this release" not in fault.text:
                raise
            return dict.fromkeys(self.codec(backend, release, message).fields, 0)


class TruthyNumbers(Generated):
    """In Python ``True`` is 1, and in its JSON bodies as well."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        told = [re.sub(rb'(_size"|_rank"): ?true', rb"\1:1", frame) for frame in frames]
        return super().decode(backend, release, message, told)


class LastKey(Generated):
    """Of a key that comes twice in a query the last one counts."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        if message == "ROUTE_GET" and len(frames) == 1:
            frames = [b"&".join(reversed(frames[0].split(b"&")))]
        return super().decode(backend, release, message, frames)


class LooseTail(Generated):
    """Reads a notification from the left and does not mind what is left over."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        try:
            return super().decode(backend, release, message, frames)
        except Refused:
            if not message.startswith("NOTIF_") or len(frames) != 1:
                raise
            shorter = frames[0].rpartition(b"_")[0]
            return super().decode(backend, release, message, [shorter])


class AnyWords(Generated):
    """A memory kind that it does not know is memory all the same (field report F9)."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        try:
            return super().decode(backend, release, message, frames)
        except Refused as fault:
            if fault.field != "dst_kv_mem_kinds" or fault.frame is None:
                raise
            place = fault.frame + 1  # behind the guard
            words = b",".join(b"VRAM" for _ in frames[place].split(b","))
            told = [*frames[:place], words, *frames[place + 1 :]]
            return super().decode(backend, release, message, told)
