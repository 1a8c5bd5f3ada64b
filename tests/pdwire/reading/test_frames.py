from __future__ import annotations

import struct

import pytest

from pdwire.reading import Reading, ReadingError

GUARD = b"AlphaMsgGuard"


def u64(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}Q", *numbers)


def nest(*parts: bytes) -> bytes:
    return struct.pack(f"<{len(parts) + 1}I", len(parts), *map(len, parts)) + b"".join(parts)


def register(**changed: bytes) -> list[bytes]:
    """A registration of layout r3 with two pointers."""
    whole = {
        "guard": GUARD,
        "room": b"None",
        "endpoint": b"10.0.0.2",
        "port": b"5000",
        "session": b"10.0.0.2:17000",
        "agent": b"agentA",
        "blob": b"\x80\x05",
        "ptrs": u64(1, 2**63),
        "item_len": b"4096",
        "state_ptrs": nest(u64(5), u64(6, 7)),
        "state_lens": nest(struct.pack("<I", 8), struct.pack("<2I", 9, 10)),
        "item_lens": b"",
        "kinds": b"",
        "base": b"",
        "rank": b"1",
        "size": b"2",
        "descs": b"\x91\xc4\x01a",
        "state_descs": b"\x92\x91\xc0\x90",
        "hint": b"3",
        "reason": b"",
    }
    return list((whole | changed).values())


def refusal(reading: Reading, message: str, layout: str, frames: list[bytes]) -> ReadingError:
    with pytest.raises(ReadingError) as caught:
        reading.decode(message, layout, frames)
    return caught.value


def test_every_field_of_a_message(reading: Reading) -> None:
    assert reading.decode("Register", "r3", register()) == {
        "endpoint": "10.0.0.2",
        "port": 5000,
        "session": "10.0.0.2:17000",
        "agent": "agentA",
        "blob": b"\x80\x05",
        "reason": None,
        "ptrs": [1, 2**63],
        "item_len": 4096,
        "item_lens": [4096, 4096],
        "kinds": ["VRAM", "VRAM"],
        "state_ptrs": [[5], [6, 7]],
        "state_lens": [[8], [9, 10]],
        "base": 0,
        "rank": 1,
        "size": 2,
        "descs": [b"a"],
        "state_descs": [[None], []],
        "hint": 3,
    }


def test_a_shorter_layout_says_the_rest_by_its_lack(reading: Reading) -> None:
    frames = [*register()[:9], u64(5, 6)]
    values = reading.decode("Register", "r1", frames)
    assert values["state_ptrs"] == [[5, 6]]
    assert values["kinds"] == ["VRAM", "VRAM"]
    assert values["item_lens"] == [4096, 4096]
    assert (values["size"], values["reason"], values["hint"]) == (1, None, 0)
    assert reading.decode("Register", "r1", [*frames[:-1], b""])["state_ptrs"] == []


@pytest.mark.parametrize(
    ("name", "raw", "position"),
    [
        ("room", b"7", 0),
        ("endpoint", b"h:1", 1),
        ("port", b"0", 2),
        ("session", b"10.0.0.2", 3),
        ("agent", b"", 4),
        ("ptrs", bytes(12), 6),
        ("item_len", b"None", 7),
        ("state_ptrs", b"\xff\xff\xff\xff", 8),
        ("kinds", b"VRAM,FOO", 11),
        ("base", bytes(7), 12),
        ("descs", b"\xdd\xff\xff\xff\xff", 15),
    ],
)
def test_the_bad_frame_is_named(reading: Reading, name: str, raw: bytes, position: int) -> None:
    error = refusal(reading, "Register", "r3", register(**{name: raw}))
    assert (error.kind, error.position, error.field) == ("value", position, name)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"kinds": b"VRAM"}, "kinds"),
        ({"item_lens": u64(1)}, "item_lens"),
        ({"rank": b"2"}, "size"),
        ({"state_lens": nest(b"", bytes(8))}, "state_lens"),
        ({"state_descs": b"\x91\x90"}, "state_descs"),
        ({"ptrs": b""}, "ptrs"),
    ],
)
def test_frames_that_contradict_each_other(
    reading: Reading, changed: dict[str, bytes], field: str
) -> None:
    error = refusal(reading, "Register", "r3", register(**changed))
    assert (error.kind, error.field) == ("invariant", field)


def test_the_guard_comes_first(reading: Reading) -> None:
    error = refusal(reading, "Register", "r3", register()[1:])
    assert (error.kind, error.expected, error.came) == (
        "guard",
        'the guard "AlphaMsgGuard"',
        '"None"',
    )
    assert refusal(reading, "Register", "r3", register(guard=b"BetaMsgGuard")).kind == "guard"
    assert refusal(reading, "Register", "r3", []).came == "no frames"


