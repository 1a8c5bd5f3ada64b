"""Testees that lay frames against fields wrongly: one too far, two swapped, too few, too many."""

from __future__ import annotations

from typing import Any

from pdwire_conformance.proof.spec import layout_of
from pdwire_conformance.testees.ours import Generated
from pdwire_conformance.testees.protocol import Refused

Values = dict[str, Any]


class OffByOne(Generated):
    """Reads the numbers behind the state pointers one frame too far."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        told = super().decode(backend, release, message, frames)
        if (backend, message) == ("mooncake", "KVArgsRegisterInfo"):
            told["dst_tp_rank"] = told["dst_attn_tp_size"]
            told["dst_attn_tp_size"] = told["dst_kv_item_len"]
        return told


class Swapped(Generated):
    """Has frames 6 and 7 the other way around, in both directions: it agrees with itself."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        return super().decode(backend, release, message, _swapped(message, frames))

    def encode(self, backend: str, release: str, message: str, values: Values) -> list[bytes]:
        return _swapped(message, super().encode(backend, release, message, values))


def _swapped(message: str, frames: list[bytes]) -> list[bytes]:
    if message != "TransferInfo" or len(frames) < 8:
        return frames
    return [*frames[:6], frames[7], frames[6], *frames[8:]]


class ExtraFrames(Generated):
    """Takes what it needs and ignores the frames behind it."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        most = _most(backend, release, message)
        return super().decode(backend, release, message, frames[:most])


class MissingFrames(Generated):
    """A missing frame at the end is an empty one."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        most = _most(backend, release, message)
        told = frames if len(frames) < most - 1 else [*frames, b""][:most] or frames
        return super().decode(backend, release, message, told)


def _most(backend: str, release: str, message: str) -> int:
    whole, layout = layout_of(backend, message, release)
    return int(layout["counts"][-1]) + (1 if whole["guard"] else 0)


class NoGuard(Generated):
    """A message without its guard is as good as one with it."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        whole, layout = layout_of(backend, message, release)
        if whole["guard"] and len(frames) in layout["counts"]:
            frames = [whole["guard"].encode(), *frames]
        return super().decode(backend, release, message, frames)


class AnyGuard(Generated):
    """Looks for a first frame that ends like a guard, whoever's it is."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        whole, _ = layout_of(backend, message, release)
        if whole["guard"] and frames and frames[0].endswith(b"MsgGuard"):
            frames = [whole["guard"].encode(), *frames[1:]]
        return super().decode(backend, release, message, frames)


class AnyTag(Generated):
    """Was told which message it is, and does not look at the tag."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        whole, layout = layout_of(backend, message, release)
        place = 1 if whole["guard"] else 0
        if layout["frames"] and layout["frames"][0]["const"] and len(frames) > place:
            tag = layout["frames"][0]["const"].encode()
            frames = [*frames[:place], tag, *frames[place + 1 :]]
        return super().decode(backend, release, message, frames)


class AnyLayout(Generated):
    """Where its release's layout does not fit, it reads by another: 0.5.16 as 0.5.17."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        try:
            return super().decode(backend, release, message, frames)
        except Refused as fault:
            for other in reversed(self.hello().releases[backend]):
                try:
                    return super().decode(backend, other, message, frames)
                except Exception:  # noqa: BLE001, S112  # it tries them all
                    continue
            raise fault from None


class Guesses(Generated):
    """Two layouts read the frames differently: it takes the newest, and says so to nobody."""

    def recognise(self, backend: str, frames: list[bytes], direction: str) -> dict[str, Any]:
        told = super().recognise(backend, frames, direction)["recognised"]
        newest = {**told["candidates"][-1]}
        newest["layouts"] = newest["layouts"][-1:]
        chosen = [newest] if told["ambiguous"] else told["candidates"]
        return {"recognised": {"ambiguous": False, "candidates": chosen}}


class AlwaysAmbiguous(Generated):
    """Several layouts fit, so it gives up, though they all read the same."""

    def recognise(self, backend: str, frames: list[bytes], direction: str) -> dict[str, Any]:
        told = super().recognise(backend, frames, direction)["recognised"]
        several = sum(len(each["layouts"]) for each in told["candidates"]) > 1
        return {"recognised": told | {"ambiguous": several}}


class BothWays(Generated):
    """Does not know which way a message travels."""

    def recognise(self, backend: str, frames: list[bytes], direction: str) -> dict[str, Any]:
        found = super().recognise(backend, frames, "")
        if not direction:
            return found
        first = found["recognised"]["candidates"][0]
        return {"recognised": {"ambiguous": False, "candidates": [first | {"layouts": ["r1"]}]}}
