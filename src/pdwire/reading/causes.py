"""Likely causes of frames that do not fit, in a line each.

Rules: a cause is only told where the frames bear it out: another layout that has their
count, another message that they fit, a shape that a known fault leaves.
"""

from __future__ import annotations

from collections.abc import Sequence

from pdwire.reading.frames import GUARD_ENDING, count_text
from pdwire.reading.interpret import Reading
from pdwire.reading.match import Candidate, Fit, candidates, rank
from pdwire.reading.releases import runs
from pdwire.reading.spec import Layout, Message

_PICKLE = b"\x80\x05"


def speakers(layout: Layout, order: Sequence[str]) -> str:
    """Who speaks a layout: ``mooncake 0.5.17–0.5.18, ascend 0.5.17``."""
    told: dict[str, list[str]] = {}
    for backend, releases in layout.speakers.items():
        told.setdefault(runs(releases, order), []).append(backend)
    return "; ".join(f"{', '.join(names)} {releases}" for releases, names in told.items())


def causes(
    reading: Reading, frames: Sequence[bytes], best: Fit, among: Sequence[Candidate]
) -> list[str]:
    """What may have happened to ``frames``, whose best fit is ``best``."""
    if best.exact:
        return []
    found = _another_layout(reading, frames, best)
    found += _another_message(reading, frames, best, among)
    found += _guard(frames, best)
    found += _glued(reading, frames, among)
    found += _frame_shapes(best)
    return found


def _count(message: Message, frames: Sequence[bytes]) -> int:
    guarded = message.guard is not None and bool(frames) and frames[0].endswith(GUARD_ENDING)
    return len(frames) - guarded


def _another_layout(reading: Reading, frames: Sequence[bytes], best: Fit) -> list[str]:
    """Layouts of the same message that allow the count, where this one does not."""
    count = _count(best.message, frames)
    if best.message.transport != "zmq" or count in best.layout.counts:
        return []
    order = reading.spec.releases
    fitting = [layout for layout in best.message.layouts if count in layout.counts]
    told = []
    for layout in fitting:
        exact = reading.annotate(best.message, layout.id, frames).exact
        says = "which they fit exactly" if exact else "which they do not fit either"
        who = speakers(layout, order)
        told.append(f"{count_text(count)}: a {who} peer (layout {layout.id}, {says})")
    return told


def _another_message(
    reading: Reading, frames: Sequence[bytes], best: Fit, among: Sequence[Candidate]
) -> list[str]:
    """An exact fit among the layouts that were not asked for."""
    asked = {(message.key, layout.id) for message, layout in among}
    everything = candidates(reading.spec)
    others = [each for each in everything if (each[0].key, each[1].id) not in asked]
    order = reading.spec.releases
    return [
        f"they fit {fit.message.key} {fit.layout.id} exactly ({speakers(fit.layout, order)})"
        for fit in rank(reading, frames, others)
        if fit.exact and fit.message.key != best.message.key
    ]


def _guard(frames: Sequence[bytes], best: Fit) -> list[str]:
    if best.message.guard is None or not any(f.kind == "guard" for f in best.annotation.faults):
        return []
    if frames and frames[0].endswith(GUARD_ENDING):
        return ["another backend's guard: the message went to the wrong port"]
    return ["the guard is missing: captured behind the receive loop, which drops it first?"]


def _glued(reading: Reading, frames: Sequence[bytes], among: Sequence[Candidate]) -> list[str]:
    """Several messages of one layout one behind the other."""
    told: list[str] = []
    for message, layout in among:
        guard = message.guard is not None
        for size in {count + guard for count in layout.counts}:
            pieces, rest = divmod(len(frames), size)
            if rest or not 1 < pieces <= 64 or size < 2:
                continue
            parts = [frames[at : at + size] for at in range(0, len(frames), size)]
            if all(reading.annotate(message, layout.id, part).exact for part in parts):
                told.append(
                    f"{pieces} {message.name} messages in one: senders share a socket unlocked?"
                )
    return list(dict.fromkeys(told))


def _frame_shapes(best: Fit) -> list[str]:
    told = []
    for row in best.annotation.rows:
        if row.status != "bad" or row.raw is None:
            continue
        if row.raw == b"None" and row.type != "const":
            told.append(f"{row.name} is the text None: the sender was given no value for it")
        elif row.raw.startswith(_PICKLE):
            told.append(f"{row.name} begins like a pickle: a peer of another protocol?")
    return told
