"""What is invalid by construction is refused by both readings, and for the reason told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis.strategies import SearchStrategy

from pdwire.errors import (
    FrameCountError,
    FrameValueError,
    InvariantError,
    UnknownMessageError,
    WireError,
)
from pdwire.reading import Reading, ReadingError
from pdwire.strategies import Faulty, faulty_frames, frames, mutations
from pdwire.strategies.faults import faulty_of, labels
from pdwire.strategies.subjects import Subject, subjects
from pdwire.wire import layout

Find = Callable[[SearchStrategy[Any], Callable[[Any], bool]], Any]
Each = Callable[[SearchStrategy[Any], Callable[[Any], None], int], None]

OURS: Final[dict[str, type[WireError]]] = {
    "unknown-message": UnknownMessageError,
    "frame-count": FrameCountError,
    "frame-value": FrameValueError,
    "invariant": InvariantError,
}
THEIRS: Final = {
    "unknown-message": {"guard", "value"},  # it is asked about one message and knows no other
    "frame-count": {"count"},
    "frame-value": {"value"},
    "invariant": {"invariant", "length"},
}


def test_every_fault_is_refused_by_both_readings_with_its_kind_and_place(
    subject: Subject, reading: Reading, each: Each
) -> None:
    def check(fault: Faulty) -> None:
        with pytest.raises(OURS[fault.kind]) as ours:
            subject.codec.decode(fault.frames)
        with pytest.raises(ReadingError) as theirs:
            reading.decode(subject.message.key, subject.layout.id, fault.frames)
        assert theirs.value.kind in THEIRS[fault.kind]
        if fault.frame is not None:
            assert ours.value.frame == theirs.value.position == fault.frame
        if fault.field:
            assert ours.value.field == fault.field
        if fault.field and subject.message.body is None:
            assert theirs.value.field == fault.field

    for label in labels(subject):
        each(faulty_of(subject, label), check, 4)


def test_every_kind_of_fault_has_a_layout_that_can_have_it() -> None:
    everywhere = {label for each in subjects() for label in labels(each)}
    assert everywhere == {
        "count", "guard", "tag", "width", "range", "spelling", "text", "empty", "nested",
        "msgpack", "length", "invariant", "grammar", "json", "query", "key", "type",
    }  # fmt: skip
    told = (faulty_frames.__globals__["__doc__"] or "").split()
    assert everywhere <= set(told)


def test_a_layout_is_asked_only_for_faults_that_it_can_have() -> None:
    with pytest.raises(ValueError, match=r"no faults of the kind 'msgpack' \(has: count, inv"):
        faulty_frames("mooncake", "TransferInfo", label="msgpack")


@pytest.mark.parametrize(
    ("label", "wanted"),
    [
        ("count", lambda f: len(f.frames) == 20 + 1),
        ("count", lambda f: len(f.frames) == 1),
        ("range", lambda f: b"65536" in f.frames),
        ("range", lambda f: b"-1" in f.frames),
        ("width", lambda f: len(f.frames[14]) == 7),
        ("nested", lambda f: f.frames[6].startswith(b"\xff\xff\xff\xff")),
        ("invariant", lambda f: f.frames[17] == f.frames[16]),
        ("invariant", lambda f: len(f.frames[19]) == len(f.frames[4]) + 8),
    ],
)
def test_the_faults_that_peers_have_made_are_drawn(
    label: str, wanted: Callable[[Faulty], bool], reach: Find
) -> None:
    drawn = faulty_frames("mooncake", "KVArgsRegisterInfo", label=label)
    assert wanted(reach(drawn, wanted))


def test_a_fault_shrinks_to_itself_in_the_simplest_message(least: Find) -> None:
    drawn = faulty_frames("nixl", "TransferInfo", label="range")
    simple = least(drawn, lambda f: f.field == "required_dst_info_num")
    assert simple.frames == (
        b"NixlMsgGuard", b"0", b"h", b"1", b"a", b"", b"0", b"2147483648", b"", b"", b"1",
    ) or sum(map(len, simple.frames)) < 60  # fmt: skip


def test_mutations_change_frames_and_some_are_still_a_message(each: Each) -> None:
    codec = layout("nixl", "TransferInfo")
    good = frames("nixl", "TransferInfo")
    seen = {"read": 0, "refused": 0}

    def check(bent: list[bytes]) -> None:
        try:
            codec.decode(bent)
        except WireError:
            seen["refused"] += 1
        else:
            seen["read"] += 1

    each(mutations(good, frames("mooncake", "KVArgsRegisterInfo")), check, 300)
    assert seen["read"] > 0
    assert seen["refused"] > 60


def test_a_splice_and_no_frames_at_all_are_reached(reach: Find) -> None:
    good = frames("nixl", "TransferInfo")
    other = frames("mooncake", "AUX_DATA")
    spliced = reach(mutations(good, other), lambda f: b"AUX_DATA" in f and len(f) > 6)
    assert b"AUX_DATA" in spliced
    assert reach(mutations(good), lambda f: f == []) == []
