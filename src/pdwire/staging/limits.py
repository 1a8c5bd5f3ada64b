"""Bounds of the staging core: how long anything waits, and how much of anything is kept."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["StagingLimits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingLimits:
    """Seconds and counts; every one of them positive.

    Attributes:
        parked: STAGING_REQ messages kept for rooms that are not open yet (S1).
        parked_s: how long such a message is kept.
        late_write_s: how long the place of a chunk stays taken after its room was closed while
            a prefill rank might still write there, unless that is ruled out before. Long
            enough for a write in flight; in the meantime the watermark does not pass it.
        ask_again_s: after how long a prefill rank asks again for a chunk that has no answer.
        remind_s: how often the watermark is repeated while any place is taken.
        remembered: closed rooms that are remembered, so that late messages change nothing.
    """

    parked: int = 10_000
    parked_s: float = 60.0
    late_write_s: float = 30.0
    ask_again_s: float = 5.0
    remind_s: float = 1.0
    remembered: int = 10_000

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)!r}")
