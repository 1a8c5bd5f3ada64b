"""Both readings of the spec as testees: they answer alike, and say which error it is."""

from __future__ import annotations

from random import Random

import pytest

from pdwire_conformance.proof.draw import draw_message
from pdwire_conformance.proof.spec import messages_of
from pdwire_conformance.testees.find import find_testee
from pdwire_conformance.testees.protocol import Answer, Request, TesteeError

_TRANSFER: Request = {"backend": "mooncake", "release": "0.5.23", "message": "TransferInfo"}
_FRAMES = ["7", "10.0.0.2", "5000", "10.0.0.2:17000", "\4\0\0\0\5\0\0\0", "3", "", "1", "0", ""]


def _ask(target: str, **request: object) -> Answer:
    with find_testee(target) as testee:
        return testee.ask([request])[0]


def _hexed(frames: list[str]) -> list[str]:
    return [frame.encode().hex() for frame in frames]


@pytest.mark.parametrize("target", ["pdwire", "pdwire:reading"])
def test_a_message_of_every_kind_comes_back(target: str) -> None:
    rng = Random(3)  # noqa: S311  # a seed, not a secret
    with find_testee(target) as testee:
        for backend in ("mooncake", "nixl", "mori"):
            for message, layout in messages_of(backend, "0.5.14"):
                values = draw_message(message, layout, rng)
                base = {"backend": backend, "release": "0.5.14", "message": message["name"]}
                (sent,) = testee.ask([{"op": "encode", **base, "values": values}])
                (read,) = testee.ask([{"op": "decode", **base, "frames": sent["frames"]}])
                assert {name: read["values"][name] for name in values} == values


@pytest.mark.parametrize("target", ["pdwire", "pdwire:reading"])
def test_bytes_prove_a_message_or_are_ambiguous(target: str) -> None:
    told = _ask(target, op="recognise", backend="mooncake", frames=_hexed(_FRAMES))
    assert told == {
        "recognised": {
            "ambiguous": False,
            "candidates": [{"message": "TransferInfo", "layouts": ["r3"]}],
        }
    }
    none = _ask(target, op="recognise", backend="nixl", frames=_hexed(["what"]), direction="")
    assert none["error"]["kind"] == "unknown-message"


@pytest.mark.parametrize("target", ["pdwire", "pdwire:reading"])
def test_layouts_that_read_the_same_are_no_ambiguity_and_others_are(target: str) -> None:
    abort = _hexed(["ABORT", "7", "10.0.0.2", "5000"])
    told = _ask(target, op="recognise", backend="nixl", frames=abort, direction="")
    (candidate,) = told["recognised"]["candidates"]
    assert candidate["message"] == "ABORT"
    assert set(candidate["layouts"]) == {"r1", "r2"}
    assert told["recognised"]["ambiguous"] is False
    # One state index, or a list of lists whose header is that number: both read it.
    state = "\1\0\0\0\0\0\0\0"
    early = ["NixlMsgGuard", *_FRAMES[:3], "agentA", _FRAMES[4], "3", "1", state, "0"]
    told = _ask(target, op="recognise", backend="nixl", frames=_hexed(early), direction="")
    assert told["recognised"]["ambiguous"] is True


def test_an_error_says_kind_frame_and_field() -> None:
    frames = _hexed([*_FRAMES[:4], "\1\0\0", *_FRAMES[5:]])
    error = _ask("pdwire", op="decode", **_TRANSFER, frames=frames)["error"]
    assert (error["kind"], error["frame"], error["field"]) == ("frame-value", 4, "dst_kv_indices")
    assert "3 bytes" in error["text"]


def test_what_a_release_does_not_have_is_skipped_and_what_is_no_op_is_refused() -> None:
    lacking = _TRANSFER | {"message": "STAGING_REQ", "release": "0.5.6"}
    assert "0.5.10" in _ask("pdwire", op="decode", **lacking, frames=[])["skip"]
    assert _ask("pdwire", op="dance")["error"] == {"kind": "other", "text": "unknown op 'dance'"}


def test_a_target_that_cannot_be_names_those_that_can() -> None:
    with pytest.raises(TesteeError, match=r"no testee 'vllm'.*sglang==0\.5\.23"):
        find_testee("vllm")


def test_a_testee_is_asked_only_between_enter_and_exit() -> None:
    testee = find_testee("pdwire")
    with pytest.raises(TesteeError, match="not started"):
        testee.ask([])


def test_a_live_endpoint_says_its_role_and_is_not_asked() -> None:
    with find_testee("live:decode@[::1]:5000") as testee:
        assert testee.hello().roles == ("decode",)
        assert "played with" in testee.ask([_TRANSFER | {"op": "decode", "frames": []}])[0]["skip"]


@pytest.mark.parametrize(
    "target", ["live:router@h:5000", "live:decode@h", "sglang==0.4.1", "python:x", "cmd: ", "cmd:'"]
)
def test_a_target_of_a_known_form_says_what_it_lacks(target: str) -> None:
    with pytest.raises(TesteeError, match=r"expected|no such release|No closing quotation"):
        find_testee(target)
