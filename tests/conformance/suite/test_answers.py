"""The generated codecs and the interpreted reading give the right answer to every case."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.conformance.suite.conftest import Reader, asked

from pdwire_conformance.conform.judge import judge
from pdwire_conformance.proof.spec import load_spec
from pdwire_conformance.suite.case import Case
from pdwire_conformance.testees.codec import CodecTestee
from pdwire_conformance.testees.ours import Generated


def wrong(testee: CodecTestee, cases: tuple[Case, ...]) -> list[str]:
    told = []
    for case in cases:
        judgement = asked(testee, case)
        if not judgement.ok:
            told.append(f"{case.slug}: expected {judgement.expected}, came {judgement.came}")
    return told


def test_the_generated_codecs_answer_every_case_rightly(codec_cases: tuple[Case, ...]) -> None:
    assert wrong(Generated(), codec_cases) == []


def test_the_reading_answers_a_tenth_of_the_cases_rightly(codec_cases: tuple[Case, ...]) -> None:
    assert wrong(Reader(load_spec()), codec_cases[::10]) == []


@pytest.mark.slow
def test_the_reading_answers_every_case_rightly(codec_cases: tuple[Case, ...]) -> None:
    assert wrong(Reader(load_spec()), codec_cases) == []


def test_a_case_is_right_for_every_release_that_it_names(codec_cases: tuple[Case, ...]) -> None:
    spoken = {
        (backend, message["name"], release): layout["id"]
        for message in load_spec()["messages"]
        for layout in message["layouts"]
        for backend, releases in layout["speakers"].items()
        for release in releases
    }
    for case in codec_cases:
        assert case.releases, case.slug
        if case.layout:
            layouts = {spoken.get((case.backend, case.message, each)) for each in case.releases}
            assert layouts == {case.layout}, case.slug


def test_a_codec_that_takes_whatever_comes_fails_by_the_thousand(
    codec_cases: tuple[Case, ...],
) -> None:
    class Lenient(Generated):
        def decode(
            self, backend: str, release: str, message: str, frames: list[bytes]
        ) -> dict[str, object]:
            del backend, release, message, frames
            return {}

    found = Counter(case.origin for case in codec_cases[::7] if not asked(Lenient(), case).ok)
    # Encoding and recognising are untouched; of what is decoded nothing is right.
    assert found["derived:counts.ladder"] > 100
    assert found["derived:good.whole"] > 40
    assert "derived:recognising.proved" not in found


def test_a_body_is_judged_by_what_it_says(codec_cases: tuple[Case, ...]) -> None:
    case = next(c for c in codec_cases if c.slug == "mooncake/REGISTER_DP_RANK/r1/plain-encode")
    hello = Generated().hello()
    for body, right in (
        (b'{"dp_rank": 10,\n "bootstrap_room": 3, "more": null}', True),
        (b'{"bootstrap_room":3,"dp_rank":"10"}', False),
        (b'{"bootstrap_room":3,"dp_rank":true}', False),
        (b'{"bootstrap_room":3}', False),
        (b'[{"bootstrap_room":3,"dp_rank":10}]', False),
        (b'{"bootstrap_room":3,"dp_rank":10', False),
    ):
        assert judge(case, {"frames": [body.hex()]}, hello).ok is right, body
