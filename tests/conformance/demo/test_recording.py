"""Offline the demo says so and proves the same from the recording, for every release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pdwire.wire import layout, releases
from pdwire_conformance.demo import run as demo
from pdwire_conformance.demo.exchange import exchange
from pdwire_conformance.demo.recording import Recording, entries, merged, write
from pdwire_conformance.demo.samples import SAMPLES
from pdwire_conformance.peers.errors import PeerError, PeerUnavailable


@pytest.mark.parametrize("release", releases("mooncake"))
def test_every_release_holds_from_its_recording(release: str) -> None:
    recording = Recording(release)
    trials = demo.trials_with(recording, release)
    assert len(trials) == 4
    assert [trial.codec.message for trial in trials if not trial.holds] == []
    assert len(recording.wheel_sha256) == 64


def test_offline_it_says_why_and_uses_the_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(release: str) -> None:
        raise PeerUnavailable(f"sglang {release} could not be downloaded")

    monkeypatch.setattr(demo, "fetch", unreachable)
    report = demo.run("0.5.19")
    assert (report.source, report.holds) == ("recorded", True)
    assert report.reason == "sglang 0.5.19 could not be downloaded"
    assert report.verdict.endswith("all equal, 4 byte-identical; peer: SGLang 0.5.19 (recorded).")


def test_frames_that_were_not_recorded_are_refused() -> None:
    recording = Recording("0.5.23")
    frames = recording.encode("mooncake", "TransferInfo", {})
    assert recording.decode("mooncake", "TransferInfo", frames)["room"] == 7_211_645_881_342_981_407
    with pytest.raises(PeerError, match="how the release reads these frames was not recorded"):
        recording.decode("mooncake", "TransferInfo", [b"8", *frames[1:]])


def test_other_values_than_the_recorded_ones_do_not_hold() -> None:
    codec = layout("mooncake", "TransferInfo", release="0.5.23")
    values = SAMPLES["mooncake", "TransferInfo"] | {"dst_aux_index": 4}
    trial = exchange(Recording("0.5.23"), codec, values)
    assert [found.field for found in trial.peer_to_ours.differences] == ["dst_aux_index"]


def test_a_release_or_message_that_was_not_recorded_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PeerUnavailable, match=r"demo.json holds no recording of 0\.5\.24"):
        Recording("0.5.24")
    write({"0.5.24": "ab" * 32}, [], tmp_path / "demo.json")
    with pytest.raises(PeerError, match="no mori TransferInfo was recorded"):
        Recording("0.5.24", tmp_path / "demo.json").encode("mori", "TransferInfo", {})


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "demo.json"
    recording = Recording("0.5.23")
    trials = demo.trials_with(recording, "0.5.23")
    write({"0.5.23": "ab" * 32}, entries("0.5.23", recording, trials), path)
    again = demo.trials_with(Recording("0.5.23", path), "0.5.23")
    assert [trial.frames for trial in again] == [trial.frames for trial in trials]
    assert all(trial.holds for trial in again)
    assert len(json.loads(path.read_text(encoding="utf-8"))["vectors"]) == 4


def test_releases_that_said_the_same_share_an_entry() -> None:
    def entry(release: str, frame: str) -> dict[str, Any]:
        return {"releases": [release], "backend": "nixl", "message": "X", "frames": [frame]}

    found = merged([entry("a", "00"), entry("b", "01"), entry("c", "00")])
    assert [each["releases"] for each in found] == [["a", "c"], ["b"]]
