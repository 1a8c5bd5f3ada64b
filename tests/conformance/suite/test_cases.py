"""What every case has: a name for good, words, clauses that exist."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys

from pdwire_conformance.suite.case import Case, Level
from pdwire_conformance.suite.derived import derive
from pdwire_conformance.suite.load import cases

DERIVED = re.compile(r"[a-z]+/[A-Za-z_]+/r[0-9]+/[A-Za-z0-9_+*-]+")


def test_cases_are_sorted_and_no_two_have_one_slug() -> None:
    slugs = [case.slug for case in cases()]
    assert slugs == sorted(set(slugs))
    assert len(slugs) > 10_000


def test_the_slug_of_a_derived_case_says_backend_message_and_layout() -> None:
    for case in cases():
        if case.origin.startswith("derived:"):
            assert DERIVED.fullmatch(case.slug), case.slug
            assert case.slug.startswith(f"{case.backend}/{case.message}/{case.layout}/")


def test_every_rule_makes_cases_and_says_so_in_their_origin() -> None:
    rules = (*derive.RULES, *derive.BACKEND_RULES)
    made = {case.origin for case in cases() if case.origin.startswith("derived:")}
    assert made == {f"derived:{r.__module__.rpartition('.')[2]}.{r.__name__}" for r in rules}


def test_words_are_whole_sentences() -> None:
    for case in cases():
        for text in (case.purpose, case.expectation):
            assert text[0].isupper() or text[0].isdigit(), f"{case.slug}: {text}"
            assert text.rstrip()[-1] in ".!", f"{case.slug}: {text}"
            assert "  " not in text, f"{case.slug}: {text}"
            assert len(text) < 900, f"{case.slug}: {text}"


def test_what_is_misread_is_a_must_and_another_spelling_a_should(
    codec_cases: tuple[Case, ...],
) -> None:
    levels = {case.slug: case.level for case in codec_cases}
    begin = "mooncake/KVArgsRegisterInfo/r8/frame-"
    assert levels[f"{begin}14-short"] is Level.MUST
    assert levels[f"{begin}15-underscore"] is Level.MUST
    assert levels[f"{begin}15-spaces"] is Level.SHOULD
    assert levels["mooncake/ROUTE_PUT/r7/body-key-twice"] is Level.MAY


def test_every_run_derives_the_same_cases() -> None:
    script = (
        "import hashlib\n"
        "from pdwire_conformance.suite.derived.derive import derive\n"
        "print(hashlib.sha256(repr(list(derive())).encode()).hexdigest())"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "7"},
    ).stdout.strip()
    assert elsewhere == hashlib.sha256(repr(list(derive.derive())).encode()).hexdigest()
