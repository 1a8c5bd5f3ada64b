"""Decoders are strict: a frame that was cut, lost, doubled or moved never reads as if it were not.

A frame may change without changing the message in one way only: where the spec gives the empty
frame a meaning, that value has two spellings (field reports E3 and E4). The staging size ``0`` and
an empty frame are the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from random import Random
from typing import Any

import pytest
import zmq
from hypothesis import given, settings
from hypothesis import strategies as st

from pdwire.codec import Codec, Message
from pdwire.errors import WireError
from pdwire.wire import layouts, recognise

Json = dict[str, Any]
Frames = list[bytes]
Facts = Callable[[Codec[Any]], tuple[Json, Json]]
Samples = Callable[[Codec[Any]], list[tuple[Message, Frames]]]

CODECS = list({codec.decode: codec for codec in layouts()}.values())
every_codec = pytest.mark.parametrize(
    "codec", CODECS, ids=[f"{c.backend}-{c.message}-{c.layout}" for c in CODECS]
)
bounded = settings(derandomize=True, database=None, deadline=None, max_examples=300)


def shortened(frames: Frames) -> Iterator[Frames]:
    """Every strict prefix, and every message with one frame lost."""
    for n in range(len(frames)):
        yield frames[:n]
        yield frames[:n] + frames[n + 1 :]


def doubled(frames: Frames) -> Iterator[Frames]:
    for n in range(len(frames)):
        yield frames[: n + 1] + frames[n:]
        yield [*frames, frames[n]]


def swapped(frames: Frames, rng: Random) -> Iterator[Frames]:
    """Every pair of unequal neighbours, and some other unequal pairs."""
    pairs = list(pairwise(range(len(frames))))
    others = list(combinations(range(len(frames)), 2))
    pairs += rng.sample(others, min(12, len(others)))
    for a, b in pairs:
        if frames[a] != frames[b]:
            changed = list(frames)
            changed[a], changed[b] = changed[b], changed[a]
            yield changed


def resized(frames: Frames) -> Iterator[Frames]:
    """Every frame one byte longer or shorter, empty, twice as long, one bit other than it was."""
    for n, frame in enumerate(frames):
        sizes = [frame + b"\0", frame + b"0"]
        if frame:
            sizes.append(b"")
            sizes += [frame[:-1], frame[1:], frame + frame, bytes([frame[0] ^ 1]) + frame[1:]]
        for other in sizes:
            yield [*frames[:n], other, *frames[n + 1 :]]


def or_refused(codec: Codec[Any], frames: Any) -> Message | None:  # noqa: ANN401  # whatever comes
    """What a decoder reads; ``None`` for a refusal. Anything but a WireError is a failure."""
    try:
        message: Message = codec.decode(frames)
    except WireError as fault:
        return None if str(fault) else pytest.fail("an error without a text")
    assert type(message) is codec.cls
    return message


def agrees_with_itself(codec: Codec[Any], message: Message) -> bool:
    """Whether what was read is what its own encoding reads as."""
    again: Message = codec.decode(codec.encode(message))
    return again == message


def spelled_otherwise(layout: Json, before: Frames, after: Frames) -> bool:
    """Whether frames only changed between empty and not, where the spec says what empty means."""
    derived = {rule["field"] for rule in layout["derivations"]}
    guard = len(before) - len(layout["frames"])
    changed = [n for n, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    slots = [layout["frames"][n - guard] for n in changed]
    return all(b"" in {before[n], after[n]} for n in changed) and all(
        "empty" in slot or slot["field"] in derived for slot in slots
    )


@every_codec
@pytest.mark.parametrize("change", [shortened, doubled, swapped, resized])
def test_a_changed_message_is_refused_or_reads_as_another(
    codec: Codec[Any],
    change: Callable[..., Iterator[Frames]],
    samples: Samples,
    facts: Facts,
) -> None:
    rng = Random(codec.layout)  # noqa: S311  # repeatable, nothing secret
    for message, frames in samples(codec):
        changes = change(frames, rng) if change is swapped else change(frames)
        for changed in changes:
            read = or_refused(codec, changed)
            if read is None:
                continue
            assert agrees_with_itself(codec, read), changed
            if read == message:
                assert spelled_otherwise(facts(codec)[1], frames, changed), changed


@every_codec
def test_only_an_allowed_count_of_frames_is_looked_at(codec: Codec[Any], samples: Samples) -> None:
    guard = 0 if codec.guard is None else 1
    for _, frames in samples(codec)[:3]:
        for count in {*range(max(codec.counts) + guard + 3)} - {n + guard for n in codec.counts}:
            assert or_refused(codec, [*frames, *[b""] * count][:count]) is None


NOTABLE = st.sampled_from(
    [
        *(b"", b"0", b"1", b"7", b"-1", b"None", b"\0" * 8, b"\1\0\0\0\4\0\0\0\7\0\0\0"),
        *(b"NixlMsgGuard", b"MoriMsgGuard", b"KV_STATUS", b"ABORT", b"::1", b"h:1", b"\xff" * 4),
        *(b"\x90", b"{}", b"\x80\x05", b"\xdd\xff\xff\xff\xff"),
    ]
)
FRAME = NOTABLE | st.binary(max_size=24)
ODD: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=9)
    | st.lists(FRAME, max_size=2)
    | st.tuples(FRAME)
    | st.dictionaries(FRAME, FRAME, max_size=1)
    | FRAME.map(bytearray)
    | FRAME.map(lambda raw: memoryview(raw).cast("B"))
    | FRAME.map(zmq.Frame)
    | st.binary(min_size=8, max_size=8).map(lambda raw: memoryview(raw).cast("Q"))
    | st.binary(min_size=6, max_size=6).map(lambda raw: memoryview(raw)[::2])
)


@bounded
@given(frames=st.lists(FRAME, max_size=6))
def test_random_frames_raise_nothing_but_wire_errors(frames: Frames) -> None:
    for codec in CODECS:
        guard = [] if codec.guard is None else [codec.guard]
        for counted in (
            [*frames],
            [*guard, *frames, *[b""] * 30][: max(codec.counts) + len(guard)],
        ):
            read = or_refused(codec, counted)
            assert read is None or agrees_with_itself(codec, read)
    _recognised(frames)


def _recognised(frames: Any) -> None:  # noqa: ANN401  # whatever comes
    try:
        found = recognise(frames)
    except WireError as fault:
        assert str(fault)  # noqa: PT017  # either outcome is right
    else:
        assert found.candidates


@bounded
@given(codec=st.sampled_from(CODECS), data=st.data())
def test_a_damaged_message_raises_nothing_but_wire_errors(
    codec: Codec[Any], data: st.DataObject, samples: Samples
) -> None:
    frames = list(data.draw(st.sampled_from(samples(codec)))[1])
    for _ in range(data.draw(st.integers(1, 4))):
        n = data.draw(st.integers(0, len(frames) - 1)) if frames else 0
        kind = data.draw(st.sampled_from(["replace", "cut", "insert", "drop", "flip"]))
        if kind == "insert" or not frames:
            frames.insert(n, data.draw(FRAME))
        elif kind == "replace":
            frames[n] = data.draw(FRAME)
        elif kind == "cut":
            frames[n] = frames[n][: data.draw(st.integers(0, 40))]
        elif kind == "drop":
            del frames[n]
        elif frames[n]:
            at = data.draw(st.integers(0, len(frames[n]) - 1))
            other = bytes([frames[n][at] ^ (1 << data.draw(st.integers(0, 7)))])
            frames[n] = frames[n][:at] + other + frames[n][at + 1 :]
    read = or_refused(codec, frames)
    assert read is None or agrees_with_itself(codec, read)
    _recognised(frames)


@bounded
@given(codec=st.sampled_from(CODECS), data=st.data())
def test_frames_that_are_no_bytes_raise_nothing_but_wire_errors(
    codec: Codec[Any], data: st.DataObject, samples: Samples
) -> None:
    frames: list[Any] = list(data.draw(st.sampled_from(samples(codec)))[1])
    for _ in range(data.draw(st.integers(1, 3))):
        frames[data.draw(st.integers(0, len(frames) - 1))] = data.draw(ODD)
    read = or_refused(codec, frames)
    assert read is None or agrees_with_itself(codec, read)
    _recognised(frames)


@every_codec
def test_what_is_no_sequence_of_frames_raises_nothing_but_wire_errors(
    codec: Codec[Any], samples: Samples
) -> None:
    count = max(codec.counts) + (codec.guard is not None)
    frames = samples(codec)[0][1]
    wholes: list[Any] = [None, 7, 7.5, object(), b"x" * count, "x" * count, bytearray(count)]
    wholes += [memoryview(bytes(count)), zmq.Frame(bytes(count)), {1: 2}, {1, 2}, [frames]]
    wholes += [
        dict.fromkeys(range(count)),
        range(count),
        iter([None]),
        zmq.Frame(b"7"),
        [[]] * count,
    ]
    for whole in wholes:
        assert or_refused(codec, whole) is None, whole
        _recognised(whole)


def test_a_frame_that_is_no_bytes_is_named_with_its_place(samples: Samples) -> None:
    codec = next(c for c in CODECS if c.message == "TransferInfo" and c.backend == "nixl")
    frames: list[Any] = samples(codec)[0][1]
    frames[6] = 3.5
    with pytest.raises(WireError, match="expected a bytes-like frame, got float") as caught:
        codec.decode(frames)
    assert (caught.value.frame, caught.value.field) == (5, "dst_aux_index")
