"""What is valid by construction is valid: both readings take it, and give it back."""

# ruff: noqa: ANN401 - examples of every type are drawn here

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from pdwire.errors import UnknownLayoutError
from pdwire.reading import Reading
from pdwire.strategies import Example, examples, frames, messages
from pdwire.strategies.drawn import examples_of, plain
from pdwire.strategies.scalars import EDGES, LONG
from pdwire.strategies.subjects import Subject
from pdwire.wire import common, layout, mooncake

Each = Callable[[SearchStrategy[Any], Callable[[Any], None], int], None]


def test_every_layout_is_read_back_by_both_readings(
    subject: Subject, reading: Reading, each: Each
) -> None:
    def check(drawn: Example) -> None:
        message = drawn.message()
        canonical = list(drawn.canonical)
        assert subject.codec.encode(message) == canonical
        assert subject.codec.decode(drawn.spelled) == message
        assert subject.codec.decode(canonical) == message
        assert plain(message) == drawn.values
        key, layout_id = subject.message.key, subject.layout.id
        assert reading.decode(key, layout_id, drawn.spelled) == drawn.values
        assert reading.encode(key, layout_id, drawn.values) == canonical

    each(examples_of(subject), check, 12)


def test_what_an_example_has_is_documented() -> None:
    text = (Path(__file__).parents[3] / "docs" / "fuzzing.md").read_text(encoding="utf-8")
    for name in ("message()", *(each.name for each in fields(Example))):
        assert f"`{name}`" in text


Find = Callable[[SearchStrategy[Any], Callable[[Any], bool]], Any]

NEWEST = messages("mooncake", "KVArgsRegisterInfo")


@pytest.mark.parametrize("edge", [edge for edge in EDGES if edge < 2**63][::2])
def test_every_edge_of_a_range_is_reached(edge: int, reach: Find) -> None:
    assert reach(NEWEST, lambda m: m.dst_kv_item_len == edge).dst_kv_item_len == edge


@pytest.mark.parametrize("edge", [0, 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1])
def test_every_edge_of_an_items_width_is_reached(edge: int, reach: Find) -> None:
    assert edge in reach(NEWEST, lambda m: edge in m.dst_kv_ptrs.tolist()).dst_kv_ptrs


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 17, LONG])
def test_every_size_of_a_list_is_reached(size: int, reach: Find) -> None:
    assert len(reach(NEWEST, lambda m: len(m.dst_kv_ptrs) == size).dst_kv_ptrs) == size


@pytest.mark.parametrize("parts", [0, 1, 2, 3, 12])
def test_components_come_in_every_number_and_may_be_empty(parts: int, reach: Find) -> None:
    assert reach(NEWEST, lambda m: len(m.dst_state_data_ptrs) == parts)
    assert reach(NEWEST, lambda m: any(not len(part) for part in m.dst_state_data_ptrs))


@pytest.mark.parametrize("count", [2, 4, 5])
def test_every_count_of_an_optional_tail_is_reached(count: int, reach: Find) -> None:
    assert len(reach(frames("mooncake", "ABORT"), lambda f: len(f) == count)) == count


def test_dummies_and_their_opposite_are_reached_in_every_way(reach: Find) -> None:
    for backend in ("mooncake", "nixl", "mori"):
        for dummy in (True, False):
            assert reach(messages(backend, "TransferInfo"), lambda m, d=dummy: m.is_dummy is d)  # type: ignore[misc]
    drawn = examples("nixl", "TransferInfo")
    assert reach(drawn, lambda e: e.spelled[-1] == b"" and e.values["is_dummy"])


def test_frames_come_in_spellings_that_no_encoder_writes(reach: Find) -> None:
    drawn = reach(examples("mooncake", "KV_STATUS"), lambda e: e.spelled != e.canonical)
    assert len(drawn.spelled) == 4
    assert len(drawn.canonical) == 3
    staged = reach(
        examples("mooncake", "KVArgsRegisterInfo"),
        lambda e: e.spelled[14] == b"\x00" * 8 and e.canonical[14] == b"",
    )
    assert staged.values["staging_base_ptr"] == 0
    keyed = reach(examples("mooncake", "ROUTE_PUT"), lambda e: b"a_key_of_tomorrow" in e.spelled[0])
    assert b"a_key_of_tomorrow" not in keyed.canonical[0]


def test_releases_and_revisions_choose_the_layout(reach: Find) -> None:
    old = reach(frames("mooncake", "KVArgsRegisterInfo", release="0.5.6"), lambda _: True)
    assert len(old) == 10
    assert len(reach(frames("mooncake", "KVArgsRegisterInfo", revision="r6"), lambda _: True)) == 18
    with pytest.raises(UnknownLayoutError, match=r"unknown release '0\.9'"):
        messages("mooncake", "KVArgsRegisterInfo", release="0.9")


def test_from_type_gives_messages_of_the_newest_layout(each: Each) -> None:
    each(st.from_type(mooncake.KVArgsRegisterInfo), back, 20)
    each(st.from_type(common.AbortAck), back, 20)


def back(message: Any) -> None:
    assert type(message).from_zmq(message.to_zmq()) == message


def test_a_failure_shrinks_to_the_value_that_matters(least: Find) -> None:
    simple = plain(least(NEWEST, lambda m: m.staging_base_ptr >= 2**31))
    empty: dict[str, Any] = {name: [] for name, value in simple.items() if isinstance(value, list)}
    assert simple == empty | {
        "staging_base_ptr": 2**31,
        "endpoint": "h",
        "dst_port": 1,
        "mooncake_session_id": "h:1",
        "dst_tp_rank": 0,
        "dst_attn_tp_size": 1,
        "dst_kv_item_len": 0,
        "enable_hisparse": False,
        "staging_total_size": 0,
        "dst_dcp_size": 1,
        "dst_dcp_rank": 0,
    }


def test_a_list_shrinks_to_as_many_of_the_simplest_items_as_it_takes(least: Find) -> None:
    assert least(NEWEST, lambda m: len(m.dst_kv_ptrs) > 2).dst_kv_ptrs.tolist() == [0, 0, 0]
    nested = least(NEWEST, lambda m: sum(map(len, m.dst_state_data_ptrs)) >= 2)
    assert [part.tolist() for part in nested.dst_state_data_ptrs] == [[0, 0]]


def test_the_codec_of_an_example_is_the_registrys_own(reach: Find) -> None:
    drawn = reach(examples("nixl", "TransferInfo", release="0.5.11"), lambda _: True)
    assert drawn.subject.codec is layout("nixl", "TransferInfo", release="0.5.11")
    assert repr(drawn.subject) == "<nixl/TransferInfo/r3>"


def test_drawing_is_quick_enough_to_be_of_use(each: Each) -> None:
    """Some 250 registrations a second on one core; a tenth of that is an alarm."""
    drawn = [0]

    def count(_: object) -> None:
        drawn[0] += 1

    begun = time.process_time()
    each(examples("mooncake", "KVArgsRegisterInfo"), count, 100)
    assert drawn[0] / (time.process_time() - begun) > 25
