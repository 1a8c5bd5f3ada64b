"""Where generated things live and what they are called."""

from __future__ import annotations

from collections.abc import Sequence

from pdwire_codegen.model import Layout, Message, Spec

__all__ = ["ROOT", "layout_module", "message_package", "readable", "speakers"]

ROOT = "src/pdwire/wire"


def message_package(message: Message) -> str:
    """Import path of a message's package."""
    return f"pdwire.wire.{message.group}.{message.module}"


def layout_module(layout: Layout) -> str:
    """Module name of a layout's codec."""
    return layout.id.replace("-", "_").replace(".", "_")


def readable(releases: Sequence[str], order: Sequence[str]) -> str:
    """Releases as ranges: ``0.5.17–0.5.18, 0.5.23``."""
    places = sorted(order.index(release) for release in releases)
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return ", ".join(
        order[run[0]] if len(run) == 1 else f"{order[run[0]]}–{order[run[-1]]}" for run in runs
    )


def speakers(layout: Layout, spec: Spec) -> str:
    """Who speaks a layout, readable; backends are named where their releases differ."""
    own = {name: releases for name, releases in layout.speakers.items() if releases}
    texts = {name: readable(releases, spec.releases) for name, releases in own.items()}
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{name} {text}" for name, text in texts.items())
