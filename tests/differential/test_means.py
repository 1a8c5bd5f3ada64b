"""What the comparison stands on is able to find something."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import pytest
from tests.differential.mutations import MUTATIONS, bent_body, bent_query
from tests.differential.sides import Pair, Refusal, differences, pairs, same
from tests.differential.spoils import spoiled
from tests.differential.values import valid

from pdwire.codec import Message
from pdwire.reading import Reading, packaged_spec
from pdwire.wire import layouts
from pdwire_conformance.proof.spec import load_spec

PAIRS = list(pairs(layouts(), Reading(packaged_spec()), load_spec()))
REGISTRATION = next(pair for pair in PAIRS if pair.shown == "mooncake.KVArgsRegisterInfo-r6")


def rng_of(text: str) -> Random:
    return Random(text)  # noqa: S311  # repeatable, nothing secret


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (True, 1),
        (0, False),
        (1, 1.0),
        ([1], [1, 2]),
        ([[]], []),
        (None, []),
        ({"a": 1}, {"a": True}),
    ],
)
def test_values_that_python_takes_for_equal_are_not_the_same(one: object, other: object) -> None:
    assert not same(one, other)
    assert differences({"x": one}, {"x": other}) != []


def test_a_refusal_differs_from_values_and_from_no_refusal() -> None:
    assert differences(Refusal("this"), Refusal("that")) == []
    assert differences(Refusal("this"), {"x": 1}) == [
        "codec: Refusal(why='this')",
        "reading: {'x': 1}",
    ]
    assert differences({"x": 1, "y": 2}, {"x": 1}) == ["fields ['y'] are on one side only"]


def test_a_codec_that_swaps_two_frames_is_found() -> None:
    def swapped(frames: Sequence[bytes]) -> Message:
        message: Message = REGISTRATION.codec.decode(
            [*frames[:7], frames[8], frames[7], *frames[9:]]
        )
        return message

    wrong = replace(REGISTRATION, codec=replace(REGISTRATION.codec, decode=swapped))
    values = valid(REGISTRATION.message, REGISTRATION.layout, rng_of("swap"))
    values |= {"dst_tp_rank": 1, "dst_attn_tp_size": 2}
    frames = wrong.encoded(values)
    assert isinstance(frames, list)
    assert differences(wrong.decoded(frames), wrong.read(frames)) == [
        "dst_tp_rank: codec 2, reading 1",
        "dst_attn_tp_size: codec 1, reading 2",
    ]


def test_a_layout_without_a_codec_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"layouts without a codec: .*'KVArgsRegisterInfo', 'r1'"):
        list(pairs([REGISTRATION.codec], REGISTRATION.reading, load_spec()))


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_changes_frames_and_some_are_still_a_message(name: str) -> None:
    rng = rng_of(name)
    outcomes: Counter[str] = Counter()
    for pair in (pair for pair in PAIRS for _ in range(6)):
        frames = pair.encoded(valid(pair.message, pair.layout, rng))
        assert isinstance(frames, list)
        bent = MUTATIONS[name](frames, rng.randrange(len(frames)), rng)
        refused = isinstance(pair.decoded(bent), Refusal)
        outcomes["same" if bent == frames else "refused" if refused else "read"] += 1
    assert outcomes["refused"] > 100
    assert outcomes["same"] < outcomes["refused"]
    # What changes the number of frames is hardly ever a message of that layout.
    assert outcomes["read"] > (-1 if name in {"dropped", "doubled", "cut", "extended"} else 10)


@pytest.mark.parametrize(("body", "bend"), [("json", bent_body), ("query", bent_query)])
def test_a_bent_body_is_read_now_and_then(
    body: str, bend: Callable[[bytes, Random], bytes]
) -> None:
    rng = rng_of(body)
    outcomes: Counter[bool] = Counter()
    for pair in (pair for pair in PAIRS if pair.message["body"] == body for _ in range(60)):
        frames = pair.encoded(valid(pair.message, pair.layout, rng))
        assert isinstance(frames, list)
        outcomes[isinstance(pair.decoded([bend(frames[0], rng)]), Refusal)] += 1
    assert min(outcomes[True], outcomes[False]) > 20


def test_spoiled_values_keep_their_kind_and_most_cannot_be_carried() -> None:
    rng = rng_of("spoiled")
    refused = [0, 0]
    for pair in (pair for pair in PAIRS for _ in range(20)):
        values = valid(pair.message, pair.layout, rng)
        odd = spoiled(pair.message, values, rng)
        for name, value in odd.items():
            assert value is None or values[name] is None or type(value) is type(values[name])
        refused[isinstance(pair.encoded(odd), Refusal)] += 1
    assert min(refused) > 300


def told(pair: Pair) -> set[str]:
    """What drawn values of a layout were like, field by field."""
    rng, found = rng_of(pair.shown), set()
    for _ in range(200):
        values = valid(pair.message, pair.layout, rng)
        frames = pair.encoded(values)
        assert isinstance(frames, list)
        found |= {f"{name} {json.dumps(value, default=repr)}" for name, value in values.items()}
        found.add(f"{len(frames)} frames")
    return found


def test_values_reach_the_edges() -> None:
    assert {
        "dst_dcp_size 1",
        "dst_port 65535",
        "dst_kv_item_len 9223372036854775807",
        "staging_base_ptr 0",
        "staging_base_ptr 18446744073709551615",
        "dst_kv_ptrs []",
        "dst_state_data_ptrs []",
        'endpoint "fe80::1%eth0"',
    } <= told(REGISTRATION)
    nixl = next(pair for pair in PAIRS if pair.shown == "nixl.TransferInfo-r5")
    assert {"is_dummy true", "is_dummy false", "decode_prefix_len null"} <= told(nixl)


def test_every_count_of_an_optional_tail_is_drawn() -> None:
    for pair in PAIRS:
        guard = pair.codec.guard is not None
        wanted = {f"{count + guard} frames" for count in pair.layout["counts"]}
        if len(wanted) > 1:
            assert wanted <= told(pair), pair.shown
