"""One release against the generated codecs, both directions, field by field.

Peer to ours: the release's own encoder makes the frames; our decoder must read the
values that went in, our encoder must give back the very bytes, and where the release
has a decoder it must read what ours reads. Ours to peer: our encoder makes the frames
and the release's decoder must read what ours reads.

What an encoder has no way to send (a value that its caller cannot hand it) is drawn
again; what a decoder does not look at is not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from pdwire.codec import Codec
from pdwire.errors import WireError
from pdwire.wire import layout as codec_for
from pdwire_conformance.peers.client import Peer
from pdwire_conformance.peers.errors import InexpressibleError, PeerError

from .convert import from_message, to_message
from .draw import Values, draw_message
from .results import Result
from .spec import layout_of, messages_of

__all__ = ["Pair", "check_release", "differences", "same_spelling"]

Json = dict[str, Any]
_BATCH = 50
_DRAWS_PER_VALUE = 40


class Pair:
    """One message of one backend of a release, on both sides."""

    def __init__(self, peer: Peer, backend: str, name: str, seed: int) -> None:
        self.peer = peer
        self.backend = backend
        self.name = name
        self.message, self.layout = layout_of(backend, name, peer.release)
        self.codec: Codec[Any] = codec_for(backend, name, release=peer.release)
        # Seeded, so that a proof can be repeated; nothing here is a secret.
        self._rng = Random(f"{seed} {peer.release} {backend} {name}")  # noqa: S311
        self._drawn = 0
        self._defaults = {
            field["name"]: field["absent"].get("value", [])
            for field in self.message["fields"]
            if "absent" in field
        }

    @property
    def reads(self) -> bool:
        """Whether the release has a decoder of this message."""
        return self.name in self.peer.hello()["backends"][self.backend]["decode"]

    def draw(self) -> Values:
        """The next values; one in a batch is a big one."""
        self._drawn += 1
        big = self._drawn % _BATCH == 2
        return draw_message(self.message, self.layout, self._rng, big=big, sent=True)

    def whole(self, values: Values) -> Values:
        """The values, and what their absence means for fields that the layout lacks."""
        return self._defaults | values

    def batches(self, wanted: int) -> Iterator[list[Values]]:
        """Values by the batch, up to many times as many as are wanted."""
        size = min(_BATCH, wanted)
        for _ in range(-(-wanted * _DRAWS_PER_VALUE // size)):
            yield [self.draw() for _ in range(size)]

    def read(self, sent: list[list[bytes]]) -> list[Any]:
        """What the release reads of each; ``None`` where it reads nothing on purpose."""
        if not self.reads or not sent:
            return [None] * len(sent)
        answers = self.ask("decode", [{"frames": frames} for frames in sent])
        return [None if _is_dropped(answer) else answer for answer in answers]

    def ask(self, op: str, items: list[Json]) -> list[Any]:
        """The release's answers."""
        base = {"op": op, "backend": self.backend, "message": self.name}
        return list(self.peer.batch([base | item for item in items]))


def check_release(
    peer: Peer, *, values: int = 200, seed: int = 0, only: str | None = None
) -> Iterator[Result]:
    """Every message of every backend of the release; ``only`` names one message."""
    hello = peer.hello()
    why = {(u["backend"], u["message"], u["direction"]): u["why"] for u in hello["unavailable"]}
    for backend, can in hello["backends"].items():
        for message, layout in messages_of(backend, peer.release):
            name = message["name"]
            if only is not None and name != only:
                continue
            for op in ("encode", "decode"):
                known = name in can[op]
                reason = why.get((backend, name, op), "the release has no such code")
                base = {"release": peer.release, "backend": backend, "message": name}
                way = "peer-to-ours" if op == "encode" else "ours-to-peer"
                if not known:
                    yield Result(**base, layout=layout["id"], direction=way, reason=reason)
                    continue
                pair = Pair(peer, backend, name, seed)
                run = _peer_to_ours if op == "encode" else _ours_to_peer
                compared, faults = run(pair, values)
                if compared < values:
                    faults.append(f"only {compared} of {values} values could be compared")
                yield Result(
                    **base,
                    layout=layout["id"],
                    direction=way,
                    values=compared,
                    failed=len(faults),
                    faults=tuple(faults[:3]),
                )


