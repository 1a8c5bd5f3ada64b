"""Text frames: words, UTF-8, hosts and ``host:port``, comma lists.

A host is an IPv4 address, an IPv6 address (bare or in brackets, ``%scope`` of letters,
digits and ``_ . ~ -`` kept as it came) or a host name of RFC 1123 letters plus
underscore, at most 253 characters, whose last label is not all digits. ``host:port``
needs brackets around an IPv6 address and a canonical port 1..65535 (field reports F7 and
F8): whatever fails here would fail later, in the send path, where no one can answer for
it.

The same few hosts and sessions come with every request, so validated spellings are
remembered in a bounded table.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import Any, Final

from pdwire.frames.place import Place, as_bytes, lossy, refuse

__all__ = [
    "host",
    "hostport",
    "names",
    "opaque",
    "put_host",
    "put_hostport",
    "put_names",
    "put_opaque",
    "put_text",
    "put_utf8",
    "text",
    "utf8",
]

_LONGEST: Final = 320
_LABEL: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME: Final = re.compile(rf"(?:{_LABEL}\.)*(?!\d+\Z){_LABEL}")
_SCOPE: Final = re.compile(r"[A-Za-z0-9_.~-]{1,64}")
_PORT: Final = re.compile(r"[1-9][0-9]{0,4}")
_WORD: Final = re.compile(rb"[!-~]+")


def _is_host(value: str) -> bool:
    inner = value[1:-1] if value[:1] == "[" and value[-1:] == "]" else value
    try:
        address = ipaddress.ip_address(inner)
    except ValueError:
        return inner is value and len(value) <= 253 and _NAME.fullmatch(value) is not None
    if address.version == 4:
        return inner is value
    return address.scope_id is None or _SCOPE.fullmatch(address.scope_id) is not None


@lru_cache(maxsize=4096)
def _known_host(raw: bytes) -> str:
    """The text of a valid host; ``ValueError`` otherwise (failures are not remembered)."""
    value = str(raw, "ascii")
    if not _is_host(value):
        raise ValueError(value)
    return value


@lru_cache(maxsize=4096)
def _known_hostport(raw: bytes) -> str:
    value = str(raw, "ascii")
    name, colon, port = value.rpartition(":")
    bare_v6 = ":" in name and name[:1] != "["
    if not colon or bare_v6 or not _is_host(name):
        raise ValueError(value)
    if not _PORT.fullmatch(port) or int(port) > 65535:
        raise ValueError(value)
    return value


def host(raw: Any, at: Place) -> str:
    """A host without a port."""
    if raw.__class__ is not bytes:
        raw = as_bytes(raw, at)
    try:
        if len(raw) <= _LONGEST:
            return _known_host(raw)
    except ValueError:
        pass
    refuse(at, raw)


def hostport(raw: Any, at: Place) -> str:
    """``host:port``."""
    if raw.__class__ is not bytes:
        raw = as_bytes(raw, at)
    try:
        if len(raw) <= _LONGEST:
            return _known_hostport(raw)
    except ValueError:
        pass
    refuse(at, raw)


@lru_cache(maxsize=4096)
def _known_word(raw: bytes) -> str:
    if not _WORD.fullmatch(raw):
        raise ValueError(raw)
    return str(raw, "ascii")


def text(raw: Any, at: Place) -> str:
    """Printable ASCII without blanks, not empty."""
    if raw.__class__ is not bytes:
        raw = as_bytes(raw, at)
    try:
        value = _known_word(raw) if len(raw) <= _LONGEST else _long_word(raw)
    except ValueError:
        refuse(at, raw)
    if at.allowed and value not in at.allowed:
        refuse(at, raw)
    return value


def _long_word(raw: bytes) -> str:
    if not _WORD.fullmatch(raw):
        raise ValueError(raw)
    return str(raw, "ascii")


def utf8(raw: Any, at: Place) -> str:
    """Valid UTF-8, not empty."""
    came = as_bytes(raw, at)
    try:
        value = str(came, "utf-8")
    except UnicodeDecodeError:
        refuse(at, came)
    if not value:
        refuse(at, came)
    return value


def opaque(raw: Any, at: Place) -> bytes:
    """Bytes that this protocol does not look into."""
    return raw if raw.__class__ is bytes else as_bytes(raw, at)


def names(raw: Any, at: Place) -> tuple[str, ...]:
    """A comma list of the field's words."""
    came = as_bytes(raw, at)
    words = tuple(came.decode("latin-1").split(",")) if came else ()
    for word in words:
        if word not in at.allowed:
            refuse(at, came, f"{word[:32]!r} is not one of {', '.join(at.allowed)}")
    return words


def _put(value: Any, at: Place, valid: bool, encoding: str) -> bytes:
    if not valid:
        lossy(at, value)
    try:
        return str(value).encode(encoding)
    except UnicodeEncodeError:
        lossy(at, value)


def _encoded(value: Any, at: Place, known: Any) -> bytes:
    """Encode through the reader's own table, so that both ends share one rule."""
    raw = _put(value, at, isinstance(value, str) and 0 < len(value) <= _LONGEST, "utf-8")
    try:
        known(raw)
    except ValueError:
        lossy(at, value)
    return raw


def put_host(value: Any, at: Place) -> bytes:
    """The bytes of a host."""
    return _encoded(value, at, _known_host)


def put_hostport(value: Any, at: Place) -> bytes:
    """The bytes of ``host:port``."""
    return _encoded(value, at, _known_hostport)


def put_text(value: Any, at: Place) -> bytes:
    """The bytes of a word."""
    raw = _put(value, at, isinstance(value, str), "utf-8")
    if not _WORD.fullmatch(raw) or (at.allowed and value not in at.allowed):
        lossy(at, value)
    return raw


def put_utf8(value: Any, at: Place) -> bytes:
    """UTF-8 bytes, not empty."""
    return _put(value, at, isinstance(value, str) and value != "", "utf-8")


def put_opaque(value: Any, at: Place) -> bytes:
    """The bytes themselves."""
    if isinstance(value, bytes | bytearray) or _is_octets(value):
        return bytes(value)
    lossy(at, value, "not bytes")


def _is_octets(value: Any) -> bool:
    """A view whose elements are bytes, so that its length is a number of bytes."""
    return isinstance(value, memoryview) and value.ndim == 1 and value.itemsize == 1


def put_names(value: Any, at: Place) -> bytes:
    """A comma list of the field's words."""
    listed = isinstance(value, tuple | list)
    if not listed or not all(isinstance(word, str) and word in at.allowed for word in value):
        lossy(at, value)
    return ",".join(value).encode("ascii")
