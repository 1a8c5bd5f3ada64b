"""Testees that take numbers which are not canonical decimals; each rewrites them for our codec.

Every class is one habit of a real language's number parser.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from pdwire_conformance.proof.spec import layout_of
from pdwire_conformance.testees.ours import Generated

Values = dict[str, Any]


class _Rewrites(Generated):
    """Rewrites every frame that is a decimal before our decoder sees it."""

    def decode(self, backend: str, release: str, message: str, frames: list[bytes]) -> Values:
        whole, layout = layout_of(backend, message, release)
        guard = 1 if whole["guard"] else 0
        told = list(frames)
        for frame in layout["frames"]:
            place = frame["position"] + guard
            if frame["type"] == "dec" and place < len(told):
                told[place] = self.rewrite(told[place])
        return super().decode(backend, release, message, told)

    def rewrite(self, raw: bytes) -> bytes:
        """What the habit makes of a frame."""
        raise NotImplementedError


class Spaces(_Rewrites):
    """``int(" 7 ")`` is 7."""

    def rewrite(self, raw: bytes) -> bytes:
        return raw.strip(b" ")


class LineEnds(_Rewrites):
    r"""A ``$`` in a pattern matches before a final ``\n``."""

    def rewrite(self, raw: bytes) -> bytes:
        return raw.removesuffix(b"\n")


class Underscores(_Rewrites):
    """``int("1_000")`` is 1000."""

    def rewrite(self, raw: bytes) -> bytes:
        return re.sub(rb"(?<=[0-9])_(?=[0-9])", b"", raw)


class AnyDigits(_Rewrites):
    """``str.isdigit`` and ``int`` take the digits of every script."""

    def rewrite(self, raw: bytes) -> bytes:
        try:
            return "".join(str(unicodedata.digit(c, c)) for c in raw.decode("utf-8")).encode()
        except UnicodeError:
            return raw


class Zeros(_Rewrites):
    """Zeros in front do no harm to a value."""

    def rewrite(self, raw: bytes) -> bytes:
        return re.sub(rb"^0+(?=[0-9])", b"", raw)


class Plus(_Rewrites):
    """``+5`` is 5."""

    def rewrite(self, raw: bytes) -> bytes:
        return raw.removeprefix(b"+")


class MinusZero(_Rewrites):
    """``-0`` is 0."""

    def rewrite(self, raw: bytes) -> bytes:
        return b"0" if raw == b"-0" else raw


class Prefix(_Rewrites):
    r"""``strtol`` reads as far as it can: ``7\0`` is 7, and ``1e3`` is 1."""

    def rewrite(self, raw: bytes) -> bytes:
        found = re.match(rb"[0-9]+", raw)
        return found[0] if found else raw


class Hexadecimal(_Rewrites):
    """``strtol(…, 0)`` takes ``0x10``."""

    def rewrite(self, raw: bytes) -> bytes:
        return b"%d" % int(raw, 16) if re.fullmatch(rb"0x[0-9a-f]+", raw) else raw


class Doubles(_Rewrites):
    """``float`` in between: what has an exponent is a number, and wide ones are rounded."""

    def rewrite(self, raw: bytes) -> bytes:
        found = re.fullmatch(rb"[0-9]+(e[0-9]+)?", raw)
        return b"%d" % int(float(raw)) if found and len(raw) < 30 else raw


class Wraps(_Rewrites):
    """64 bits hold what they hold: a room of 2^63 becomes another."""

    def rewrite(self, raw: bytes) -> bytes:
        return b"%d" % (int(raw) % 2**63) if _is_above(raw, 2**63 - 1) else raw


class Narrow(_Rewrites):
    """Numbers of 32 bits: what is more is the most that there is."""

    def rewrite(self, raw: bytes) -> bytes:
        return b"%d" % (2**31 - 1) if _is_above(raw, 2**31 - 1) else raw


class EmptyIsZero(_Rewrites):
    """No digits: zero."""

    def rewrite(self, raw: bytes) -> bytes:
        return raw or b"0"


def _is_above(raw: bytes, most: int) -> bool:
    return re.fullmatch(rb"[1-9][0-9]{0,30}", raw) is not None and int(raw) > most
