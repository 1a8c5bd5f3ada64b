"""``live:ROLE@HOST:PORT``: a rank that runs somewhere already.

Rules:

* It is not asked anything: the live part of the suite plays the other side over its
  sockets. Here it only says which role it plays.
* Nobody can tell by its socket which backend and release it speaks, so it says all that
  are run live, and whoever starts the suite chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import ClassVar, Final, Self

from pdwire_conformance.interop.options import BACKENDS

from .ours import everything
from .protocol import Answer, Hello, Request, TesteeError

__all__ = ["LIVE_ROLES", "Endpoint"]

LIVE_ROLES: Final = ("prefill", "decode", "bootstrap")


class Endpoint:
    """A live endpoint as a testee.

    Raises:
        TesteeError: the target has another form.
    """

    __test__: ClassVar[bool] = False

    def __init__(self, target: str) -> None:
        role, at, place = target.removeprefix("live:").partition("@")
        host, _, port = place.rpartition(":")
        if role not in LIVE_ROLES or not at or not host or not port.isdecimal():
            raise TesteeError(
                f"{target!r}: expected live:ROLE@HOST:PORT, ROLE one of {', '.join(LIVE_ROLES)}"
            )
        self._target = target
        self._role = role

    @property
    def target(self) -> str:
        """The words that choose this testee on the command line."""
        return self._target

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing was started."""

    def hello(self) -> Hello:
        """Its role, and every backend and release that can be played with."""
        releases, _ = everything()
        return Hello(
            name=self._target,
            roles=(self._role,),
            releases={backend: releases[backend] for backend in BACKENDS},
        )

    def ask(self, requests: Sequence[Request]) -> list[Answer]:
        """It is not asked."""
        return [{"skip": "a live endpoint is played with, not asked"} for _ in requests]
