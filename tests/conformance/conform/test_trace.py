from __future__ import annotations

from collections.abc import Callable

from pdwire_conformance.conform.events import CaseEvent, TraceLine, Verdict
from pdwire_conformance.conform.select import Item
from pdwire_conformance.conform.telling import tell
from pdwire_conformance.conform.trace import frame_names, trace_of
from pdwire_conformance.suite.case import Case, Encode, Recognise, Refuse

MakeCase = Callable[..., Case]
GUARD = b"NixlMsgGuard".hex()


def test_names_come_from_the_layout_of_the_release() -> None:
    told = frame_names("mooncake", "TransferInfo", "0.5.23", ["37"] * 12)
    assert told[:3] == ("room", "endpoint", "dst_port")
    assert told[9:] == ("dst_device_kv_indices", "(not in the layout)", "(not in the layout)")
    older = frame_names("mooncake", "TransferInfo", "0.5.6", ["37"] * 10)
    assert older[8:] == ("(not in the layout)", "(not in the layout)")


def test_a_guard_is_named_and_shifts_the_rest_only_where_it_is() -> None:
    told = frame_names("nixl", "TransferInfo", "0.5.23", [GUARD, "37", ""])
    assert told == ("guard", "room", "endpoint")
    assert frame_names("nixl", "TransferInfo", "0.5.23", ["37", ""]) == ("room", "endpoint")


def test_a_message_that_the_release_lacks_has_no_names() -> None:
    assert frame_names("mooncake", "CHUNK_READY", "0.5.6", ["37"]) == ()
    assert frame_names("mooncake", "", "0.5.23", ["37"]) == ()


def test_an_http_body_is_named_for_what_it_is() -> None:
    assert frame_names("mooncake", "ROUTE_PUT", "0.5.23", ["7b7d"]) == ("request",)


def test_encoding_shows_what_came_beside_what_was_expected(a_case: MakeCase) -> None:
    check = Encode(values={"room": 7}, expect=(b"7", b"8"))
    item = Item(case=a_case("x", check=check), release="0.5.23")
    sent, came, note = trace_of(item, {"frames": ["37"]}, at_s=0.5)
    assert sent.text == 'encode TransferInfo, mooncake 0.5.23: {"room": 7}'
    assert (came.frames, came.names, came.at_s) == (("37",), ("room",), 0.5)
    assert (note.way, note.text) == ("note", "expected")
    assert (note.frames, note.names) == (("37", "38"), ("room", "endpoint"))


def test_recognising_shows_the_direction(a_case: MakeCase) -> None:
    check = Recognise(frames=(b"7",), expect=Refuse(), direction="decode -> prefill")
    (sent,) = trace_of(Item(case=a_case("x", check=check), release="0.5.23"))
    assert sent.text == "recognise, mooncake, decode -> prefill"


def test_a_failure_is_told_with_short_frames_and_no_control_characters() -> None:
    line = TraceLine(way="sent", text="decode", frames=("37", "ff" * 100, ""), names=("room", "x"))
    event = CaseEvent(
        target="mine",
        slug="values/x",
        release="0.5.23",
        backend="mooncake",
        role="codec",
        level="MUST",
        family="values",
        message="A",
        layout="r1",
        purpose="Why.",
        expectation="What.",
        verdict=Verdict.FAILED,
        seconds=0.1,
        expected="a refusal",
        came="\x1b[31mred",
        reports=("F1",),
        rerun="pdwire conform mine --case values/x",
        trace=(line,),
    )
    assert tell(event).splitlines() == [
        "FAILED values/x  (MUST, mooncake, 0.5.23, codec)",
        "  Why.",
        "  What.",
        "  → sent: decode",
        '      0 room 37 "7"',
        f"      1 x    {'ff' * 48}… (100 bytes)",
        "      2      (empty)",
        "  expected: a refusal",
        "  came:     \\x1b[31mred",
        "  reports:  F1",
        "  rerun:    pdwire conform mine --case values/x",
    ]
