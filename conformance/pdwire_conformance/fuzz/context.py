"""Who is asked, about what: all that a property's functions take besides a sample."""

from __future__ import annotations

from dataclasses import dataclass

from pdwire.strategies.subjects import Subject

from .sides import Interpreted, Side

__all__ = ["Context"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Who is asked, about what. ``release`` is one that speaks the subject's layout."""

    subject: Subject
    release: str
    target: Side
    reading: Interpreted
    against: Side | None = None
