"""A real release as a testee: what its answers become."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from pdwire_conformance.testees.find import find_testee
from pdwire_conformance.testees.peer import Release
from pdwire_conformance.testees.protocol import Request, TesteeError

_ANSWERS = """
import json, sys
can = {"mooncake": {"encode": ["WATERMARK", "KV_STATUS"], "decode": ["WATERMARK", "BOGUS"]}}
told = {"peer": {"type": "IndexError", "text": "list index", "where": "peer"},
        "stuck": {"type": "InexpressibleError", "text": "no such state", "where": "runner"},
        "ours": {"type": "KeyError", "text": "'x'", "where": "runner"}}
for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "hello":
        answer = {"backends": can, "unavailable": []}
    else:
        if any(item.get("frames") == ["die"] for item in request["items"]):
            sys.exit(3)
        answer = {"items": [
            {"error": told[item["frames"][0]]} if "frames" in item
            else {"id": None, "frames": [json.dumps(item["values"]).encode().hex()]}
            for item in request["items"]]}
    print(json.dumps({"id": request["id"], **answer}), flush=True)
"""
_BASE: Request = {
    "op": "decode",
    "backend": "mooncake",
    "release": "0.5.23",
    "message": "WATERMARK",
}


@pytest.fixture
def release(tmp_path: Path) -> Release:
    script = tmp_path / "runner.py"
    script.write_text(_ANSWERS, encoding="utf-8")
    return Release("0.5.23", command=[sys.executable, str(script)])


def test_raising_is_refusing_and_what_cannot_be_asked_is_skipped(release: Release) -> None:
    with release:
        asked: list[Request] = [_BASE | {"frames": [what]} for what in ("peer", "stuck", "ours")]
        asked += [_BASE | {"message": "ABORT"}, _BASE | {"release": "0.5.6"}]
        asked += [_BASE | {"op": "recognise", "frames": []}]
        refused, stuck, ours, abort, other, recognise = release.ask(asked)
    assert refused == {"error": {"kind": "other", "text": "IndexError: list index"}}
    assert stuck == {"skip": "the release has no way to send this: no such state"}
    assert ours["skip"].startswith("the release cannot be handed this")
    assert abort == {"skip": "the release has no decode of ABORT"}
    assert "not 0.5.6" in other["skip"]
    assert recognise == {"skip": "a release has no recognise"}


def test_an_encoder_is_given_what_absence_means(release: Release) -> None:
    asked = _BASE | {"op": "encode", "message": "KV_STATUS", "values": {"status": 0}}
    with release:
        (told,) = release.ask([asked])
    assert json.loads(bytes.fromhex(told["frames"][0])) == {"failure_reason": None, "status": 0}


def test_only_messages_of_the_spec_are_offered(release: Release) -> None:
    with release:
        assert release.hello().messages == {
            "mooncake": {"KV_STATUS": ("encode",), "WATERMARK": ("decode", "encode")}
        }


def test_a_release_that_dies_is_an_error_and_starts_anew(release: Release) -> None:
    with release, pytest.raises(TesteeError, match="ended"):
        release.ask([_BASE | {"frames": ["die"]}])
    with release:
        assert "error" in release.ask([_BASE | {"frames": ["peer"]}])[0]


@pytest.mark.live
def test_the_newest_release_reads_a_transfer_info_and_trips_over_another() -> None:
    base: Request = {
        "op": "decode",
        "backend": "mooncake",
        "release": "0.5.23",
        "message": "TransferInfo",
    }
    frames = [
        b"7",
        b"10.0.0.2",
        b"5000",
        b"10.0.0.2:17000",
        b"\4\0\0\0",
        b"3",
        b"",
        b"1",
        b"0",
        b"",
    ]
    with find_testee("sglang==0.5.23") as testee:
        good, bad = testee.ask(
            [
                base | {"frames": [frame.hex() for frame in frames]},
                base | {"frames": [frame.hex() for frame in frames[:3]]},
            ]
        )
    assert good["values"]["dst_kv_indices"] == [4]
    assert bad["error"]["kind"] == "other"


@pytest.mark.live
def test_a_release_is_not_asked_to_send_what_it_has_no_word_for() -> None:
    values = {"room": 7, "decode_ip": "10.0.0.2", "decode_port": 5000, "generation": 1}
    base: Request = {"op": "encode", "backend": "mooncake", "message": "ABORT"}
    with Release("0.5.21") as release:
        asked = base | {"release": "0.5.21"}
        told, plain = release.ask(
            [asked | {"values": values}, asked | {"values": values | {"generation": None}}]
        )
    assert told == {"skip": "the release has no way to send this: it takes no generation"}
    assert len(plain["frames"]) == 4
