"""Releases in few words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def runs(releases: Iterable[str], order: Sequence[str]) -> str:
    """Releases as ranges of neighbours in ``order``: ``0.5.9, 0.5.17–0.5.18``."""
    place = {release: number for number, release in enumerate(order)}
    known = sorted({each for each in releases if each in place}, key=place.__getitem__)
    groups: list[list[str]] = []
    for release in known:
        if groups and place[release] == place[groups[-1][-1]] + 1:
            groups[-1].append(release)
        else:
            groups.append([release])
    return ", ".join(one[0] if len(one) == 1 else f"{one[0]}–{one[-1]}" for one in groups)
