"""Where each backend keeps its manager, its receiver and its receive loops.

Names differ between backends and releases; what is asked for is looked up in the
loaded release, and a lack is :class:`~.errors.Unavailable`, never a guess.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .errors import Unavailable
from .loader import LoadedRelease
from .standins import FeedSocket, ReceiveLoop, StandIn, bare

WITH_STAGING = ("mooncake", "ascend", "nixl")
ALL = ("mooncake", "ascend", "nixl", "mori")
MOONCAKES = ("mooncake", "ascend")
"""Ascend's classes derive from Mooncake's; each is driven by its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    module: str
    prefix: str
    prefill: tuple[str, ...]
    decode: tuple[str, ...]


_MOONCAKE = {"prefill": ("start_prefill_thread",), "decode": ("start_decode_thread",)}
_NAMES = {
    "mooncake": _Names(module="mooncake.conn", prefix="Mooncake", **_MOONCAKE),
    "ascend": _Names(module="ascend.conn", prefix="Ascend", **_MOONCAKE),
    "nixl": _Names(
        module="nixl.conn",
        prefix="Nixl",
        prefill=("_start_bootstrap_thread",),
        decode=("_start_decode_listener_thread", "_start_decode_staging_thread"),
    ),
    "mori": _Names(
        module="mori.conn",
        prefix="Mori",
        prefill=("_start_bootstrap_thread",),
        decode=("_start_decode_thread",),
    ),
}


def manager_class(peer: LoadedRelease, backend: str) -> Any:
    """The backend's own KV manager class."""
    names = _NAMES[backend]
    return peer.attribute(names.module, f"{names.prefix}KVManager")


def receiver_class(peer: LoadedRelease, backend: str) -> Any:
    """The backend's own KV receiver class (the decode side)."""
    names = _NAMES[backend]
    return peer.attribute(names.module, f"{names.prefix}KVReceiver")


def home(peer: LoadedRelease, backend: str) -> Any:
    """The module whose globals the backend's receive loops see."""
    method = getattr(manager_class(peer, backend), _NAMES[backend].prefill[0])
    return StandIn(**method.__globals__)


def receive_loop(
    peer: LoadedRelease, backend: str, side: str, **attributes: Any
) -> tuple[ReceiveLoop, Any]:
    """The backend's real receive loop on one side, and the bare manager that runs it.

    ``side`` is ``prefill`` or ``decode``; ``attributes`` are the manager's, besides
    those that every loop reads.
    """
    feed = FeedSocket()
    given: dict[str, Any] = {
        "server_socket": feed,
        "server_args": StandIn(enable_pd_role_switch=False),
        "_stopped": False,
        "_worker_threads": [],
        "_start_heartbeat_checker_thread": lambda: None,
        "enable_staging": True,
    }
    manager = bare(manager_class(peer, backend), **given | attributes)
    return ReceiveLoop(getattr(manager, _loop_name(peer, backend, side)), feed), manager


def require_branch(peer: LoadedRelease, backend: str, side: str, tag: str) -> None:
    """:class:`Unavailable` unless the backend's loop on that side names ``tag``."""
    name = _loop_name(peer, backend, side)
    method = getattr(manager_class(peer, backend), name)
    if not mentions(method, tag):
        raise Unavailable(f"{peer.release}: {backend}'s {side} loop ({name}) has no {tag} branch")


def mentions(function: Callable[..., Any], word: str) -> bool:
    """Whether a real function, or one defined in it, uses a constant or a name."""
    return _code_mentions(function.__code__, word)


def own_code_mentions(peer: LoadedRelease, backend: str, word: str) -> bool:
    """Whether the backend's own classes, not what they inherit from all, use a name."""
    own = tuple(f".{name}.conn" for name in _NAMES)
    return any(
        mentions(function, word)
        for cls in (manager_class(peer, backend), receiver_class(peer, backend))
        for base in cls.__mro__
        if base.__module__.endswith(own)
        for function in vars(base).values()
        if isinstance(function, types.FunctionType)
    )


def method(peer: LoadedRelease, backend: str, name: str) -> Any:
    """A method of the backend's manager; :class:`Unavailable` where it has none."""
    return _method(peer, manager_class(peer, backend), name)


def receiver_method(peer: LoadedRelease, backend: str, name: str) -> Any:
    """A method of the backend's receiver; :class:`Unavailable` where it has none."""
    return _method(peer, receiver_class(peer, backend), name)


def _method(peer: LoadedRelease, cls: Any, name: str) -> Any:
    if not hasattr(cls, name):
        raise Unavailable(f"{peer.release}: {cls.__name__} has no {name}")
    return getattr(cls, name)


def _loop_name(peer: LoadedRelease, backend: str, side: str) -> str:
    cls = manager_class(peer, backend)
    names = _NAMES[backend].prefill if side == "prefill" else _NAMES[backend].decode
    for name in names:
        if hasattr(cls, name):
            return name
    raise Unavailable(f"{peer.release}: {backend} has no ZMQ receive loop on the {side} side")


def _code_mentions(code: types.CodeType, word: str) -> bool:
    if word in code.co_names or word in code.co_consts or word.encode() in code.co_consts:
        return True
    nested = (const for const in code.co_consts if isinstance(const, types.CodeType))
    return any(_code_mentions(each, word) for each in nested)
