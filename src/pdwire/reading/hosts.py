"""What a host and a host with a port are, in text.

A **host** is one of

* IPv4: four decimals 0..255 with dots between, no leading zeros;
* IPv6 as :mod:`ipaddress` reads it, with an optional ``%scope`` of letters, digits and
  ``_ . ~ -``, bare or in brackets;
* a host name after RFC 1123, underscores allowed too: labels of 1 to 63 letters, digits,
  ``-`` and ``_`` that neither begin nor end with ``-``, dots between them, at most 253
  characters. The last label is not all digits: what ends like an IPv4 address is one or
  nothing.

A **hostport** is ``host:port``. An IPv6 address must stand in brackets there, and
brackets hold nothing else. The port is a canonical decimal 1..65535.

Whatever the spelling, it is kept: scope and brackets are part of the value.
"""

from __future__ import annotations

import ipaddress
import re

_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?", re.ASCII)
_SCOPE = re.compile(r"[A-Za-z0-9_.~-]{1,64}", re.ASCII)
_PORT = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)
_NAME_MAX = 253


def is_ipv4(text: str) -> bool:
    """Whether ``text`` is a dotted quad."""
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def is_ipv6(text: str) -> bool:
    """Whether ``text`` is an IPv6 address without brackets, scope allowed."""
    address, percent, scope = text.partition("%")
    if percent and _SCOPE.fullmatch(scope) is None:
        return False
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return False
    return True


def is_name(text: str) -> bool:
    """Whether ``text`` is a host name."""
    labels = text.split(".")
    if len(text) > _NAME_MAX or labels[-1].isdigit():
        return False
    return all(_LABEL.fullmatch(label) for label in labels)


def _is_bracketed(text: str) -> bool:
    return text.startswith("[") and text.endswith("]") and is_ipv6(text[1:-1])


def is_host(text: str) -> bool:
    """Whether ``text`` is a host."""
    return _is_bracketed(text) or is_ipv4(text) or is_ipv6(text) or is_name(text)


def is_port(text: str) -> bool:
    """Whether ``text`` is a port that one can connect to."""
    return _PORT.fullmatch(text) is not None and int(text) <= 65535


def is_hostport(text: str) -> bool:
    """Whether ``text`` is a host and a port."""
    host, colon, port = text.rpartition(":")
    if not colon or not is_port(port):
        return False
    return _is_bracketed(host) or is_ipv4(host) or is_name(host)
