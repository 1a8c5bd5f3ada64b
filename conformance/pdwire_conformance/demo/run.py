"""Runs the trials: against the release itself, or against its recording where it must."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pdwire.codec import Codec
from pdwire.wire import layout
from pdwire_conformance.demo.codecs import Generated, generated
from pdwire_conformance.demo.exchange import Side, Trial, exchange
from pdwire_conformance.demo.recording import RECORDED, Entry, Recording, entries, write
from pdwire_conformance.demo.report import Report
from pdwire_conformance.demo.samples import BACKENDS, MESSAGES, SAMPLES
from pdwire_conformance.peers.client import Peer
from pdwire_conformance.peers.errors import PeerUnavailable
from pdwire_conformance.peers.wheels import fetch


def run(release: str, *, live: bool = True) -> Report:
    """The whole demo; live when the release can be had here, else from its recording.

    Raises:
        PeerUnavailable: it can neither be run here nor was it recorded.
    """
    codecs = generated()
    if not live:
        return _from_recording(release, codecs, "that was asked for")
    try:
        return _live(release, codecs)
    except PeerUnavailable as error:
        return _from_recording(release, codecs, str(error))


def record(releases: list[str], told: Callable[[str], None], path: Path = RECORDED) -> list[Trial]:
    """Run every release and write what it sent and read; the trials that do not hold.

    Raises:
        PeerUnavailable: a release cannot be run here; nothing is written then.
    """
    wheels: dict[str, str] = {}
    found: list[Entry] = []
    broken: list[Trial] = []
    for release in releases:
        told(release)
        wheels[release] = fetch(release).sha256
        with Peer(release) as peer:
            trials = trials_with(peer, release)
            found += entries(release, peer, trials)
        broken += [trial for trial in trials if not trial.holds]
    if not broken:
        write(wheels, found, path)
    return broken


def trials_with(side: Side, release: str) -> tuple[Trial, ...]:
    """Every message of the demo, there and back."""
    return tuple(
        exchange(side, codec, SAMPLES[codec.backend, codec.message]) for codec in _codecs(release)
    )


def _codecs(release: str) -> Iterator[Codec[Any]]:
    for backend in BACKENDS:
        yield from (layout(backend, message, release=release) for message in MESSAGES)


def _live(release: str, codecs: Generated) -> Report:
    sha256 = fetch(release).sha256
    with Peer(release) as peer:
        trials = trials_with(peer, release)
    return Report(
        release=release,
        source="live",
        reason="",
        wheel_sha256=sha256,
        generated=codecs,
        trials=trials,
    )


def _from_recording(release: str, codecs: Generated, reason: str) -> Report:
    recording = Recording(release)
    return Report(
        release=release,
        source="recorded",
        reason=reason,
        wheel_sha256=recording.wheel_sha256,
        generated=codecs,
        trials=trials_with(recording, release),
    )
