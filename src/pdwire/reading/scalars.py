"""Scalar types as constructs: decimals, flags, fixed-width integers, texts, hosts, names.

Rules: a construct here parses a whole frame and refuses anything but the one canonical
spelling of a value; it builds only what it would parse. All are interpreted, none is
ever compiled: compiled construct parsers silently accept truncated input.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import construct as c

from pdwire.reading import hosts
from pdwire.reading.errors import Refused, shorten, shorten_value

_DECIMAL = re.compile(rb"-?(?:0|[1-9][0-9]*)")
_PRINTABLE = re.compile(r"[!-~]+")
_WIDTHS = {"u32": c.Int32ul, "u64": c.Int64ul, "u32be": c.Int32ub}

Check = Callable[[str], str | None]


def integer(value: object, low: int | None, high: int | None) -> int:
    """``value`` if it is an integer (no boolean) within ``low..high``; else :class:`Refused`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise Refused("an integer", shorten_value(value))
    if (low is not None and value < low) or (high is not None and value > high):
        raise Refused(_range("an integer", low, high), shorten_value(value))
    return value


def _range(what: str, low: int | None, high: int | None) -> str:
    return what if low is None and high is None else f"{what} {_edge(low)}..{_edge(high)}"


def _edge(bound: int | None) -> str:
    if bound is None:
        return ""
    powers = {2**31 - 1: "2^31-1", 2**32 - 1: "2^32-1", 2**63 - 1: "2^63-1", 2**64 - 1: "2^64-1"}
    return powers.get(bound, str(bound))


def decimal(low: int | None, high: int | None) -> Any:  # noqa: ANN401 - construct has no types
    """Canonical ASCII decimal: digits, no sign but ``-`` below zero, no leading zeros."""
    expected = _range("a canonical decimal", low, high)
    edges = [str(abs(bound)) for bound in (low, high) if bound is not None]
    longest = max((len(edge) for edge in edges), default=20)

    def decode(raw: bytes, _: object) -> int:
        # The length is looked at first: int() of a long text is slow and has a limit.
        if len(raw) > longest + 1 or raw == b"-0" or _DECIMAL.fullmatch(raw) is None:
            raise Refused(expected)
        number = int(raw)
        if (low is not None and number < low) or (high is not None and number > high):
            raise Refused(expected)
        return number

    def encode(value: object, _: object) -> bytes:
        return str(integer(value, low, high)).encode("ascii")

    return c.ExprAdapter(c.GreedyBytes, decode, encode)


def flag() -> Any:  # noqa: ANN401
    """ASCII ``0`` or ``1``."""

    def decode(raw: bytes, _: object) -> bool:
        if raw not in {b"0", b"1"}:
            raise Refused('"0" or "1"')
        return raw == b"1"

    def encode(value: object, _: object) -> bytes:
        if not isinstance(value, bool):
            raise Refused("true or false", shorten_value(value))
        return b"1" if value else b"0"

    return c.ExprAdapter(c.GreedyBytes, decode, encode)


def fixed(kind: str, low: int | None, high: int | None) -> Any:  # noqa: ANN401
    """One integer of a fixed width, alone in its frame."""
    width: int = _WIDTHS[kind].sizeof()

    def decode(raw: bytes, _: object) -> int:
        if len(raw) != width:
            raise Refused(f"{kind}: exactly {width} bytes")
        return integer(_WIDTHS[kind].parse(raw), low, high)

    def encode(value: object, _: object) -> bytes:
        built: bytes = _WIDTHS[kind].build(integer(value, low, high))
        return built

    return c.ExprAdapter(c.GreedyBytes, decode, encode)


def text(encoding: str, check: Check, allowed: tuple[str, ...]) -> Any:  # noqa: ANN401
    """Text in ``encoding`` for which ``check`` finds nothing to expect instead."""

    def verdict(value: str) -> str | None:
        if allowed and value not in allowed:
            return "one of " + ", ".join(allowed)
        return check(value)

    def decode(raw: bytes, _: object) -> str:
        try:
            value = raw.decode(encoding)
        except UnicodeDecodeError as error:
            raise Refused(f"{encoding.upper()} text") from error
        expected = verdict(value)
        if expected is not None:
            raise Refused(expected)
        return value

    def encode(value: object, _: object) -> bytes:
        if not isinstance(value, str):
            raise Refused("text", shorten_value(value))
        expected = verdict(value)
        if expected is not None:
            raise Refused(expected, shorten_value(value))
        try:
            return value.encode(encoding)
        except UnicodeEncodeError as error:
            raise Refused(f"{encoding.upper()} text", shorten_value(value)) from error

    return c.ExprAdapter(c.GreedyBytes, decode, encode)


def printable(value: str) -> str | None:
    """Type ``text``."""
    return None if _PRINTABLE.fullmatch(value) else "printable ASCII without spaces, not empty"


def anything(value: str) -> str | None:
    """Type ``utf8``."""
    return None if value else "text, not empty"


def host(value: str) -> str | None:
    """Type ``host``."""
    return None if hosts.is_host(value) else "a host: IPv4, IPv6 or a host name"


def hostport(value: str) -> str | None:
    """Type ``hostport``."""
    if hosts.is_hostport(value):
        return None
    return "host:port, IPv6 in brackets, port 1..65535"


def names(allowed: tuple[str, ...]) -> Any:  # noqa: ANN401
    """A comma list of ``allowed`` words; no words are no bytes."""
    expected = "a comma list of " + ", ".join(allowed)

    def check(words: list[str], came: str | None) -> None:
        if any(word not in allowed for word in words):
            raise Refused(expected, came)

    def decode(raw: bytes, _: object) -> list[str]:
        words = raw.decode("ascii", "replace").split(",") if raw else []
        check(words, shorten(raw))
        return words

    def encode(value: object, _: object) -> bytes:
        if not isinstance(value, list | tuple):
            raise Refused("a list of words", shorten_value(value))
        check(list(value), shorten_value(value))
        return ",".join(value).encode("ascii")

    return c.ExprAdapter(c.GreedyBytes, decode, encode)


def opaque() -> Any:  # noqa: ANN401
    """Bytes as they are."""

    def encode(value: object, _: object) -> bytes:
        if not isinstance(value, bytes | bytearray | memoryview):
            raise Refused("bytes", shorten_value(value))
        return bytes(value)

    return c.ExprAdapter(c.GreedyBytes, lambda raw, _: raw, encode)


def constant(word: str) -> Any:  # noqa: ANN401
    """Exactly the bytes of ``word``."""
    expected = word.encode("utf-8")

    def decode(raw: bytes, _: object) -> bytes:
        if raw != expected:
            raise Refused(f'the constant "{word}"')
        return raw

    return c.ExprAdapter(c.GreedyBytes, decode, lambda _value, _: expected)
