"""Which codec: chosen by release or revision, or proved by the bytes that came.

``recognise`` never guesses. It runs every layout that the first frames leave possible
and keeps those that accept; since decoders are strict, that is exactly the set of
layouts that the bytes do not rule out. Layouts that read the same values agree and are
no ambiguity; when two of them read different values the answer says ``ambiguous``
(field reports V1 and V2).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from pdwire.codec import Codec, Message
from pdwire.errors import (
    AmbiguousMessageError,
    FrameCountError,
    UnknownLayoutError,
    UnknownMessageError,
    WireError,
    shorten,
)
from pdwire.frames.place import Frames, Layout, as_bytes

__all__ = ["Recognition", "Registry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognition:
    """What the bytes prove about one message.

    Attributes:
        candidates: every codec whose layout accepts the frames, never empty.
        ambiguous: two candidates read different values or different messages.
        message: the message's name; empty when candidates differ about it.
        backends: backends whose layouts fit, in the spec's order.
        releases: releases whose layouts fit, oldest first.
    """

    candidates: tuple[Codec[Any], ...]
    ambiguous: bool
    message: str
    backends: tuple[str, ...]
    releases: tuple[str, ...]

    @property
    def codec(self) -> Codec[Any]:
        """The newest codec that fits.

        Raises:
            AmbiguousMessageError: two fit and read differently; choose by release.
        """
        if self.ambiguous:
            told = ", ".join(f"{c.backend} {c.message} {c.layout}" for c in self.candidates)
            raise AmbiguousMessageError(
                "frames that fit one reading", told, hint="name the peer's release"
            )
        return self.candidates[-1]


class Registry:
    """All codecs, in the spec's order, and the ways to choose one."""

    def __init__(
        self,
        codecs: Iterable[Codec[Any]],
        order: tuple[str, ...],
        aliases: dict[str, str],
    ) -> None:
        self._codecs = tuple(codecs)
        self._depth = max(map(_depth, self._codecs), default=1)
        self._order = {release: n for n, release in enumerate(order)}
        self._aliases = aliases
        self._served: dict[tuple[str | None, str | None], list[Codec[Any]]] = {}
        self._by_name: dict[tuple[str, str], list[Codec[Any]]] = {}
        self._by_release: dict[tuple[str, str, str], Codec[Any]] = {}
        for codec in self._codecs:
            key = (codec.backend, codec.message)
            self._by_name.setdefault(key, []).append(codec)
            for release in codec.releases:
                self._by_release[(*key, release)] = codec

    def layouts(self, backend: str | None = None, message: str | None = None) -> list[Codec[Any]]:
        """Every codec, or those of one backend or message, oldest layout first."""
        name = self._aliases.get(message, message) if message is not None else None
        return [
            codec
            for codec in self._codecs
            if (backend is None or codec.backend == backend)
            and (name is None or codec.message == name)
        ]

    def releases(self, backend: str) -> list[str]:
        """The releases that have the backend, oldest first.

        Raises:
            UnknownLayoutError: no such backend.
        """
        found = {r for codec in self._codecs if codec.backend == backend for r in codec.releases}
        if not found:
            raise UnknownLayoutError(self._unknown("backend", backend, self._backends()))
        return sorted(found, key=self._order.__getitem__)

    def layout(
        self,
        backend: str,
        message: str,
        *,
        release: str | None = None,
        revision: str | None = None,
    ) -> Codec[Any]:
        """The codec of a release or of a revision; without either, the newest.

        Args:
            backend: ``"mooncake"``, ``"nixl"``, ``"mori"``, ``"ascend"``.
            message: name on the wire, class name or alias.
            release: a published release, ``"0.5.19"``.
            revision: a layout id, ``"r8"``.

        Raises:
            UnknownLayoutError: there is no such thing; the text says what there is.
        """
        name = self._aliases.get(message, message)
        known = self._by_name.get((backend, name))
        if known is None:
            raise UnknownLayoutError(self._no_message(backend, message))
        if release is not None and revision is not None:
            raise UnknownLayoutError("choose by release or by revision, not by both")
        if release is not None:
            codec = self._by_release.get((backend, name, release))
            if codec is None:
                raise UnknownLayoutError(self._no_release(backend, name, release))
            return codec
        if revision is not None:
            for codec in known:
                if codec.layout == revision:
                    return codec
            ids = [codec.layout for codec in known]
            raise UnknownLayoutError(self._unknown(f"{backend} {name} revision", revision, ids))
        return known[-1]

    def recognise(
        self, frames: Frames, *, backend: str | None = None, direction: str | None = None
    ) -> Recognition:
        """Which messages and layouts these frames can be, proved by their bytes.

        Args:
            frames: the whole multipart message, guard included.
            backend: only layouts of this backend (what the socket serves).
            direction: only messages that travel this way, ``"decode -> prefill"``.

        Raises:
            UnknownMessageError: no message begins like this.
            FrameCountError: a known message with a count that no layout allows.
            WireError: one known message; the error of the layout that came furthest.
            UnknownLayoutError: there is no such backend or direction.
        """
        served = self._served.get((backend, direction))
        if served is None:
            served = self._served[backend, direction] = self._serving(backend, direction)
        fits: list[tuple[Codec[Any], Message]] = []
        faults: list[WireError] = []
        tried: dict[int, Message | WireError] = {}
        for codec in _led(served, _leading(frames, self._depth)):
            outcome = tried.get(id(codec.decode))
            if outcome is None:
                outcome = tried[id(codec.decode)] = _attempt(codec, frames)
            if isinstance(outcome, WireError):
                faults.append(outcome)
            else:
                fits.append((codec, outcome))
        if not fits:
            raise _closest(faults, frames)
        return self._recognition(fits)

    def _serving(self, backend: str | None, direction: str | None) -> list[Codec[Any]]:
        """Codecs of multi-frame messages of a backend, in a direction; ``None`` means any."""
        if backend is not None and backend not in self._backends():
            raise UnknownLayoutError(self._unknown("backend", backend, self._backends()))
        ways = list(dict.fromkeys(way for codec in self._codecs for way in codec.directions))
        if direction is not None and direction not in ways:
            raise UnknownLayoutError(self._unknown("direction", direction, ways))
        return [
            codec
            for codec in self.layouts(backend)
            if codec.transport == "zmq" and (direction is None or direction in codec.directions)
        ]

    def _recognition(self, fits: list[tuple[Codec[Any], Message]]) -> Recognition:
        first = fits[0][1]
        found = {release for codec, _ in fits for release in codec.releases}
        messages = {codec.message for codec, _ in fits}
        return Recognition(
            candidates=tuple(codec for codec, _ in fits),
            ambiguous=any(other != first for _, other in fits),
            message=messages.pop() if len(messages) == 1 else "",
            backends=tuple(dict.fromkeys(codec.backend for codec, _ in fits)),
            releases=tuple(sorted(found, key=self._order.__getitem__)),
        )

    def _backends(self) -> list[str]:
        return list(dict.fromkeys(codec.backend for codec in self._codecs))

    def _no_message(self, backend: str, message: str) -> str:
        backends = self._backends()
        if backend not in backends:
            return self._unknown("backend", backend, backends)
        names = [name for known, name in self._by_name if known == backend]
        spellings = [alias for alias, name in self._aliases.items() if name in names]
        return self._unknown(f"{backend} message", message, names, spellings)

    def _no_release(self, backend: str, name: str, release: str) -> str:
        if release not in self._order:
            return self._unknown("release", release, list(self._order))
        having = [r for codec in self._by_name[(backend, name)] for r in codec.releases]
        return f"{backend} has no {name} in {release}; it has one in {', '.join(having)}"

    @staticmethod
    def _unknown(what: str, came: str, known: list[str], spellings: Iterable[str] = ()) -> str:
        """What is unknown, what may have been meant, and what there is."""
        folded = {name.casefold(): name for name in (*spellings, *known)}
        near = difflib.get_close_matches(str(came).casefold(), folded, n=1)
        meant = f"; did you mean {folded[near[0]]!r}?" if near else ""
        return f"unknown {what} {came!r}{meant} (known: {', '.join(known)})"


