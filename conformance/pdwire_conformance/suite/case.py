"""What a case is.

Rules:

* A slug is a case's name for good: it says what the case is about, never a number in a
  list. Inserting a case moves no other. ``family/subject`` where a person wrote it,
  ``backend/message/layout/what`` where it follows from the spec.
* A case says which clauses of the spec it exercises (:mod:`.clauses`), and which rows of
  the field reports it stands for.
* A check is data. Codec checks are one question and one expectation; a live check is a
  script of steps (:mod:`pdwire_conformance.live.script`).
* What is expected of an error is layered: refusing is what the case demands; the kind of
  error, the frame and the field are demanded only of testees that say they type errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

__all__ = [
    "Accept",
    "Ambiguous",
    "Case",
    "Check",
    "Decode",
    "Encode",
    "Frames",
    "Level",
    "Live",
    "Recognise",
    "Recognised",
    "Refuse",
    "Role",
    "Values",
]

Frames = tuple[bytes, ...]
Values = Mapping[str, Any]
"""Field name -> value in the form of the JSON export; bytes are ``{"hex": "…"}``."""


class Level(StrEnum):
    """How binding a case is, in the words of RFC 2119."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


class Role(StrEnum):
    """What of a testee a case is about."""

    CODEC = "codec"
    PREFILL = "prefill"
    DECODE = "decode"
    BOOTSTRAP = "bootstrap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept:
    """Decoding gives these values; fields that are not named here are not compared."""

    values: Values


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """The input is refused.

    ``kinds`` are the kinds of error that say so rightly (``frame-count``, ``frame-value``,
    ``invariant``, ``unknown-message``, ``lossy-encode``); ``frame`` is the position in the
    layout, guard not counted; ``field`` its name. Empty and ``None``: not demanded.
    """

    kinds: tuple[str, ...] = ()
    frame: int | None = None
    field: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognised:
    """The bytes prove one message; ``layouts`` are exactly those that they fit, if given."""

    message: str
    layouts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ambiguous:
    """Several layouts read the bytes differently, and saying so is the only right answer.

    Refusing is right as well; reading one of them is not.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Decode:
    """Read a whole multipart (guard included) as one message of one release."""

    frames: Frames
    expect: Accept | Refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class Encode:
    """Make the whole multipart of values; ``expect`` is the exact frames, or a refusal."""

    values: Values
    expect: Frames | Refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognise:
    """Say what a multipart is, knowing only the backend and perhaps the direction."""

    frames: Frames
    expect: Recognised | Ambiguous | Refuse
    direction: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A script against a running rank; the steps are checked when they are loaded.

    ``needs`` names what the target must offer beyond its sockets, for instance ``driver``
    (it opens rooms and sends when it is told to) or ``staging``.
    """

    steps: tuple[Mapping[str, Any], ...]
    needs: tuple[str, ...] = ()


Check = Decode | Encode | Recognise | Live


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing that a backend must, should or may do.

    ``releases`` are those of ``backend`` that the case is right for, oldest first.
    ``message`` and ``layout`` are empty where a case is about no single one.
    ``origin`` is the file that a person wrote it in, or the rule that derived it.
    """

    slug: str
    level: Level
    role: Role
    backend: str
    releases: tuple[str, ...]
    purpose: str
    expectation: str
    check: Check
    message: str = ""
    layout: str = ""
    clauses: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    origin: str = ""
    tags: tuple[str, ...] = field(default=())

    @property
    def family(self) -> str:
        """What a report groups the case under: the first part of a written case's slug."""
        return "spec" if self.origin.startswith("derived:") else self.slug.partition("/")[0]
