"""HTTP as far as asking a bootstrap server needs it: bytes of a question, bytes of an answer.

Sans IO, so that whoever reads the bytes (a socket with a deadline, an event loop) decides how
long the whole exchange may take, whichever part of it drips in. One question per connection.
"""

from __future__ import annotations

import http.client
import io
from dataclasses import dataclass
from typing import Any, Final, cast

from pdwire.bootstrap.addresses import parse

__all__ = ["Answer", "is_whole", "read", "request"]

LARGEST: Final = 4 << 20
"""No body is longer: the largest is a word for each room asked about."""
_HEADERS: Final = 64 << 10
"""No head is longer: an honest one has a few hundred bytes."""
_DIGITS: Final = 20
"""No length has as many."""
_END: Final = b"\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server said."""

    status: int
    body: bytes
    gone: bool
    """It says so because a rank has left or does not live (a header of our server's)."""


def request(method: str, address: str, path: str, body: bytes | None) -> bytes:
    """The bytes of a question; ``ValueError`` for an address that is none."""
    parse(address)
    lines = [f"{method} {path} HTTP/1.1", f"Host: {address}", "Connection: close"]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode("ascii") + _END + (body or b"")


def is_whole(raw: bytes | bytearray) -> bool:
    """Whether an answer is complete before its sender hangs up.

    Raises:
        ValueError: it is longer than any answer is.
    """
    head = raw.find(_END)
    if head < 0 and len(raw) > _HEADERS:
        raise ValueError(f"a head of more than {_HEADERS} bytes")
    if len(raw) > LARGEST + _HEADERS:
        raise ValueError(f"an answer of more than {LARGEST} bytes")
    if head < 0:
        return False
    length, is_chunked = _framing(bytes(raw[:head]))
    if is_chunked:
        return raw.endswith(b"\r\n0\r\n\r\n", head)
    return length is not None and len(raw) - head - len(_END) >= length


def read(raw: bytes | bytearray) -> Answer:
    """The answer that bytes are, once they are all there.

    Raises:
        ValueError: they are none, or not all of one.
    """
    response = http.client.HTTPResponse(cast("Any", _Heard(bytes(raw))))
    try:
        response.begin()
        body = response.read()
    except (http.client.HTTPException, ValueError, LookupError) as error:
        raise ValueError(f"no HTTP answer: {type(error).__name__} {error}".rstrip()) from None
    if len(body) > LARGEST:
        raise ValueError(f"an answer of more than {LARGEST} bytes")
    return Answer(status=response.status, body=body, gone=bool(response.headers.get("Pdwire-Gone")))


def _framing(head: bytes) -> tuple[int | None, bool]:
    length, is_chunked = None, False
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        match name.strip().lower():
            case b"content-length" if (
                value.strip().isdigit() and len(value) < 20
            ):  # more digits than any length
                length = int(value)
            case b"transfer-encoding":
                is_chunked |= b"chunked" in value.lower()
    return length, is_chunked


class _Heard:
    """Bytes in the place of a socket, for the parser of the standard library."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def makefile(self, mode: str) -> io.BytesIO:  # noqa: ARG002  # the parser's call
        return io.BytesIO(self._raw)
