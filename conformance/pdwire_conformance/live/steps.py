"""What each step of a script does; see :mod:`.script` for what it takes.

Rules:

* A step waits with a deadline, and fails when it passes; nothing sleeps to be on time.
* What a driven target raises is what came: it is told in the step's failure.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from pdwire_conformance.interop.process import POLL_S
from pdwire_conformance.proof.spec import layout_of

from .http import ask_http
from .notation import Value, filled, framed
from .player import Heard
from .scene import Scene, StepFailed, StepSkipped, endings
from .script import STEPS

__all__ = ["alive", "do"]

Step = Mapping[str, Any]
_WITHIN_S: Final = 5.0
"""Seconds that a step waits when it does not say."""
_NOTED: Final = 5
"""Of a repeated message: so many are in the trace."""
_FINAL: Final = {"Success", "Failed"}
_BYTES: Final = {"data", "agent_metadata"}
"""Fields whose text in a script is a frame's notation."""


def do(scene: Scene, step: Step) -> None:
    """Do one step; raises ``StepFailed`` or ``StepSkipped``."""
    name = str(step["do"])
    if STEPS[name].driven and not scene.target.drives:
        raise StepSkipped(f"{name} needs a target that is driven, not only its socket")
    _DO[name](scene, step)


def _within(scene: Scene, step: Step) -> float:
    """How long the step waits, in seconds."""
    return float(step.get("within_s", _WITHIN_S * scene.target.patience))


# ---------------------------------------------------------------------- rooms


def _open(scene: Scene, step: Step) -> None:
    letter, which = str(step["room"]), str(step.get("ends", "both"))
    room = scene.room(letter, step.get("chunks", [3]), int(step.get("prefix", 0)))
    handover = scene.target.handover
    ends = scene.ends.setdefault(letter, set())
    sides = scene.sides(which)
    if handover.decodes[0][0] in sides:
        handover.receive(room)
        ends.update(handover.decodes[0])
    if handover.prefill[0] in sides:
        handover.send(room, hold=int(step.get("hold", 0)))
        ends.update(handover.prefill)


def _let_go(scene: Scene, step: Step) -> None:
    room = scene.room(str(step["room"]))
    for side in scene.target.handover.prefill:
        if side in scene.ends[str(step["room"])]:
            side.ask("release", room=room.number)


def _abort(scene: Scene, step: Step) -> None:
    number = scene.room(str(step["room"])).number
    for side in scene.sides(str(step.get("end", "target"))):
        side.ask("abort", room=number)


def _clear(scene: Scene, step: Step) -> None:
    letter = str(step["room"])
    for side in scene.sides(str(step.get("ends", "both"))):
        if side in scene.ends.get(letter, ()):
            side.ask("clear", room=scene.rooms[letter].number)
            scene.ends[letter].discard(side)


def _status(scene: Scene, step: Step) -> None:
    letter, wanted = str(step["room"]), list(step["is"])
    end, needs_reason = str(step.get("end", "target")), bool(step.get("reason", False))
    expected = f"room {letter} {' or '.join(wanted)} at the {end}"
    expected += ", with a reason" if needs_reason else ""
    ends = time.monotonic() + _within(scene, step)
    while True:
        told = scene.poll(letter)
        ours = [told[side] for side in scene.sides(end) if side in told]
        if all(status in wanted for status, _ in ours):
            break
        over = any(status in _FINAL and status not in wanted for status, _ in ours)
        if over or time.monotonic() > ends:
            raise StepFailed(expected, "; ".join(endings(told)))
        time.sleep(POLL_S)
    if needs_reason and not all(reason for _, reason in ours):
        raise StepFailed(expected, "no reason")


def _stays(scene: Scene, step: Step) -> None:
    alive(scene)
    _status(scene, {**step, "within_s": 0})


def _arrived(scene: Scene, step: Step) -> None:
    letter = str(step["room"])
    room = scene.room(letter)
    ends = time.monotonic() + _within(scene, step)
    while True:
        told = scene.poll(letter)
        statuses = {status for status, _ in told.values()}
        if statuses == {"Success"}:
            break
        if "Failed" in statuses or time.monotonic() > ends:
            raise StepFailed(f"room {letter} Success at both ends", "; ".join(endings(told)))
        time.sleep(POLL_S)
    if different := scene.target.handover.differences(room):
        raise StepFailed("every byte equal", "; ".join(different[:3]))


def _abandon(scene: Scene, step: Step) -> None:
    handover = scene.target.handover
    for _ in range(int(step["count"])):
        room = scene.fresh((3,))
        handover.open(room, hold=1)
        handover.clear(room)


def _deaf(scene: Scene, step: Step) -> None:
    scene.target.player.deaf = step["do"] == "deaf"


def _ignore(scene: Scene, _: Step) -> None:
    scene.target.player.ignore()


