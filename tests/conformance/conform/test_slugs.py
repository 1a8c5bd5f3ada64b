from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdwire_conformance.conform.slugs import Slugs, is_plain, matches

PARTS = st.lists(st.sampled_from(["a", "ab", "frame-1-x", "frame-14-x", "b+c"]), min_size=1)
SLUGS = st.lists(PARTS.map("/".join), max_size=20)
GLOBS = st.lists(
    st.sampled_from(["a", "b", "/", "-", "*", "?", "[0-9]", "[!a]", "frame", "x", "+", "]", "["])
).map("".join)


def test_a_glob_is_over_the_whole_slug_and_crosses_parts() -> None:
    assert matches("mooncake/*", "mooncake/A/r1/one")
    assert not matches("mooncake", "mooncake/A/r1/one")
    assert not matches("Mooncake/*", "mooncake/A/r1/one")


@pytest.mark.parametrize(("glob", "plain"), [("a/b-1+c", True), ("a*", False), ("a[0-9]", False)])
def test_what_is_a_slug_and_what_is_a_glob(glob: str, *, plain: bool) -> None:
    assert is_plain(glob) is plain


@pytest.mark.parametrize(
    ("slug", "told"),
    [
        ("a/B/r1/frame-1-plsu", "; did you mean 'a/B/r1/frame-1-plus'?"),
        ("a/B/r9/frame-1-plus", "; did you mean 'a/B/r1/frame-1-plus'?"),
        ("values/rom", "; did you mean 'values/room'?"),
        ("nothing/of/the/kind", ""),
    ],
)
def test_a_misspelled_slug_is_hinted_at_from_those_that_begin_alike(slug: str, told: str) -> None:
    assert Slugs(["a/B/r1/frame-1-plus", "a/C/r1/count-1", "values/room"]).hint(slug) == told


@given(slugs=SLUGS, glob=GLOBS)
def test_the_quick_way_finds_what_trying_each_finds(slugs: list[str], glob: str) -> None:
    found = Slugs({*slugs}).matching(glob)
    assert list(found) == sorted(slug for slug in {*slugs} if fnmatchcase(slug, glob))
