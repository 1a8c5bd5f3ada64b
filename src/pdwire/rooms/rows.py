"""The auxiliary row of a room on the decode side: whose it is, and whether all of it came.

Rules, with the row of the field reports each answers:

* A row is lent to one life of one room. Nobody else gets it while that goes on (P10). When a room
  has failed its row comes back with its pages, which a scheduler asks for: nobody can tell here
  whether it has.
* A row travels through the engine, and then Success says that it is there, or over the control
  plane, a message per buffer. Only the prefill side knows which: Mooncake's by a switch of its
  own, Mori's by the opposite one. So this side is told by its configuration, or learns it from
  the first message of the room that carries a part of the row.
* A row that travels over the control plane is there when every buffer with bytes has come, in
  its full length. A message with the room's own row that was refused is a part that is missing
  (P8); the right one may still come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Loan", "Parts", "RowDesk", "parts_of"]


@dataclass(slots=True, kw_only=True)
class Parts:
    """What one room waits for.

    Attributes:
        row: its row; ``None``: it has asked for none.
        sizes: bytes of a row in each auxiliary buffer.
        over_tcp: whether parts come as messages, as far as is known.
        came: buffers whose part was written.
        refused: why a part was refused, the last time.
    """

    row: int | None
    sizes: tuple[int, ...]
    over_tcp: bool
    came: set[int] = field(default_factory=set)
    refused: str | None = None

    def missing(self) -> str | None:
        """What has not come, for people; ``None``: nothing is waited for."""
        if self.row is None or not (self.over_tcp or self.refused):
            return None
        absent = [n for n, size in enumerate(self.sizes) if size and n not in self.came]
        if not absent:
            return None
        if self.refused is not None:
            return self.refused
        names = ", ".join(map(str, absent))
        noun = "buffer" if len(absent) == 1 else "buffers"
        return f"aux {noun} {names} of {len(self.sizes)} did not come"


@dataclass(frozen=True, slots=True)
class Loan:
    """Whom a row is lent to: a life of a room."""

    room: int
    life: int


class RowDesk:
    """Rows that are lent, by row number. A room has one row at most."""

    def __init__(self) -> None:
        self._loans: dict[int, Loan] = {}

    def owner(self, row: int) -> Loan | None:
        """Whom a row was lent to last."""
        return self._loans.get(row)

    def lend(self, row: int, loan: Loan) -> None:
        """Lend a row; the caller has seen that its last owner is done with it."""
        self._loans[row] = loan


def parts_of(row: int | None, sizes: Sequence[int], *, over_tcp: bool) -> Parts:
    """What a room waits for, when it begins; Mori spells a missing row -1."""
    asked = None if row is None or row < 0 or not any(sizes) else row
    return Parts(row=asked, sizes=tuple(sizes), over_tcp=over_tcp)