def _attempt(codec: Codec[Any], frames: Frames) -> Message | WireError:
    try:
        message: Message = codec.decode(frames)
    except WireError as fault:
        return fault
    return message


def _depth(codec: Codec[Any]) -> int:
    """How many frames it takes to see all that tells a message."""
    return 1 + max([*(index for index, _ in codec.lead), codec.number or 0])


def _leading(frames: Frames, depth: int) -> list[bytes]:
    """The first frames as bytes, as many as it takes to tell messages apart."""
    try:
        leading = list(frames[:depth])
    except Exception:  # noqa: BLE001  # whatever it is, it is no sequence
        raise UnknownMessageError("a sequence of frames", shorten(frames)) from None
    return [as_bytes(frame, _ANY) for frame in leading]


def _led(codecs: list[Codec[Any]], leading: list[bytes]) -> list[Codec[Any]]:
    """The codecs whose constants these frames begin with; most constants win.

    A message that begins with a number is only tried when no tag and no guard fits.
    """
    found: dict[int, list[Codec[Any]]] = {}
    for codec in codecs:
        tagged = all(n < len(leading) and leading[n] == value for n, value in codec.lead)
        number = codec.number
        if tagged and (
            number is None or (leading[number : number + 1] and leading[number].isdigit())
        ):
            found.setdefault(len(codec.lead), []).append(codec)
    return found[max(found)] if found else []


_ANY: Final = Layout("", "", "", (), {})
_RANK: Final = {UnknownMessageError: 0, FrameCountError: 1}


def _closest(faults: list[WireError], frames: Frames) -> WireError:
    """The fault that says most: a frame's value, else the count, else that none is known."""
    if not faults:
        first = shorten(as_bytes(frames[0], _ANY)) if len(frames) else "no frames"
        return UnknownMessageError("a known message", first, hint="no layout begins like this")
    return max(faults, key=lambda fault: (_RANK.get(type(fault), 2), fault.frame or 0))
