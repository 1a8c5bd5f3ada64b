"""Reading and writing this rank's auxiliary rows, inside registered memory only.

AUX_DATA carries bytes that a peer wants in a buffer of ours, by buffer and row number. The
address is computed here, from what we registered, and every number is checked first: a
message that does not fit writes not one byte (field report M1).
"""

from __future__ import annotations

import ctypes

from pdwire.managers.config import KVArgs

__all__ = ["AuxMemory", "OutOfBounds"]


class OutOfBounds(ValueError):
    """A buffer, row or length outside the registered auxiliary memory."""


class AuxMemory:
    """The auxiliary buffers of one rank."""

    def __init__(self, args: KVArgs) -> None:
        self._ptrs = args.aux_data_ptrs
        self._lens = args.aux_data_lens
        self._rows = args.aux_item_lens

    def read(self, buffer: int, row: int) -> bytes:
        """One row's bytes.

        Raises:
            OutOfBounds: there is no such buffer or row.
        """
        address, size = self._place(buffer, row)
        return ctypes.string_at(address, size)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of a row in each buffer."""
        return self._rows

    def write_row(self, buffer: int, row: int, data: bytes) -> None:
        """Put a whole row's bytes: every release sends its whole row, never a part of one (P8).

        Raises:
            OutOfBounds: there is no such buffer or row, or the data is not exactly a row.
        """
        address, size = self._place(buffer, row)
        if len(data) != size:
            raise OutOfBounds(f"{len(data)} bytes for a row of {size} in aux buffer {buffer}")
        ctypes.memmove(address, data, size)

    def write(self, buffer: int, row: int, data: bytes) -> None:
        """Put a whole row's bytes, or fewer, at the start of a row.

        Raises:
            OutOfBounds: there is no such buffer or row, or the data is longer than a row.
        """
        address, size = self._place(buffer, row)
        if len(data) > size:
            raise OutOfBounds(f"{len(data)} bytes for a row of {size} in aux buffer {buffer}")
        ctypes.memmove(address, data, len(data))

    def _place(self, buffer: int, row: int) -> tuple[int, int]:
        if not 0 <= buffer < len(self._ptrs):
            raise OutOfBounds(f"aux buffer {buffer} of {len(self._ptrs)}")
        size = self._rows[buffer]
        rows = self._lens[buffer] // size if size else 0
        if not 0 <= row < rows:
            raise OutOfBounds(f"row {row} of {rows} in aux buffer {buffer}")
        return self._ptrs[buffer] + row * size, size
