"""The test of whole shapes finds each of P1 to P6 when its mend is taken out.

Most of these faults are caught twice, where lengths are compared and by the guard; so a mend is
taken out together with the guard, and what is left moves bytes as it did before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.pdwire.managers import test_shapes as whole
from tests.pdwire.managers.shapes import Shape, decode_ranks

from pdwire.managers import announced, lengths, planner, staging_mixin
from pdwire.plan import Blocks, Extent, Pairs, Permitted, extent, regions

Patch = pytest.MonkeyPatch


def no_guard(patch: Patch) -> None:
    """Whatever is planned is permitted."""

    def permit(_: Extent, blocks: Blocks) -> Permitted:
        return Permitted(blocks.nonzero(), extent._KEY)

    patch.setattr(Extent, "permit", permit)


def stage_anything(patch: Patch) -> None:
    """One head length for all regions, that of the first."""
    patch.setattr(staging_mixin, "one_length", lambda _: True)
    patch.setattr(staging_mixin, "why_direct", lambda *_: None)


def compare_nothing(patch: Patch) -> None:
    """Pages there are as long as here."""
    patch.setattr(lengths.Lengths, "same", lambda *_: None)


def stride_over_rows(patch: Patch) -> None:
    """Rows there are as long as here."""
    patch.setattr(planner, "aux_lens", lambda args, _: list(args.aux_item_lens))


def guess_lengths(patch: Patch) -> None:
    """A length that nobody said is ours, on both sides."""
    patch.setattr(lengths.Lengths, "told_by", lambda self, _: self.there())
    patch.setattr(announced, "several_lengths", lambda _: None)


def guess_layers(patch: Patch) -> None:
    """As the releases place V: behind whole multiples of the stage's layers."""

    def only(self: Any) -> Pairs:  # noqa: ANN401  # a private class
        layers, total = self.layers, self.total
        found: Pairs = self._pairs(total - total % layers if total > layers else total)
        return found

    patch.setattr(regions._Readings, "only", only)


@pytest.mark.parametrize(
    ("mend", "shape"),
    [
        (stage_anything, whole.P1),
        (compare_nothing, whole.P2),
        (stride_over_rows, whole.P3),
        (guess_lengths, whole.P4),
        (guess_layers, whole.P5),
        (guess_layers, whole.P6),
    ],
    ids=["P1", "P2", "P3", "P4", "P5", "P6"],
)
def test_without_its_mend_a_row_is_found(
    mend: Callable[[Patch], None], shape: Shape, monkeypatch: Patch
) -> None:
    one = whole.test_a_room_lands_where_it_asked_or_fails_on_both_sides.hypothesis.inner_test  # type: ignore[attr-defined]
    one(shape)
    mend(monkeypatch)
    no_guard(monkeypatch)
    with pytest.raises(AssertionError):
        one(shape)


def test_what_a_decode_rank_announces_is_checked_against_its_own_memory() -> None:
    """The other half of the guard: nothing that this rank has not is announced."""
    mem = decode_ranks(whole.whole(state=((1, 4, 8),)))[0].args
    page = whole.pages_of(0, 3)
    announced.Announced.of(mem, page, 3, [page])
    for kv, row, items, told in [
        (whole.pages_of(12), 0, [page], "page 12 of 12"),
        (whole.pages_of(-1), 0, [page], "page -1 of 12"),
        (whole.pages_of(4, 5, 4), 0, [page], "page 4 is announced twice"),
        (page, 4, [page], "aux row 4 of 4"),
        (page, 0, [whole.pages_of(4)], "item of state component 0 4 of 4"),
        (page, 0, [page, page], "2 state components announced of 1"),
    ]:
        with pytest.raises(ValueError, match=told):
            announced.Announced.of(mem, kv, row, items)
