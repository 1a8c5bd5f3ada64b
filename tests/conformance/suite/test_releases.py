"""Two real releases are asked every codec case: nothing breaks, and what is good they read so.

A valid message of the suite is one that the releases send and read themselves. Where they
do not, the case is wrong, whatever ours say; so this is the test of the tests.
"""

from __future__ import annotations

from collections import Counter

import pytest

from pdwire_conformance.conform.judge import judge, request_of, unasked
from pdwire_conformance.peers.errors import PeerUnavailable
from pdwire_conformance.peers.wheels import fetch
from pdwire_conformance.suite.case import Accept, Case, Decode, Encode, Level
from pdwire_conformance.testees.find import find_testee

DROPPED = "the peer ignored the ABORT_ACK"
"""An acknowledgement without a generation is read and dropped, as the spec's notes say."""


@pytest.mark.live
@pytest.mark.parametrize("release", ["0.5.19", "0.5.23"])
def test_a_release_reads_and_writes_what_is_good_and_answers_all_else(
    release: str, codec_cases: tuple[Case, ...]
) -> None:
    try:
        fetch(release)
    except PeerUnavailable as reason:
        pytest.skip(f"{release} cannot be had here: {reason}")
    with find_testee(f"sglang=={release}") as testee:
        hello = testee.hello()
        asked = [c for c in codec_cases if release in c.releases and not unasked(c, hello)]
        answers = testee.ask([request_of(case, release) for case in asked])
    verdicts: Counter[str] = Counter()
    wrong: list[str] = []
    for case, answer in zip(asked, answers, strict=True):
        judgement = judge(case, answer, hello)
        verdicts["skipped" if judgement.skip else "right" if judgement.ok else "other"] += 1
        if not judgement.skip and not judgement.ok and _good(case):
            wrong.append(f"{case.slug}: expected {judgement.expected}, came {judgement.came}")
    assert [text for text in wrong if DROPPED not in text] == []
    assert len(asked) > 5_000
    assert verdicts["right"] > 3_000


def _good(case: Case) -> bool:
    """A message that every sender and reader of the layout agrees about.

    Bodies are left out: the releases read them with a JSON parser and a dataclass, take
    what no sender sends and refuse keys that they do not know.
    """
    bodies = case.origin.startswith("derived:bodies") or case.origin == "bootstrap.toml"
    if case.level is not Level.MUST or bodies:
        return False
    match case.check:
        case Decode(expect=Accept()):
            return True
        case Encode(expect=tuple()):
            return True
    return False
