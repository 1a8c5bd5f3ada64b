"""Which frame is which when there are too many or too few.

Rules: frames keep their order. Of all ways to lay them against the slots the one with
the fewest frames that do not fit, are missing or are left over is taken; among equals,
the one that pairs frames with slots longest.
"""

from __future__ import annotations

from collections.abc import Callable

Pair = tuple[int | None, int | None]
"""Slot and frame; ``None`` on either side: nothing there."""

_Step = tuple[int, int]
_BOTH: _Step = (1, 1)
_SLOT: _Step = (1, 0)
_FRAME: _Step = (0, 1)
_MOST = 64


def align(slots: int, frames: int, fits: Callable[[int, int], bool]) -> list[Pair]:
    """Pairs of slot and frame in order; position by position where there is too much to try."""
    if max(slots, frames) > _MOST:
        return _straight(slots, frames)
    steps = _best_steps(slots, frames, fits)
    pairs: list[Pair] = []
    slot, frame = 0, 0
    while slot < slots or frame < frames:
        step = steps[slot, frame]
        pairs.append((slot if step[0] else None, frame if step[1] else None))
        slot, frame = slot + step[0], frame + step[1]
    return pairs


def _straight(slots: int, frames: int) -> list[Pair]:
    return [
        (place if place < slots else None, place if place < frames else None)
        for place in range(max(slots, frames))
    ]


def _best_steps(
    slots: int, frames: int, fits: Callable[[int, int], bool]
) -> dict[tuple[int, int], _Step]:
    """The step to take from each pair of slot and frame on, worked out from the end."""
    cost = {(slots, frames): 0}
    steps: dict[tuple[int, int], _Step] = {}
    for slot in range(slots, -1, -1):
        for frame in range(frames, -1, -1):
            ways: list[tuple[int, int, _Step]] = []
            if slot < slots and frame < frames:
                misfit = 0 if fits(slot, frame) else 1
                ways.append((cost[slot + 1, frame + 1] + misfit, 0, _BOTH))
            if slot < slots:
                ways.append((cost[slot + 1, frame] + 1, 1, _SLOT))
            if frame < frames:
                ways.append((cost[slot, frame + 1] + 1, 2, _FRAME))
            if ways:
                cost[slot, frame], _, steps[slot, frame] = min(ways)
    return steps
