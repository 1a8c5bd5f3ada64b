"""A prefill rank's entry at its bootstrap server: made, kept, taken out.

A server that came back empty on its port knows no rank. So each rank asks for its own entry now
and then, and registers again when it is not there. The servers of the releases count a rank each
time that it registers, and call the side complete by that count: so nothing is registered again
on suspicion, only where an answer proves that the entry is gone.

Which DP rank serves a room is told here too, so that no scheduler waits for it.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from pdwire.bootstrap.asker import Asker
from pdwire.bootstrap.client import BootstrapError, Fault
from pdwire.wire.bootstrap import RoutePut
from pdwire.wire.table import ORDER

if TYPE_CHECKING:
    from pdwire.managers.common import CommonKVManager

__all__ = ["Membership", "proves_absence"]

_LOG: Final = logging.getLogger("pdwire.managers")
_GOODBYE_S: Final = 1.0
"""How long closing waits for the server to take the entry out: the server notices anyway."""
_REMEMBERED_S: Final = 1.0
"""How long a server that does not answer is not told of other rooms' DP ranks."""
_NOBODY: Final = re.compile(r"no prefill rank|\(0 workers registered\)")
_OURS: Final = re.compile(r"\d+ of \d+ prefill ranks have registered")
"""Our server's words: there, registering again is nothing but that."""


def proves_absence(error: BootstrapError, *, was_there: bool, was_away: bool) -> bool:
    """Whether an answer to a rank that asks for its own entry proves that there is none.

    Args:
        error: the answer.
        was_there: the entry has been seen since the rank registered last.
        was_away: the server could not be reached since then.
    """
    if error.fault is Fault.GONE:
        return True
    if error.fault is not Fault.EARLY or error.status is None:
        return False
    told = str(error)
    is_certain = _NOBODY.search(told) is not None or _OURS.search(told) is not None
    return is_certain or was_there or was_away


class Membership:
    """One prefill rank at one server; nothing here blocks but ``join`` and ``leave``."""

    def __init__(self, core: CommonKVManager) -> None:
        self._core = core
        self._rank: RoutePut | None = None
        self._address = ""
        self._due = 0.0
        self._was_there = self._was_away = False
        self._silent: dict[str, tuple[float, str]] = {}
        self._asker = Asker(
            f"pdwire-{core.backend}-rejoin",
            release=ORDER[-1],
            timeout_s=core.config.http_timeout_s,
        )

    def join(self, address: str, rank: RoutePut) -> None:
        """Register.

        Raises:
            BootstrapError: the server cannot be reached in time, or refuses.
        """
        self._core.client.register(address, rank)
        self._address = address
        self._due = time.monotonic() + self._core.config.heartbeat_s
        self._rank = rank

    def tick(self) -> None:
        """Begin to look after the entry, once the first time to do so has come."""
        rank = self._rank
        if rank is not None and 0 < self._due <= time.monotonic():
            self._due = 0.0
            self._asker.post(lambda: self._asker.spawn(self._keep(rank)))

    def leave(self) -> None:
        """Take the entry out, where the server is one of ours and answers soon."""
        rank, self._rank = self._rank, None
        if rank is None:
            return
        client, patience_s = self._core.client, min(_GOODBYE_S, self._core.config.http_timeout_s)
        try:
            client.ask(self._address, client.questions.leave(rank), timeout_s=patience_s)
        except BootstrapError:
            self._core.counters.add("bootstrap", "unsaid-goodbye")

    def stop(self, deadline_s: float = 10.0) -> None:
        """End the thread."""
        self._asker.close(deadline_s)

    # ------------------------------------------------------------- the entry

    async def _keep(self, rank: RoutePut) -> None:
        """Look after the entry until the rank leaves."""
        while self._rank is rank:
            await self._look(rank)
            await asyncio.sleep(self._core.config.heartbeat_s)

    async def _look(self, rank: RoutePut) -> None:
        question = self._asker.questions.rank_info(
            dp=rank.attn_dp_rank, cp=rank.attn_cp_rank, tp=rank.attn_tp_rank, pp=rank.pp_rank
        )
        try:
            told = await self._asker.ask(self._address, question)
        except BootstrapError as error:
            if error.status is None:
                self._was_away = True
            elif proves_absence(error, was_there=self._was_there, was_away=self._was_away):
                await self._join_again(rank)
            return
        place = told.rank_ip, told.rank_port
        if place == (rank.rank_ip, rank.rank_port):
            self._was_there, self._was_away = True, False
        elif await self._asker.fault_of(place) is not None:  # whoever took the place is gone
            await self._join_again(rank)
        elif self._core.counters.add("bootstrap", "place-taken") == 1:
            _LOG.warning("%s names another rank in this one's place: %s:%s", self._address, *place)

    async def _join_again(self, rank: RoutePut) -> None:
        try:
            await self._asker.ask(self._address, self._asker.questions.register(rank))
        except BootstrapError as error:
            if self._core.counters.add("bootstrap", "not-rejoined") == 1:
                _LOG.warning("cannot register again: %s", error)
            return
        self._core.counters.add("bootstrap", "rejoined")
        self._was_there = self._was_away = False

    # ---------------------------------------------------------------- DP ranks

    def note_dp_rank(self, address: str, room: int, failed: Callable[[str], None]) -> None:
        """Say which DP rank serves a room; ``failed`` hears why it could not be said."""
        self._asker.post(lambda: self._asker.spawn(self._note(address, room, failed)))

    async def _note(self, address: str, room: int, failed: Callable[[str], None]) -> None:
        until, why = self._silent.get(address, (0.0, ""))
        if time.monotonic() < until:
            failed(why)
            return
        rank = self._core.config.parallel.attn_dp_rank
        try:
            await self._asker.ask(address, self._asker.questions.register_dp_rank(room, rank))
        except BootstrapError as error:
            self._core.counters.add("bootstrap", "dp-rank-unsaid")
            if error.status is None:
                self._silent = {address: (time.monotonic() + _REMEMBERED_S, str(error))}
            failed(str(error))
