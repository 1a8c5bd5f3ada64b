"""Addresses of bootstrap servers as texts: ``host:port``, an IPv6 host in brackets.

Strict, so that nothing but a host and a port ever reaches a name server or a socket.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final

__all__ = ["bare_host", "host_port", "parse"]

_LABEL: Final = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_LONGEST: Final = 253
"""Characters of a host name at most, as name servers have it."""
_PORTS: Final = 65_535


def bare_host(host: str) -> str:
    """A host without the brackets that an IPv6 address has in front of a port."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def host_port(host: str, port: int) -> str:
    """``host:port``, with an IPv6 host in brackets."""
    bare = bare_host(host)
    return f"[{bare}]:{port}" if ":" in bare else f"{bare}:{port}"


def parse(address: str) -> tuple[str, int]:
    """Host (without brackets) and port of an address.

    Raises:
        ValueError: it is none; the text says what is wrong with it.
    """
    host, colon, port = address.rpartition(":")
    if not colon:
        raise ValueError(f"{address!r} has no port: host:port is expected")
    if not (port.isascii() and port.isdigit() and len(port) <= len(str(_PORTS))):
        raise ValueError(f"{address!r}: the port is not a number: host:port is expected")
    if not 1 <= int(port) <= _PORTS:
        raise ValueError(f"{address!r}: the port is not in 1..{_PORTS}")
    if host.startswith("[") and host.endswith("]"):
        return _ipv6(host[1:-1], address), int(port)
    if ":" in host:
        raise ValueError(f"{address!r}: an IPv6 host stands in brackets, [host]:port")
    return _name(host, address), int(port)


def _ipv6(host: str, address: str) -> str:
    try:
        ipaddress.IPv6Address(host)
    except ValueError as error:
        raise ValueError(f"{address!r}: {error}") from None
    return host


def _name(host: str, address: str) -> str:
    if not host:
        raise ValueError(f"{address!r} has no host: host:port is expected")
    if len(host) > _LONGEST:
        raise ValueError(f"{address!r}: the host has more than {_LONGEST} characters")
    for label in host.removesuffix(".").split("."):
        if not _LABEL.fullmatch(label):
            raise ValueError(f"{address!r}: {label!r} is no part of a host name")
    return host
