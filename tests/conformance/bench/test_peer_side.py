"""Each row says what the release runs, and what of that is ours can run alone."""

from __future__ import annotations

import pytest

from pdwire.wire import layouts, releases
from pdwire_conformance.bench import peer_side
from pdwire_conformance.bench.cases import CASES
from pdwire_conformance.bench.peer_side import work
from pdwire_conformance.bench.run import BACKENDS

FRAMES = [b"WATERMARK", b"3", b"4", b"10.0.0.2:17000"]
ROWS = [
    (backend, message, direction)
    for backend in BACKENDS
    for message in dict.fromkeys(case.message for case in CASES)
    for direction in ("decode", "encode")
]


@pytest.mark.parametrize(("backend", "message", "direction"), ROWS)
def test_every_row_of_every_release_says_what_runs(
    backend: str, message: str, direction: str
) -> None:
    assert any(codec.message == message for codec in layouts(backend))
    for release in releases(backend):
        found = work(backend, message, direction, release)
        assert found.what
        assert found.empty(FRAMES)(3) > 0


def test_what_runs_follows_the_release() -> None:
    old, new = (work("nixl", "TransferInfo", "encode", r).what for r in ("0.5.22", "0.5.23"))
    assert "send_metadata" in old
    assert new == "build_receiver_metadata_message, nothing else"
    assert "send_metadata" in work("mooncake", "TransferInfo", "encode", "0.5.23").what


def test_a_status_has_its_own_decoder_with_nixl_and_none_with_mooncake() -> None:
    assert "loop" in work("mooncake", "KV_STATUS", "decode", "0.5.19").what
    assert "parse_kv_status_message" in work("nixl", "KV_STATUS", "decode", "0.5.23").what


def test_stand_ins_run_alone_as_often_as_the_release_is_called() -> None:
    called: list[None] = []
    run = peer_side._looped(FRAMES, lambda: called.append(None))
    run(7)
    assert len(called) == 1 + 7  # the first is not timed