def _spent(scene: Scene, _: Step) -> None:
    scene.spent = True


def alive(scene: Scene, step: Step | None = None) -> None:
    """Fresh rooms are handed over whole; from outside: whatever proves life there."""
    for _ in range(int((step or {}).get("repeat", 1))):
        _alive(scene, _within(scene, step or {}))


def _alive(scene: Scene, within_s: float) -> None:
    if not scene.target.drives:
        scene.target.prove_life(within_s)  # type: ignore[attr-defined]
        return
    handover, room = scene.target.handover, scene.fresh((4,))
    handover.open(room)
    expected = "a fresh room is handed over, every byte equal"
    try:
        told = handover.settle(room, deadline_s=within_s)[room.number]
    except TimeoutError as error:
        raise StepFailed(expected, str(error)) from error
    bad = [f"{name}: {s} {reason}".strip() for name, (s, reason) in told.items() if s != "Success"]
    bad = bad or handover.differences(room)
    if bad:
        raise StepFailed(expected, "; ".join(bad[:3]))
    handover.clear(room)


# ------------------------------------------------------------------- messages


def _send(scene: Scene, step: Step) -> None:
    message, player = str(step["message"]), scene.target.player
    letter = str(step.get("room", "a"))
    for count in _counts(step):
        facts = _facts(scene, message, letter) | _values(scene, step, count)
        frames = player.build(message, facts)
        player.say(scene.target.endpoint, frames, noted=_is_noted(step, count))


def _counts(step: Step) -> range:
    first = int(step.get("first", 0))
    return range(first, first + int(step.get("repeat", 1)))


def _is_noted(step: Step, count: int) -> bool:
    return count - int(step.get("first", 0)) < _NOTED


def _values(scene: Scene, step: Step, count: int) -> dict[str, Any]:
    given = filled(step.get("values", {}), _knows(scene, count))
    return {name: _fact(name, value) for name, value in given.items()}


def _knows(scene: Scene, count: int) -> Callable[[str], Any]:
    return lambda name: count if name == "n" else scene.known(name)


def _fact(name: str, value: Value) -> Value:
    if name in _BYTES and isinstance(value, str):
        return framed(value)
    if isinstance(value, list):
        flat = all(isinstance(item, int) for item in value)
        if flat and name.endswith("indices"):
            return np.array(value, np.int32)
        return tuple(_fact(name, item) for item in value)
    return value


def _facts(scene: Scene, message: str, letter: str) -> dict[str, Any]:
    """What the player would say itself."""
    manager = scene.target.player.manager
    if message == "KVArgsRegisterInfo":
        return dict(manager.registration_facts())
    room = scene.room(letter)
    host, port = manager.endpoint
    if message == "TransferInfo":
        return {
            "dst_kv_indices": np.array(room.pages, np.int32),
            "dst_aux_index": room.row,
            "dst_state_indices": (),
            "decode_prefix_len": 0,
            **manager.metadata_facts(room.number, 1, is_dummy=False),
        }
    return {
        "room": room.number,
        "decode_ip": host,
        "decode_port": port,
        "generation": 1,
        "prefill_rank": 0,
        "aux_index": room.row,
        "chunk_idx": 0,
        "chunk_num_pages": 3,
        "requester_pp_rank": 0,
        "session_id": scene.known("target.session"),
    }


def _frames(scene: Scene, step: Step) -> None:
    target = scene.target
    guard = _guard(target.backend, target.release) if step.get("guarded") else []
    for count in _counts(step):
        told = filled(step["frames"], _knows(scene, count))
        frames = [*guard, *map(framed, told)]
        target.player.say(target.endpoint, frames, noted=_is_noted(step, count))


def _guard(backend: str, release: str) -> list[bytes]:
    message, _ = layout_of(backend, "KVArgsRegisterInfo", release)
    return [message["guard"].encode()] if message["guard"] else []


def _raw_tcp(scene: Scene, step: Step) -> None:
    data = b"".join(map(framed, filled(step["data"], scene.known)))
    address = scene.target.endpoint
    if scene.target.role == "bootstrap":
        host, _, port = scene.target.bootstrap.rpartition(":")
        address = host, int(port)
    for _ in range(int(step.get("repeat", 1))):
        made = socket.create_connection(address, timeout=2)
        try:
            made.sendall(data)
        except OSError as error:  # refusing what it reads is its right
            scene.note(f"the connection was closed: {error}")
        if step.get("stay"):
            scene.stack.enter_context(made)
        else:
            made.close()


def _listen(scene: Scene, step: Step) -> None:
    made = scene.stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    scene.ports[str(step["name"])] = int(made.getsockname()[1])


