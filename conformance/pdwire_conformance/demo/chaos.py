"""``pdwire demo --chaos``: a side is killed midway; the others finish, its own fail and say why."""

from __future__ import annotations

import time
from collections.abc import Callable

from pdwire_conformance.demo.handover import Shape
from pdwire_conformance.interop.handover import Handover, Room
from pdwire_conformance.interop.process import Side
from pdwire_conformance.peers.errors import PeerUnavailable

__all__ = ["Story", "chaos"]

Story = list[tuple[str, bool]]
"""What happened, line by line, and whether it is what has to happen."""

_DEADLINE_S = 60.0


def chaos(backend: str, shape: Shape, say: Callable[[str], None]) -> Story:
    """Two decode sides and one prefill; first a decode dies, then the prefill."""
    prefill = [shape.options(backend, "prefill", 1, 0, 0)]
    decodes = [[shape.options(backend, "decode", 1, 0, 0)] for _ in range(2)]
    story: Story = []
    with Handover(prefill, decodes) as sides:
        sides.fill(1)
        say(f"{backend}: four requests, two decode processes")
        rooms = [_room(shape, 10 + n, fleet=n % 2) for n in range(4)]
        for room in rooms:
            sides.open(room, hold=1)
        for room in rooms:
            sides.until(room, sides.prefill[0], ("WaitingForInput", "Transferring"))
        say(f"{backend}: kill -9 on the second decode process, midway")
        sides.decodes[1][0].close()
        for room in rooms:
            sides.release(room)
        story += _survivors(sides, [room for room in rooms if room.fleet == 0])
        story += _victims(sides.prefill[0], [room for room in rooms if room.fleet == 1])
        say(f"{backend}: kill -9 on the prefill process, midway")
        last = _room(shape, 50, fleet=0)
        sides.open(last, hold=1)
        sides.until(last, sides.prefill[0], ("WaitingForInput", "Transferring"))
        sides.prefill[0].close()
        story += _victims(sides.decodes[0][0], [last])
    say(f"{backend}: both sides again")
    with Handover(prefill, decodes[:1]) as again:
        again.fill(2)
        room = _room(shape, 10, fleet=0)
        again.open(room)
        ends = again.settle(room, deadline_s=_DEADLINE_S)[room.number].values()
        good = all(status == "Success" for status, _ in ends) and not again.differences(room)
        story.append(("a new request after the restart succeeds, bytes equal", good))
    return story


def _room(shape: Shape, number: int, *, fleet: int) -> Room:
    slot = number % 8
    pages = tuple(slot * shape.pages + n for n in range(shape.pages))
    half = shape.pages // 2
    return Room(number=number, chunks=(pages[:half], pages[half:]), pages=pages[::-1], fleet=fleet)


def _survivors(sides: Handover, rooms: list[Room]) -> Story:
    ends = sides.settle(*rooms, deadline_s=_DEADLINE_S)
    good = all(status == "Success" for told in ends.values() for status, _ in told.values())
    equal = not any(sides.differences(room) for room in rooms)
    return [(f"the other side's {len(rooms)} requests succeed, bytes equal", good and equal)]


def _victims(side: Side, rooms: list[Room]) -> Story:
    """Poll one living side until its rooms are final; each has failed, with a reason."""
    began = time.monotonic()
    told: dict[int, tuple[str, str]] = {}
    while not told or any(status not in {"Failed", "Success"} for status, _ in told.values()):
        if time.monotonic() - began > _DEADLINE_S:
            break
        try:
            told = side.poll(*(room.number for room in rooms))
        except PeerUnavailable as error:
            return [(f"{side.name} died as well: {error}", False)]
        time.sleep(0.02)
    seconds = time.monotonic() - began
    story: Story = []
    for number, (status, reason) in told.items():
        said = f"room {number} on {side.name}: {status} after {seconds:.1f} s: {reason or '-'}"
        story.append((said, status == "Failed" and bool(reason)))
    return story