def _peer_to_ours(pair: Pair, wanted: int) -> tuple[int, list[str]]:
    done, faults = 0, list[str]()
    for drawn in pair.batches(wanted):
        sent = pair.ask("encode", [{"values": pair.whole(values)} for values in drawn])
        # No frames, nothing to disprove: draw again. Too few in the end is told.
        good = [
            (values, frames)
            for values, frames in zip(drawn, sent, strict=True)
            if not isinstance(frames, InexpressibleError | PeerError)
        ]
        theirs = pair.read([frames for _, frames in good])
        for (values, frames), read in zip(good, theirs, strict=True):
            faults += _compare(pair, values, frames, read)
        done += len(good)
        if done >= wanted:
            break
    return done, faults


def _compare(pair: Pair, values: Values, frames: list[bytes], theirs: Any) -> list[str]:
    """What the release sent, against what went in, what it reads itself, and our bytes."""
    try:
        message = pair.codec.decode(frames)
        again = pair.codec.encode(message)
    except WireError as error:
        return [f"{error} for {_short(values)}"]
    ours = from_message(message)
    told = differences(ours, values)
    if isinstance(theirs, PeerError):
        told.append(f"the peer cannot read its own frames: {theirs}")
    elif theirs is not None:
        told += [f"peer's decoder: {one}" for one in differences(ours, theirs)]
    if not same_spelling(pair.message, pair.layout, again, frames):
        told.append("encoding again gives other bytes")
    return ["; ".join(told) + f" for {_short(values)}"] if told else []


def _ours_to_peer(pair: Pair, wanted: int) -> tuple[int, list[str]]:
    done, faults = 0, list[str]()
    for drawn in pair.batches(wanted):
        sent = [pair.codec.encode(to_message(pair.codec, values)) for values in drawn]
        for values, frames, read in zip(drawn, sent, pair.read(sent), strict=True):
            if read is None:
                continue
            ours = from_message(pair.codec.decode(frames))
            told = differences(ours, values)
            if isinstance(read, PeerError):
                told.append(f"{read}")
            else:
                told += [f"peer's decoder: {one}" for one in differences(ours, read)]
            if told:
                faults.append("; ".join(told) + f" for {_short(values)}")
            done += 1
        if done >= wanted:
            break
    return done, faults


def same_spelling(
    message: Json, layout: Json, ours: Sequence[bytes], theirs: Sequence[bytes]
) -> bool:
    """Whether we spell the message as the release did.

    A JSON body may be spelled in many ways. A frame whose default has two spellings
    (eight zero bytes, or empty) may come in either; the spec names those frames.
    """
    if message["transport"] == "http":
        return True
    guard = 1 if message["guard"] else 0
    either = {frame["position"] + guard for frame in layout["frames"] if frame["writes_empty"]}
    return len(ours) == len(theirs) and all(
        a == bytes(b) or place in either
        for place, (a, b) in enumerate(zip(ours, theirs, strict=True))
    )


def differences(ours: Values, other: Values) -> list[str]:
    """Fields that both name and that differ; a peer's ``None`` for no array is no array."""
    told = []
    for name, value in other.items():
        if name not in ours:
            told.append(f"{name} is no field of ours")
        elif ours[name] != value and not (value is None and ours[name] == []):
            told.append(f"{name}: ours {_short(ours[name])}, other {_short(value)}")
    return told


def _is_dropped(answer: object) -> bool:
    """The release ignores some messages by design, an acknowledgement without generation."""
    return isinstance(answer, InexpressibleError) or (
        isinstance(answer, PeerError) and answer.type == "DroppedError"
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}…"
