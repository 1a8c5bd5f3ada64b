"""What a release gets from modules that it imports and that are not loaded for real.

Everything not named here is a permissive stub (:mod:`.stubs`). These few are answered
faithfully, because the PD code computes addresses or control flow with them. They
matter for releases before 0.5.10, which have no ``utils/network.py`` of their own, and
for the bounded-start helper that later releases call their engines through.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Mapping
from typing import Any

from .stubs import OpaqueDescriptor, call_through


def is_valid_ipv6_address(address: str) -> bool:
    """Whether the text is a bare IPv6 address."""
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return False
    return True


def maybe_wrap_ipv6_address(address: str) -> str:
    """The address, in brackets where it is a bare IPv6 one."""
    return f"[{address}]" if is_valid_ipv6_address(address) else address


def format_tcp_address(ip: str, port: int) -> str:
    """The ZMQ address of a TCP endpoint."""
    return f"tcp://{maybe_wrap_ipv6_address(ip)}:{port}"


def get_local_ip_auto(fallback: str | None = None) -> str:
    """Loopback: a peer under test never listens on another interface."""
    return fallback or "127.0.0.1"


def get_int_env_var(name: str, default: int = 0) -> int:
    """An environment variable as an integer, or the default."""
    try:
        return int(os.environ[name])
    except (KeyError, ValueError):
        return default


def get_bool_env_var(name: str, default: str = "false") -> bool:
    """Whether an environment variable says yes."""
    return os.environ.get(name, default).strip().lower() in {"1", "true"}


def ceil_align(value: int, step: int) -> int:
    """The next multiple of ``step`` at or above ``value``."""
    return -(-value // step) * step


def call_with_deadline(
    function: Callable[..., Any], timeout_s: float | None = None, what: str = "", **_: Any
) -> Any:
    """Call what is to be run under a deadline, at once and without one."""
    return call_through(function)


class EngineDesc(OpaqueDescriptor):
    """Mori's engine descriptor as opaque bytes."""


class MemoryDesc(OpaqueDescriptor):
    """Mori's memory descriptor as opaque bytes."""


_UTILS: Mapping[str, Any] = {
    "is_valid_ipv6_address": is_valid_ipv6_address,
    "maybe_wrap_ipv6_address": maybe_wrap_ipv6_address,
    "format_tcp_address": format_tcp_address,
    "get_local_ip_auto": get_local_ip_auto,
    "get_int_env_var": get_int_env_var,
    "get_bool_env_var": get_bool_env_var,
    "run_with_deadline": call_with_deadline,
    "ceil_align": ceil_align,
}

ANSWERS: Mapping[str, Mapping[str, Any]] = {
    "sglang.srt.utils": _UTILS,
    "sglang.srt.utils.common": _UTILS,
    "mori.io": {"EngineDesc": EngineDesc, "MemoryDesc": MemoryDesc},
}
"""Module name -> attribute -> stand-in, set on the stub module when it is created."""
