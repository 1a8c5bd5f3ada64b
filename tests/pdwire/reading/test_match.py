from __future__ import annotations

import pytest

from pdwire.reading import Reading
from pdwire.reading.causes import causes, speakers
from pdwire.reading.match import Fit, candidates, differing, families, rank
from pdwire.reading.releases import runs

GUARD = b"AlphaMsgGuard"
STATUS = [b"7", b"4", b"0"]
ORDER = [GUARD, b"7", b"\1\0\0\0", b"3"]


def best(reading: Reading, frames: list[bytes]) -> list[Fit]:
    return rank(reading, frames, candidates(reading.spec))


def why(reading: Reading, frames: list[bytes], **known: str) -> list[str]:
    among = candidates(reading.spec, **known)
    return causes(reading, frames, rank(reading, frames, among)[0], among)


def names(fits: list[Fit]) -> list[str]:
    return [f"{fit.message.name} {fit.layout.id}" for fit in fits]


def test_exact_fits_come_first_and_the_newest_of_them(reading: Reading) -> None:
    fits = best(reading, ORDER)
    assert names([fit for fit in fits if fit.exact]) == ["Order r2", "Order r1"]
    assert [fit.exact for fit in fits] == sorted((fit.exact for fit in fits), reverse=True)


def test_one_bad_frame_keeps_the_message(reading: Reading) -> None:
    fits = best(reading, [GUARD, b"7", b"\1\0\0", b"3"])
    assert names(fits[:2]) == ["Order r2", "Order r1"]
    assert not fits[0].exact
    assert fits[0].plausible


def test_a_tag_weighs_more_than_a_count(reading: Reading) -> None:
    assert names(best(reading, [b"DATA", b"7", b"\0\0\0\0"]))[0] == "DATA r1"


def test_what_looks_like_nothing_is_not_plausible(reading: Reading) -> None:
    assert not best(reading, [b"\xff\xfe", b"\xff"])[0].plausible
    assert not best(reading, [])[0].plausible


@pytest.mark.parametrize(
    ("known", "left"),
    [
        ({"backend": "gamma"}, {"DATA r1", "STATUS r1"}),
        ({"message": "order"}, {"Order r1", "Order r2"}),
        ({"message": "alpha.Order", "release": "1.2"}, {"Order r2"}),
        ({"layout": "r3"}, {"Register r3", "NOTE r3"}),
        ({"backend": "gamma", "release": "1.0"}, set()),
    ],
)
def test_what_is_known_leaves_fewer(
    reading: Reading, known: dict[str, str], left: set[str]
) -> None:
    found = candidates(reading.spec, **known)
    assert {f"{message.name} {layout.id}" for message, layout in found} == left


def test_layouts_that_read_the_same_are_one_family(reading: Reading) -> None:
    assert [names(family) for family in families(best(reading, ORDER))] == [
        ["Order r2", "Order r1"]
    ]


def test_layouts_that_read_differently_are_two(reading: Reading) -> None:
    text = [b"7_kv_0_1_part_0_2"]
    first, second = families(best(reading, text))
    assert (names(first), names(second)) == (["NOTE r3"], ["NOTE r2"])
    assert set(differing(first[0], second[0])) == {"part", "parts", "agent"}


def test_who_speaks_a_layout(reading: Reading) -> None:
    layout = reading.message("DATA").layouts[0]
    assert speakers(layout, reading.spec.releases) == "alpha 1.0–1.2; beta, gamma 1.1–1.2"


def test_runs_of_releases() -> None:
    order = ["1", "2", "2.post1", "3", "4"]
    assert runs(["4", "2", "1", "2.post1"], order) == "1–2.post1, 4"
    assert runs([], order) == ""


def test_a_count_tells_the_peer(reading: Reading) -> None:
    assert why(reading, [GUARD, b"7", b"", b"", b"", b"0"], layout="r1", message="Order") == [
        "5 frames: a alpha 1.2 peer (layout r2, which they fit exactly)"
    ]


def test_a_stripped_guard(reading: Reading) -> None:
    assert any("the guard is missing" in each for each in why(reading, ORDER[1:], backend="alpha"))
    assert any("another backend's guard" in each for each in why(
        reading, [b"BetaMsgGuard", *ORDER[1:]], backend="alpha"
    ))  # fmt: skip


def test_another_backend_s_message(reading: Reading) -> None:
    assert why(reading, STATUS, message="DATA")[-1] == (
        "they fit beta.STATUS r1 exactly (beta 1.0–1.2; gamma 1.1–1.2)"
    )


def test_two_messages_in_one(reading: Reading) -> None:
    told = why(reading, STATUS + STATUS)
    assert told == ["2 STATUS messages in one: senders share a socket unlocked?"]


def test_shapes_of_frames(reading: Reading) -> None:
    assert why(reading, [b"7", b"None", b"0"]) == [
        "status is the text None: the sender was given no value for it"
    ]
    assert why(reading, [b"7", b"\x80\x05\x95.", b"0"]) == [
        "status begins like a pickle: a peer of another protocol?"
    ]


def test_a_fit_needs_no_cause(reading: Reading) -> None:
    assert why(reading, STATUS) == []
