"""What a rule is given, and how it makes a case of what it found.

Rules: a rule is a pure function of a :class:`Subject`. Whatever it says of frames it says
of the subject's layout, so that its cases hold for every backend that speaks the layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pdwire_conformance.suite.case import (
    Accept,
    Case,
    Check,
    Decode,
    Encode,
    Frames,
    Level,
    Refuse,
    Role,
)

from .bench import Bench
from .shelf import Shelf

__all__ = ["BAD_FRAME", "Rule", "Subject", "refused"]

Json = dict[str, Any]
Values = dict[str, Any]
BAD_FRAME = ("frame-value",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One layout as one backend speaks it."""

    bench: Bench
    shelf: Shelf
    backend: str
    origin: str = "derived:"

    @property
    def message(self) -> Json:
        """The message's facts."""
        return self.bench.message

    @property
    def layout(self) -> Json:
        """The layout's facts."""
        return self.bench.layout

    @property
    def spoken(self) -> str:
        """The message and its layout, for prose: ``TransferInfo (layout r3)``."""
        return f"{self.message['name']} (layout {self.layout['id']})"

    def clause(self, end: str) -> str:
        """The id of a clause of this layout."""
        return f"{self.bench.clause}/{end}"

    @property
    def recognise(self) -> str:
        """The id of the message's recognition clause."""
        return f"{self.message['group']}/{self.message['name']}/recognise"

    def case(
        self,
        what: str,
        *,
        level: Level,
        purpose: str,
        expectation: str,
        check: Check,
        clauses: tuple[str, ...],
    ) -> Case:
        """A case about this layout; ``what`` is the last part of its slug."""
        return Case(
            slug=f"{self.backend}/{self.message['name']}/{self.layout['id']}/{what}",
            level=level,
            role=Role.CODEC,
            backend=self.backend,
            releases=tuple(self.layout["speakers"][self.backend]),
            purpose=purpose,
            expectation=expectation,
            check=check,
            message=self.message["name"],
            layout=self.layout["id"],
            clauses=clauses,
            origin=self.origin,
        )

    def refuse(
        self,
        what: str,
        frames: Frames,
        *,
        level: Level = Level.MUST,
        purpose: str,
        why: str,
        expect: Refuse,
        clauses: tuple[str, ...],
    ) -> Case:
        """A case whose frames are refused, and why they have to be."""
        return self.case(
            what,
            level=level,
            purpose=purpose,
            expectation=f"Refused. {why}",
            check=Decode(frames=frames, expect=expect),
            clauses=clauses,
        )

    def accept(
        self,
        what: str,
        frames: Frames,
        values: Values,
        *,
        level: Level = Level.MUST,
        purpose: str,
        expectation: str,
        clauses: tuple[str, ...],
    ) -> Case:
        """A case whose frames are read as these values."""
        return self.case(
            what,
            level=level,
            purpose=purpose,
            expectation=expectation,
            check=Decode(frames=frames, expect=Accept(values=values)),
            clauses=clauses,
        )

    def encode(
        self,
        what: str,
        values: Values,
        expect: Frames | Refuse,
        *,
        level: Level = Level.MUST,
        purpose: str,
        expectation: str,
        clauses: tuple[str, ...],
    ) -> Case:
        """A case whose values become exactly these frames, or are refused."""
        return self.case(
            what,
            level=level,
            purpose=purpose,
            expectation=expectation,
            check=Encode(values=values, expect=expect),
            clauses=clauses,
        )


Rule = Callable[[Subject], Iterator[Case]]


def refused(slot: Json) -> Refuse:
    """The refusal of one frame's bytes."""
    return Refuse(kinds=BAD_FRAME, frame=slot["position"], field=slot["name"])
