"""How much of a frame is left while a construct reads it."""

from __future__ import annotations

from typing import Any

import construct as c

from pdwire.reading.errors import Refused


def left(context: Any) -> int:  # noqa: ANN401 - construct has no types
    """Bytes of the frame that have not been read yet."""
    stream = context._io  # noqa: SLF001 - construct's own name for the stream
    here: int = stream.tell()
    end: int = stream.seek(0, 2)
    stream.seek(here)
    return end - here


def bounded(size: Any, *, each: int, what: str) -> Any:  # noqa: ANN401
    """The number that ``size`` reads, refused when ``each`` bytes apiece do not fit any more."""

    def decode(number: int, context: Any) -> int:  # noqa: ANN401
        rest = left(context)
        if number * each > rest:
            raise Refused(
                f"a number of {what} that fits in the {rest} bytes behind it", str(number)
            )
        return number

    return c.ExprAdapter(size, decode, lambda number, _context: number)
