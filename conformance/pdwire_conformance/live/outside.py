"""A rank that runs somewhere already: ``live:prefill@host:port``, ``live:decode@host:port``.

Rules:

* Nothing but its sockets: for a prefill rank the port is that of its bootstrap server, which
  says where the rank listens; for a decode rank it is the rank's own.
* Cases send what ends the control loop of some releases. This is for a rank that was started
  to be tested, never for one in service.
* It is never started, ended or told to open rooms. Its rooms are its router's; those that a
  case speaks of have numbers that no router draws.
* Life is proved by an answer to an ABORT. A rank that answers none when it is first asked
  (its release has no such answer, or it is switched off there) cannot be proved alive, and
  cases that end with that proof are skipped.
"""

from __future__ import annotations

import itertools
import socket
from dataclasses import replace
from typing import Final

from pdwire.bootstrap.client import BootstrapClient, BootstrapError
from pdwire.managers.sockets import Endpoint
from pdwire.wire.common import AbortNotification
from pdwire_conformance.interop.cases import Run
from pdwire_conformance.interop.handover import Handover
from pdwire_conformance.interop.options import OURS
from pdwire_conformance.interop.process import Side
from pdwire_conformance.suite.case import Role
from pdwire_conformance.testees.protocol import TesteeError

from .driven import LiveTarget
from .player import Heard, Player
from .scene import StepFailed, StepSkipped

__all__ = ["Outside"]

_FIRST_ROOM: Final = 7_000_000_000_000_000_001
"""Rooms of cases: routers draw numbers below 2^63, hardly any from here on."""
_ANSWER_S: Final = 3.0
_PAGE_SIZE: Final = 16


class Outside(LiveTarget):
    """A target of which there are only the sockets; ``TesteeError`` when it cannot be reached."""

    drives = False

    def __init__(self, target: str, role: Role, backend: str, release: str) -> None:
        super().__init__(target, role, backend, release)
        form, _, address = target.removeprefix("live:").partition("@")
        host, _, port = address.rpartition(":")
        if form not in {"prefill", "decode", "bootstrap"} or not host or not port.isdigit():
            raise TesteeError(
                f"no live target {target!r}; live:prefill@HOST:PORT (of its bootstrap server), "
                "live:bootstrap@HOST:PORT, or live:decode@HOST:PORT (of the rank)"
            )
        if (form == "decode") != (role is Role.DECODE):
            raise TesteeError(f"{target} does not play the role {role}")
        self._address = address
        self._endpoint: Endpoint = (host, int(port))
        self._player: Player | None = None
        self._proves = False

    def restart(self) -> None:
        """Make the player anew; the rank is left as it is."""
        self.close()
        page_size = self._found() if self.role is not Role.DECODE else _PAGE_SIZE
        made = self._options(OURS, self._other())
        host = _own_address(self._endpoint)
        self._player = Player(replace(made, host=host, page_size=page_size))
        self._player.__enter__()
        self._player.start()
        self.run = Run(handover=Handover([], []), numbers=itertools.count(_FIRST_ROOM))
        self._proves = self.role is not Role.DECODE and self._answers(_ANSWER_S)
        self.stale = False

    def _found(self) -> int:
        """Ask the bootstrap server where the rank listens; its page size."""
        client = BootstrapClient(timeout_s=_ANSWER_S, release=self.release)
        try:
            info = client.server_info(self._address)
            rank = client.rank_info(self._address, dp=0, cp=0, tp=0, pp=0)
        except BootstrapError as error:
            raise TesteeError(f"{self.target}: {error}") from error
        self._endpoint = (rank.rank_ip, rank.rank_port)
        return info.page_size or _PAGE_SIZE

    def close(self) -> None:
        """Close the player."""
        player, self._player = self._player, None
        if player is not None:
            player.close()
        self.stale = True

    def alive(self) -> bool:
        """Whether there is a player; the rank itself is asked by :meth:`prove_life`."""
        return self._player is not None

    @property
    def player(self) -> Player:
        """The suite's end."""
        assert self._player is not None
        return self._player

    @property
    def sides(self) -> list[Side]:
        """None that could be asked."""
        return []

    @property
    def endpoint(self) -> Endpoint:
        """The rank's control socket."""
        return self._endpoint

    @property
    def bootstrap(self) -> str:
        """The bootstrap server of a prefill rank."""
        return "" if self.role is Role.DECODE else self._address

    def prove_life(self, within_s: float) -> None:
        """An ABORT of a room that nobody has is answered."""
        if not self._proves:
            raise StepSkipped("nothing proves from outside that it lives: it answers no ABORT")
        if not self._answers(within_s):
            raise StepFailed("an ABORT is answered", f"no answer within {within_s:g} s")

    def _answers(self, within_s: float) -> bool:
        room = next(self.run.numbers)
        host, port = self.player.manager.endpoint
        told = AbortNotification(room=room, decode_ip=host, decode_port=port, generation=1)
        self.player.say(self._endpoint, told.to_zmq())
        return self.player.take(lambda heard: _acknowledges(heard, room), within_s) is not None


def _acknowledges(heard: Heard, room: int) -> bool:
    """With a rank and a generation or without: any answer proves life."""
    return [b"ABORT_ACK", str(room).encode()] == list(heard.frames[:2])


def _own_address(endpoint: Endpoint) -> str:
    """The address of this machine that the rank can answer to."""
    family = socket.AF_INET6 if ":" in endpoint[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as made:
        made.connect((endpoint[0].strip("[]"), endpoint[1]))
        return str(made.getsockname()[0])
