"""The head of a message, for messages whose shorter form means something by itself."""

from __future__ import annotations

from pdwire.frames.place import Frames

__all__ = ["head"]


def head(frames: Frames, count: int) -> Frames:
    """The first ``count`` frames: an ABORT without its address is an ABORT all the same."""
    return frames[:count]
