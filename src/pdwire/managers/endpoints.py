"""What an endpoint is: a host, a port, and whether a name has to be asked for first.

Only numeric addresses are handed to libzmq: it asks for names on its one I/O thread, again at
every reconnect, so that one slow name server would hold up every peer (field report A1).
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final, TypeAlias

__all__ = ["Endpoint", "SendError", "bare", "is_host", "is_unspecified", "numeric", "tcp"]

Endpoint: TypeAlias = tuple[str, int]

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,253}", re.ASCII)
_EVERY: Final = frozenset({"", "*", "0"})
"""Spellings of "every interface" that are no address."""


class SendError(Exception):
    """A message was not taken for an endpoint."""

    def __init__(self, endpoint: Endpoint, reason: str) -> None:
        super().__init__(f"{tcp(endpoint)}: {reason}")
        self.endpoint = endpoint
        self.reason = reason


def bare(host: str) -> str:
    """A host without the brackets that an IPv6 address may stand in."""
    return host[1:-1] if host[:1] == "[" and host[-1:] == "]" else host


def tcp(endpoint: Endpoint) -> str:
    """``tcp://host:port`` with an IPv6 host in brackets."""
    host, port = endpoint
    inner = bare(host)
    return f"tcp://[{inner}]:{port}" if ":" in inner else f"tcp://{inner}:{port}"


def numeric(host: str) -> str | None:
    """The address that a host is, without brackets; ``None`` for a name that must be asked for.

    ``localhost`` is one everywhere, by RFC 6761.
    """
    inner = bare(host)
    if inner == "localhost":
        return "127.0.0.1"
    return inner if _address(inner) is not None else None


def is_host(host: str) -> bool:
    """Whether a text can be an address or a name at all."""
    return numeric(host) is not None or _NAME.fullmatch(host) is not None


def is_unspecified(host: str) -> bool:
    """Whether a host means every interface: one can listen there, and nobody can connect to it."""
    inner = bare(host)
    found = _address(inner)
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return inner in _EVERY or (found is not None and found.is_unspecified)


def _address(inner: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(inner)
    except ValueError:
        return None
