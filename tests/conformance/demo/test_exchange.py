"""A trial tells what held, names what did not, and never raises for either side's fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from pdwire.codec import Codec
from pdwire.wire import layout, layouts
from pdwire_conformance.demo.exchange import Difference, Values, compare, exchange
from pdwire_conformance.demo.samples import BACKENDS, MESSAGES, SAMPLES
from pdwire_conformance.peers.errors import PeerError
from pdwire_conformance.proof.convert import from_message

TAIL = {"round": 2, "tail": 65_536, "session_id": "10.0.0.2:17000"}


@dataclass
class Mirror:
    """A side that speaks with our own codec and may be told to misbehave."""

    codec: Codec[Any]
    misread: Values = field(default_factory=dict)
    refuses: str = ""
    drops: int = 0

    def encode(self, backend: str, message: str, values: Values) -> list[bytes]:
        assert (backend, message) == (self.codec.backend, self.codec.message)
        if self.refuses == "encode":
            raise PeerError("ValueError", "no")
        frames = self.codec.encode(self.codec.cls(**values))
        return frames[: len(frames) - self.drops]

    def decode(self, backend: str, message: str, frames: Sequence[bytes]) -> Values:
        assert (backend, message) == (self.codec.backend, self.codec.message)
        if self.refuses == "decode":
            raise PeerError("KeyError", "room")
        return from_message(self.codec.decode(frames)) | self.misread


@pytest.fixture
def watermark() -> Codec[Any]:
    return layout("mooncake", "WATERMARK")


def test_a_trial_counts_the_fields_it_compared(watermark: Codec[Any]) -> None:
    trial = exchange(Mirror(watermark), watermark, TAIL)
    assert trial.holds
    assert trial.same_bytes
    assert trial.frames == (b"WATERMARK", b"2", b"65536", b"10.0.0.2:17000")
    assert trial.peer_to_ours.compared == len(watermark.fields)
    assert trial.values | TAIL == trial.values


def test_a_field_that_the_peer_reads_differently_is_named(watermark: Codec[Any]) -> None:
    trial = exchange(Mirror(watermark, misread={"tail": 0}), watermark, TAIL)
    assert trial.peer_to_ours.holds
    assert trial.ours_to_peer.differences == (Difference(field="tail", peer=0, ours=65_536),)
    assert not trial.holds


def test_a_field_that_only_the_peer_has_is_a_difference() -> None:
    leg = compare({"room": 7, "new": 1}, {"room": 7})
    assert leg.compared == 2
    assert [found.field for found in leg.differences] == ["new"]


@pytest.mark.parametrize(
    ("side", "fault"),
    [
        ({"refuses": "encode"}, "the peer cannot encode: ValueError: no"),
        ({"drops": 1}, "we refuse the peer's frames: "),
    ],
)
def test_a_fault_on_the_way_here_is_told(
    watermark: Codec[Any], side: dict[str, Any], fault: str
) -> None:
    trial = exchange(Mirror(watermark, **side), watermark, TAIL)
    assert trial.peer_to_ours.fault.startswith(fault)
    assert not trial.ours_to_peer.holds
    assert not trial.holds


def test_a_fault_on_the_way_back_is_told(watermark: Codec[Any]) -> None:
    trial = exchange(Mirror(watermark, refuses="decode"), watermark, TAIL)
    assert trial.peer_to_ours.holds
    assert trial.ours_to_peer.fault == "the peer refuses our frames: KeyError: room"
    assert not trial.holds


def test_a_peer_that_reads_no_items_as_none_reads_no_items() -> None:
    assert compare({"items": None}, {"items": []}).holds
    assert not compare({"items": None}, {"items": [1]}).holds
    assert not compare({"prefix": None}, {"prefix": 0}).holds


def test_nothing_compared_holds_nothing() -> None:
    assert not compare({}, {"room": 7}).holds


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_field_of_every_layout_has_its_sample(backend: str, message: str) -> None:
    fields = {name for codec in layouts(backend, message) for name in codec.fields}
    assert set(SAMPLES[backend, message]) == fields | (
        {"is_dummy"} if message == "TransferInfo" else set()
    )
