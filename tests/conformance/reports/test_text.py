"""A peer's words are shown, and do nothing."""

from __future__ import annotations

from pdwire_conformance.reports.text import cut, cut_hex, frame_text, kind_of, printable


def test_control_characters_marks_and_surrogates_become_escapes() -> None:
    assert printable("a\x1b[31m\u202eb\ud800\n") == "a\\x1b[31m\\u202eb\\ud800\\x0a"
    assert printable("a\nb", "\n") == "a\nb"
    assert printable("naïve – ok") == "naïve – ok"


def test_what_is_cut_says_so() -> None:
    assert cut("one  two\nthree", 9) == "one two …"
    assert cut_hex("ab" * 300, 2) == "abab… (300 bytes)"
    assert cut_hex("abab", 2) == "abab"


def test_a_frame_has_a_text_where_all_of_it_is_printable_ascii() -> None:
    assert frame_text("4e6f6e65") == '"None"'
    assert [frame_text(each) for each in ("", "00", "ff41", "xyz")] == [""] * 4


def test_failures_of_one_kind_differ_in_numbers_and_values_alone() -> None:
    first = kind_of(["an error at frame 4 (room)", '{"room": 7}'])
    assert first == kind_of(["an error at frame 14 (room)", '{"room": 8, "x": 1}'])
    assert first != kind_of(["an error at frame 4 (room)", "an error other: no"])
