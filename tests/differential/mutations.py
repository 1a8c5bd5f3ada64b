"""What may arrive instead of a valid message: frames lost, doubled, swapped, bent.

Rules: every kind of mutation has a name, so that a test can see that each was tried and
a failure says what was done; nothing here knows whether the outcome is still valid.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Final

Frames = list[bytes]
Mutation = Callable[[Frames, int, Random], Frames]

ODD: Final = (
    b"", b"0", b"1", b"-1", b"-0", b"+5", b"00", b"007", b" 7 ", b"1_000", b"None", b"2147483648",
    b"9223372036854775807", b"9223372036854775808", b"18446744073709551615", b"9" * 30,
    "\uff17".encode(), b"\xff\xfe", b"\x80\x05", b"a b", b"h:1", b"h:x", b"h:0", b"h:70000", b"::1",
    b"[::1]:5000", b"fe80::1%eth0", b"[fe80::1%eth0]:1", b"10.0.0.256", b"1.2.3", b"a..b", b"-a.b",
    b"VRAM", b"VRAM,FOO", b"VRAM,", b",", b"\x00" * 3, b"\x00" * 4, b"\x00" * 8, b"\xff" * 4,
    b"\xff" * 8, b"\x01\0\0\0\0\0\0\0", b"\x01\0\0\0\x04\0\0\0\x07\0\0\0", b"\x02\0\0\0\0\0\0\0",
    b"\x90", b"\x91\xc4\x00", b"\x91\x90", b"\x91\x91\xc0", b"\x91\xa1a", b"\x91\xc5\x00\x01a",
    b"\xdc\x00\x01\xc4\x00", b"\xdd\xff\xff\xff\xff", b"\x91\xc6\xff\xff\xff\xff",
)  # fmt: skip
"""Frames that are valid for some field, and frames that look as if they were."""

_CHARACTERS: Final = [bytes([byte]) for byte in b' \n\0+-_.:,[]{}%&=?"\\/09aZ~\x7f\x80\xff']


def _replaced(frames: Frames, place: int, frame: bytes) -> Frames:
    return [*frames[:place], frame, *frames[place + 1 :]]


def _dropped(frames: Frames, place: int, _: Random) -> Frames:
    return frames[:place] + frames[place + 1 :]


def _doubled(frames: Frames, place: int, _: Random) -> Frames:
    return [*frames[: place + 1], *frames[place:]]


def _cut(frames: Frames, place: int, _: Random) -> Frames:
    return frames[:place]


def _extended(frames: Frames, _: int, rng: Random) -> Frames:
    return [*frames, *rng.choices(ODD, k=rng.randint(1, 3))]


def _swapped(frames: Frames, place: int, rng: Random) -> Frames:
    other = rng.randrange(len(frames))
    return _replaced(_replaced(frames, place, frames[other]), other, frames[place])


def _shortened(frames: Frames, place: int, rng: Random) -> Frames:
    return _replaced(frames, place, frames[place][: -rng.choice((1, 2, 4, 8))])


def _lengthened(frames: Frames, place: int, rng: Random) -> Frames:
    more = rng.choice((b"\0", b"\0" * 4, b"\0" * 8, b"0", b" ", b"\n", frames[place]))
    return _replaced(frames, place, frames[place] + more)


def _emptied(frames: Frames, place: int, _: Random) -> Frames:
    return _replaced(frames, place, b"")


def _odd(frames: Frames, place: int, rng: Random) -> Frames:
    return _replaced(frames, place, rng.choice(ODD))


def _random(frames: Frames, place: int, rng: Random) -> Frames:
    return _replaced(frames, place, rng.randbytes(rng.randrange(24)))


def _flipped(frames: Frames, place: int, rng: Random) -> Frames:
    frame = bytearray(frames[place])
    if frame:
        frame[rng.randrange(min(len(frame), 64))] ^= 1 << rng.randrange(8)
    return _replaced(frames, place, bytes(frame))


def _typed(frames: Frames, place: int, rng: Random) -> Frames:
    """One character put in, or put instead of another."""
    frame = frames[place]
    here = rng.randint(0, min(len(frame), 64))
    return _replaced(
        frames, place, frame[:here] + rng.choice(_CHARACTERS) + frame[here + rng.randrange(2) :]
    )


MUTATIONS: Final[dict[str, Mutation]] = {
    "dropped": _dropped,
    "doubled": _doubled,
    "cut": _cut,
    "extended": _extended,
    "swapped": _swapped,
    "shortened": _shortened,
    "lengthened": _lengthened,
    "emptied": _emptied,
    "odd": _odd,
    "random": _random,
    "flipped": _flipped,
    "typed": _typed,
}

_JSON: Final = (
    "null", "true", "0", "-1", "-0", "1.0", "1e2", "1e400", "NaN", "Infinity", '""', '"x"', '"0"',
    "[]", "{}", "[1]", '["x"]', "[null]", '{"a":1}', '{"a":"x"}', "2147483648",
    "9223372036854775808", "18446744073709551616", "1180591620717411303424", "-9223372036854775809",
    r'"\ud800"', r'"\ud83d\ude00"', r'"\u0000"', "01", "+1", "'x'",
)  # fmt: skip
"""Values of a key in JSON, some of which JSON does not have."""


def bent_body(body: bytes, rng: Random) -> bytes:
    """A JSON body with a key lost, renamed, repeated or with another value."""
    keys = json.loads(body)
    told = {json.dumps(key): json.dumps(value) for key, value in keys.items()}
    key = rng.choice([*told, '"unknown"', r'"\ud800"'])
    match rng.randrange(4):
        case 0:
            told.pop(key, None)
        case 1:
            told = {('"other"' if name == key else name): value for name, value in told.items()}
        case _:
            told[key] = rng.choice(_JSON)
    pairs = [f"{name}:{value}" for name, value in told.items()]
    if rng.random() < 0.3:
        pairs.append(f"{key}:{rng.choice(_JSON)}")
    return ("{" + ",".join(pairs) + "}").encode("utf-8", "surrogatepass")


def bent_query(query: bytes, rng: Random) -> bytes:
    """A query with a key lost, repeated, unknown or spelled with escapes."""
    pairs = query.split(b"&")
    place = rng.randrange(len(pairs))
    key, _, value = pairs[place].partition(b"=")
    escaped = b"".join(b"%%%02X" % byte for byte in value)
    odd = rng.choice(
        (b"%zz", b"%ff", b"+", b"%20", b"%C3%A9", b"", b"=", b";", b"%00", b"7", b"-1")
    )
    return b"&".join(
        rng.choice(
            (
                [*pairs[:place], *pairs[place + 1 :]],
                [*pairs, pairs[place]],
                [*pairs, key + b"=" + odd],
                [key + b"=" + odd, *pairs],
                [*pairs, b"unknown=" + odd],
                [*pairs, odd],
                [*pairs[:place], key, *pairs[place + 1 :]],
                [*pairs[:place], key + b"=" + escaped, *pairs[place + 1 :]],
                [*pairs[:place], key + b"=" + value + odd, *pairs[place + 1 :]],
                pairs[::-1],
            )
        )
    )
