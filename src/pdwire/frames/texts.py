"""Text frames: words, UTF-8, hosts and ``host:port``, comma lists.

A host is an IPv4 address, an IPv6 address (bare or in brackets, ``%scope`` of letters,
digits and ``_ . ~ -`` kept as it came) or a host name of RFC 1123 letters plus
underscore, at most 253 characters, whose last label is not all digits. ``host:port``
needs brackets around an IPv6 address and a canonical port 1..65535 (field reports F7 and
F8): whatever fails here would fail later, in the send path, where no one can answer for
it.

The same few hosts and sessions come with every request, so valid spellings are remembered
in bounded tables: ``HOSTS``, ``HOSTPORTS`` and ``WORDS`` by the frame, three others by the
text. Ask them with ``get``, for another thread may empty them at any time.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from pdwire.frames.place import Place, as_bytes, lossy, refuse

__all__ = [
    "HOSTPORTS",
    "HOSTS",
    "WORDS",
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

K = TypeVar("K")
V = TypeVar("V")

_LONGEST: Final = 320
_MOST: Final = 4096
_LABEL: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME: Final = re.compile(rf"(?:{_LABEL}\.)*(?!\d+\Z){_LABEL}")
_SCOPE: Final = re.compile(r"[A-Za-z0-9_.~-]{1,64}")
_PORT: Final = re.compile(r"[1-9][0-9]{0,4}")
_WORD: Final = re.compile(rb"[!-~]+")

HOSTS: Final[dict[bytes, str]] = {}
HOSTPORTS: Final[dict[bytes, str]] = {}
WORDS: Final[dict[bytes, str]] = {}
_HOST_BYTES: Final[dict[str, bytes]] = {}
_HOSTPORT_BYTES: Final[dict[str, bytes]] = {}
_WORD_BYTES: Final[dict[str, bytes]] = {}


def _remember(table: dict[K, V], key: K, value: V) -> None:
    if len(table) >= _MOST:
        table.clear()
    table[key] = value


def _is_host(value: str) -> bool:
    inner = value[1:-1] if value[:1] == "[" and value[-1:] == "]" else value
    try:
        address = ipaddress.ip_address(inner)
    except ValueError:
        return inner is value and len(value) <= 253 and _NAME.fullmatch(value) is not None
    if address.version == 4:
        return inner is value
    return address.scope_id is None or _SCOPE.fullmatch(address.scope_id) is not None


def _valid_host(raw: bytes) -> str:
    """The text of a valid host; ``ValueError`` otherwise."""
    value = str(raw, "ascii")
    if len(raw) > _LONGEST or not _is_host(value):
        raise ValueError(value)
    return value


def _valid_hostport(raw: bytes) -> str:
    value = str(raw, "ascii")
    name, colon, port = value.rpartition(":")
    bare_v6 = ":" in name and name[:1] != "["
    if len(raw) > _LONGEST or not colon or bare_v6 or not _is_host(name):
        raise ValueError(value)
    if not _PORT.fullmatch(port) or int(port) > 65535:
        raise ValueError(value)
    return value


def _valid_word(raw: bytes) -> str:
    if not _WORD.fullmatch(raw):
        raise ValueError(raw)
    return str(raw, "ascii")


def _read(raw: Any, at: Place, valid: Callable[[bytes], str], known: dict[bytes, str]) -> str:
    came = as_bytes(raw, at)
    try:
        value = valid(came)
    except ValueError:
        refuse(at, came)
    if at.allowed and value not in at.allowed:
        refuse(at, came)
    if len(came) <= _LONGEST:
        _remember(known, came, value)
    return value


def host(raw: Any, at: Place) -> str:
    """A host without a port."""
    return _read(raw, at, _valid_host, HOSTS)


def hostport(raw: Any, at: Place) -> str:
    """``host:port``."""
    return _read(raw, at, _valid_hostport, HOSTPORTS)


def text(raw: Any, at: Place) -> str:
    """Printable ASCII without blanks, not empty."""
    return _read(raw, at, _valid_word, WORDS)


def utf8(raw: Any, at: Place) -> str:
    """Valid UTF-8, not empty."""
    came = as_bytes(raw, at)
    try:
        value = str(came, "utf-8")
    except UnicodeDecodeError:
        refuse(at, came)
    if not value or (at.allowed and value not in at.allowed):
        refuse(at, came)
    return value


def opaque(raw: Any, at: Place) -> bytes:
    """Bytes that this protocol does not look into."""
    return raw if raw.__class__ is bytes else as_bytes(raw, at)


def names(raw: Any, at: Place) -> tuple[str, ...]:
    """A comma list of the field's words."""
    came = as_bytes(raw, at)
    first = came[: came.find(b",")] if b"," in came else came
    word, commas = str(first, "latin-1"), came.count(b",")
    # Most often it is one word again and again. The length is looked at before that is built.
    alike = word in at.allowed and len(came) == len(first) * (commas + 1) + commas
    if alike and came == first + (b"," + first) * commas:
        return (word,) * (commas + 1)
    words = tuple(str(came, "latin-1").split(",")) if came else ()
    for word in words:
        if word not in at.allowed:
            refuse(at, came, f"{word[:32]!r} is not one of {', '.join(at.allowed)}")
    return words


def _written(
    value: Any, at: Place, valid: Callable[[bytes], str], written: dict[str, bytes]
) -> bytes:
    """Encode by the reader's own rule, so that both ends share one."""
    raw = put_utf8(value, at)
    try:
        valid(raw)
    except ValueError:
        lossy(at, value)
    if len(raw) <= _LONGEST:
        _remember(written, str(value), raw)
    return raw


def put_host(value: Any, at: Place) -> bytes:
    """The bytes of a host."""
    try:
        if not at.allowed:
            return _HOST_BYTES[value]
    except (KeyError, TypeError):
        pass  # new, or no text
    return _written(value, at, _valid_host, _HOST_BYTES)


def put_hostport(value: Any, at: Place) -> bytes:
    """The bytes of ``host:port``."""
    try:
        if not at.allowed:
            return _HOSTPORT_BYTES[value]
    except (KeyError, TypeError):
        pass  # new, or no text
    return _written(value, at, _valid_hostport, _HOSTPORT_BYTES)


def put_text(value: Any, at: Place) -> bytes:
    """The bytes of a word."""
    try:
        if not at.allowed:
            return _WORD_BYTES[value]
    except (KeyError, TypeError):
        pass  # new, or no text
    return _written(value, at, _valid_word, _WORD_BYTES)


def put_utf8(value: Any, at: Place) -> bytes:
    """UTF-8 bytes, not empty."""
    if not isinstance(value, str) or not value or (at.allowed and value not in at.allowed):
        lossy(at, value)
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError:
        lossy(at, value)


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
    try:
        valid = isinstance(value, tuple | list) and frozenset(at.allowed).issuperset(value)
    except TypeError:  # a list is no word
        valid = False
    if not valid:
        lossy(at, value)
    return ",".join(value).encode("ascii")