@pytest.mark.parametrize("count", [1, 2, 19, 21])
def test_any_other_count_is_refused(reading: Reading, count: int) -> None:
    frames = [*register(), b""][:count]
    error = refusal(reading, "Register", "r3", frames)
    assert (error.kind, error.position, error.expected) == ("count", None, "19 frames")
    assert error.came in {f"{count - 1} frames", "1 frame"}


@pytest.mark.parametrize(
    ("frames", "dummy"),
    [
        ([b"7", b"", b""], True),
        ([b"7", b"\0\0\0\0", b""], False),
        ([b"7", b"", b"3"], False),
        ([b"7", b"", b"", b""], True),
        ([b"7", b"", b"", b"0"], True),
        ([b"7", b"", b"", b"64"], False),
        ([b"7", b"", b"", b"64", b"1"], True),
        ([b"7", b"", b"", b"", b"0"], False),
        ([b"7", b"", b"", b"", b""], True),
    ],
)
def test_the_rule_speaks_where_the_frame_does_not(
    reading: Reading, frames: list[bytes], *, dummy: bool
) -> None:
    assert reading.decode("Order", "r2", [GUARD, *frames])["is_dummy"] is dummy


def test_an_empty_frame_is_not_a_missing_one(reading: Reading) -> None:
    values = reading.decode("Order", "r2", [GUARD, b"7", b"", b""])
    assert (values["aux_index"], values["prefix"]) == (-1, None)
    assert refusal(reading, "Order", "r2", [GUARD, b"", b"", b""]).field == "room"


@pytest.mark.parametrize(
    ("length", "kind"),
    [
        (b"\0\0\0\x02", "length"),
        (b"\x03\0\0\0", "length"),
        (b"\0\0\x03", "value"),
        (bytes(8), "value"),
    ],
)
def test_a_length_frame_tells_the_truth(reading: Reading, length: bytes, kind: str) -> None:
    good = [b"DATA", b"7", b"\0\0\0\x03", b"abc"]
    assert reading.decode("DATA", "r1", good) == {"room": 7, "data": b"abc", "generation": None}
    error = refusal(reading, "DATA", "r1", [b"DATA", b"7", length, b"abc"])
    assert (error.kind, error.position, error.field) == (kind, 2, "data_length")


def test_a_trailing_frame_may_be_missing(reading: Reading) -> None:
    frames = [b"DATA", b"7", bytes(4), b"", b"5"]
    assert reading.decode("DATA", "r1", frames)["generation"] == 5
    assert refusal(reading, "DATA", "r1", frames[:3]).expected == "4 or 5 frames"


def test_two_messages_in_one_are_refused(reading: Reading) -> None:
    frames = [b"123", b"2", b"7", b"124", b"2", b"6"]
    error = refusal(reading, "STATUS", "r1", frames)
    assert (error.kind, error.came) == ("count", "6 frames")


@pytest.mark.parametrize("kind", [memoryview, bytearray])
def test_any_bytes_like_frame(reading: Reading, kind: type) -> None:
    frames = [kind(frame) for frame in (b"123", b"2", b"7")]
    assert reading.decode("STATUS", "r1", frames) == {"room": 123, "status": 2, "rank": 7}


def states(reading: Reading, layout: str, frames: list[bytes]) -> dict[str, str]:
    rows = reading.annotate("Register", layout, frames).rows
    return {row.name or f"+{row.sent}": row.status for row in rows if row.status != "ok"}


def test_a_dropped_frame_leaves_one_gap(reading: Reading) -> None:
    frames = register()
    del frames[9]
    assert states(reading, "r3", frames) == {"state_ptrs": "missing"}
    assert states(reading, "r3", register()[:-2]) == {"hint": "missing", "reason": "missing"}


def test_a_doubled_frame_leaves_one_over(reading: Reading) -> None:
    frames = register()
    frames.insert(3, frames[3])
    found = states(reading, "r3", frames)
    assert list(found.values()) == ["extra"]


def test_an_annotation_keeps_every_frame(reading: Reading) -> None:
    frames = [*register(port=b"70000", kinds=b"FOO")[:-3], b"\xff", b"\xfe"]
    annotation = reading.annotate("Register", "r3", frames)
    assert [row.raw for row in annotation.rows if row.raw is not None] == frames
    assert [row.sent for row in annotation.rows if row.sent is not None] == list(range(19))
    assert {fault.field for fault in annotation.faults} >= {"port", "kinds"}
    assert annotation.values["endpoint"] == "10.0.0.2"


def test_a_swapped_pair_shows_both(reading: Reading) -> None:
    frames = register()
    frames[2], frames[3] = frames[3], frames[2]
    assert states(reading, "r3", frames) == {"endpoint": "bad", "port": "bad"}