def _expect(scene: Scene, step: Step) -> None:
    message = str(step["message"])
    values = filled(step.get("values", {}), scene.known)
    within_s = _within(scene, step)
    found = scene.target.player.take(lambda each: _fits(each, message, values), within_s)
    if found is not None:
        scene.named[str(step.get("as", ""))] = found.values or {}
    else:
        raise StepFailed(f"{message} {values or ''}".strip() + f" in {within_s:g} s", _came(scene))


def _nothing(scene: Scene, step: Step) -> None:
    message = str(step["message"])
    values = filled(step.get("values", {}), scene.known)
    alive(scene)
    found = scene.target.player.take(lambda each: _fits(each, message, values), 0)
    if found is not None:
        raise StepFailed(f"no {message} {values or ''}".strip(), f"{message} {found.values}")


def _fits(heard: Heard, message: str, values: dict[str, Any]) -> bool:
    told = heard.values
    if heard.message != message or told is None:
        return False
    return all(told.get(name) == value for name, value in values.items())


def _came(scene: Scene) -> str:
    came = [each for each in scene.target.player.heard() if each.came and not each.taken]
    told = [f"{each.message or 'unreadable'} {each.values or ''}".strip() for each in came[-4:]]
    return "; ".join(told) or "nothing came"


# ---------------------------------------------------------- memory, resources


def _remember(scene: Scene, step: Step) -> None:
    rooms = [scene.room(letter) for letter in step.get("rooms", [])]
    scene.kept = {
        "pages": [page for room in rooms for page in room.pages],
        "aux": [room.row for room in rooms],
        "state": [row for room in rooms if room.state for row in room.state[1]],
    }
    scene.digests = _outside(scene)


def _outside(scene: Scene) -> list[list[str]]:
    return [list(side.ask("outside", **scene.kept)["digests"]) for side in scene.target.sides]


def _untouched(scene: Scene, _: Step) -> None:
    now = _outside(scene)
    changed = [
        _region_name(scene, index)
        for before, after in zip(scene.digests, now, strict=True)
        for index, (a, b) in enumerate(zip(before, after, strict=True))
        if a != b
    ]
    if changed:
        expected = "no byte changed outside of the rooms' own, nor before or behind a region"
        raise StepFailed(expected, f"{', '.join(changed)} did")


def _region_name(scene: Scene, index: int) -> str:
    """What a region is, from its place in the order of the model's pools."""
    pools = scene.target.sides[0].options.layers * 2
    return f"KV region {index}" if index < pools else f"auxiliary or state region {index - pools}"


def _measure(scene: Scene, _: Step) -> None:
    scene.measured = _held_now(scene)


def _held_now(scene: Scene) -> dict[str, int]:
    told = scene.target.sides[0].ask("resources")
    return {name: int(told[name]) for name in ("threads", "files", "rss_kib")}


def _bounded(scene: Scene, step: Step) -> None:
    now, before = _held_now(scene), scene.measured
    limits = {"threads": step["threads"], "files": step["files"], "rss_kib": step["rss_mib"] * 1024}
    grown = {name: now[name] - before[name] for name in limits}
    over = [name for name, most in limits.items() if grown[name] > most]
    scene.note(f"beyond what it held before: {grown}")
    if over:
        expected = ", ".join(f"{name} +{limits[name]:g} at most" for name in over)
        raise StepFailed(expected, ", ".join(f"{name} +{grown[name]}" for name in over))


def _released(scene: Scene, step: Step) -> None:
    letter = str(step["room"])
    ends = time.monotonic() + _within(scene, step)
    while not _is_released(scene, letter):
        if time.monotonic() > ends:
            raise StepFailed(f"room {letter}'s pages may be used again", "they are still held")
        time.sleep(POLL_S)


def _held(scene: Scene, step: Step) -> None:
    letter = str(step["room"])
    if _is_released(scene, letter):
        raise StepFailed(f"room {letter}'s pages are held", "they were released")


def _is_released(scene: Scene, letter: str) -> bool:
    number = scene.rooms[letter].number
    return all(side.ask("released", room=number)["released"] for side in scene.target.sides)


# ----------------------------------------------------------------------- http


def _http(scene: Scene, step: Step) -> None:
    ask_http(scene, {**step, **filled(dict(step), scene.known)})


_DO: Final[Mapping[str, Callable[[Scene, Step], None]]] = {
    "open": _open,
    "abandon": _abandon,
    "deaf": _deaf,
    "hears": _deaf,
    "spent": _spent,
    "ignore": _ignore,
    "let_go": _let_go,
    "abort": _abort,
    "clear": _clear,
    "status": _status,
    "stays": _stays,
    "arrived": _arrived,
    "alive": alive,
    "send": _send,
    "frames": _frames,
    "raw_tcp": _raw_tcp,
    "listen": _listen,
    "expect": _expect,
    "nothing": _nothing,
    "remember": _remember,
    "untouched": _untouched,
    "measure": _measure,
    "bounded": _bounded,
    "released": _released,
    "held": _held,
    "http": _http,
}
