"""Every recorded vector of every release: the codecs read what the release reads."""

from __future__ import annotations

import pytest

from pdwire.wire import layout
from pdwire.wire.table import ORDER
from pdwire_conformance.proof.check import differences, same_spelling
from pdwire_conformance.proof.convert import from_message, to_message
from pdwire_conformance.proof.record import VECTORS, read_vectors
from pdwire_conformance.proof.spec import layout_of


@pytest.mark.parametrize("release", ORDER)
def test_codecs_read_and_write_what_the_release_sent(release: str) -> None:
    vectors = read_vectors(release)
    assert len(vectors) > 20, "every release has more than ten messages of two vectors each"
    for vector in vectors:
        codec = layout(vector["backend"], vector["message"], release=release)
        frames = [bytes.fromhex(frame) for frame in vector["frames"]]
        message = codec.decode(frames)
        ours = from_message(message)
        where = f"{release} {vector['backend']} {vector['message']}"
        assert codec.layout == vector["layout"], where
        assert differences(ours, vector["values"]) == [], where
        assert differences(ours, vector["peer_reads"] or {}) == [], where
        again = codec.encode(to_message(codec, ours | vector["values"]))
        assert same_spelling(*layout_of(codec.backend, codec.message, release), again, frames), (
            where
        )
        assert codec.decode(again) == message, where


def test_a_moved_field_is_noticed() -> None:
    """The vectors bite: a codec of another revision does not pass for the right one."""
    vectors = [v for v in read_vectors("0.5.16") if v["message"] == "KVArgsRegisterInfo"]
    (first, *_) = [v for v in vectors if v["backend"] == "mooncake"]
    newer = layout("mooncake", "KVArgsRegisterInfo", release="0.5.12")
    with pytest.raises(Exception, match="frames"):
        newer.decode([bytes.fromhex(frame) for frame in first["frames"]])


def test_vectors_stay_small() -> None:
    total = sum(path.stat().st_size for path in VECTORS.glob("*.json"))
    assert total < 2_000_000
