from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pdwire_codegen.diagnostics import SpecError
from pdwire_codegen.generate import lock
from pdwire_codegen.load import load
from pdwire_codegen.lock import fingerprint
from pdwire_codegen.lock_file import parse_lock, render_lock
from pdwire_codegen.model import Frame, Spec

Edit = Callable[[str, str, str], None]


def test_fingerprint_is_that_of_the_canonical_layout(small: Spec) -> None:
    """Frozen on purpose: another value means that every lock in the world is stale."""
    layouts = small.messages[0].layouts
    assert [layout.fingerprint[:16] for layout in layouts] == FROZEN
    assert all(fingerprint(small.messages[0], item) == item.fingerprint for item in layouts)


FROZEN = ["daba34ed13ed2123", "e5db3ab5e67c4473"]


def test_fingerprint_ignores_what_does_not_travel(small: Spec) -> None:
    message = small.messages[0]
    layout = message.layouts[1]
    other = replace(layout, id="x", doc="y", notes=("z",), speakers={}, unverified="w", line=9)
    renamed = replace(message, name="N", doc="d", directions=("decode -> prefill",))
    assert fingerprint(renamed, other) == layout.fingerprint


FrameChange = Callable[[Frame], Frame]


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: replace(frame, name="other", field="other"),
        lambda frame: replace(frame, type="u32"),
        lambda frame: replace(frame, max=5),
        lambda frame: replace(frame, min=1),
        lambda frame: replace(frame, empty=None),
        lambda frame: replace(frame, absent=0),
        lambda frame: replace(frame, writes_empty=True),
        lambda frame: replace(frame, allowed=("a",)),
        lambda frame: replace(frame, position=9),
    ],
)
def test_fingerprint_sees_what_travels(small: Spec, change: FrameChange) -> None:
    message = small.messages[0]
    layout = message.layouts[1]
    frames = (layout.frames[0], change(layout.frames[1]), layout.frames[2])
    assert fingerprint(message, replace(layout, frames=frames)) != layout.fingerprint


def test_fingerprint_sees_guard_and_counts(small: Spec) -> None:
    message = small.messages[0]
    layout = message.layouts[1]
    assert fingerprint(replace(message, guard="G"), layout) != layout.fingerprint
    assert fingerprint(message, replace(layout, counts=(2, 3))) != layout.fingerprint


def test_a_meaning_for_other_layouts_leaves_a_locked_one_alone(protocol: Path, edit: Edit) -> None:
    """A field that a new layout drops needs ``absent``; the old layouts travel as before."""
    edit("common/ping.toml", 'doc     = "Room that is asked for."', 'doc = "Room."\nabsent = 0')
    load(protocol)


def test_lock_is_read_back_as_written(protocol: Path) -> None:
    text = (protocol / "released.lock").read_text(encoding="utf-8")
    found, faults = parse_lock("released.lock", text)
    assert not faults
    assert render_lock(list(found.entries.values())) == text
    assert found.entries["common", "PING", "r2"].speakers == {"alpha": ("1.1", "1.2")}


def test_lock_adds_layouts_and_releases_and_nothing_else(protocol: Path, edit: Edit) -> None:
    assert lock(load(protocol), protocol) is False
    edit("protocol.toml", '"1.2"]', '"1.2", "1.3"]')
    edit("common/ping.toml", '"1.1..1.2"', '"1.1..1.3"')
    before = (protocol / "released.lock").read_text(encoding="utf-8")
    assert lock(load(protocol), protocol) is True
    after = (protocol / "released.lock").read_text(encoding="utf-8")
    assert after == before.replace("alpha=1.1,1.2\n", "alpha=1.1,1.2,1.3\n")


def test_a_changed_layout_cannot_be_locked_again(protocol: Path, edit: Edit) -> None:
    edit("common/ping.toml", '2 = "data"', '2 = { field = "data", type = "u32[]" }')
    with pytest.raises(SpecError, match="changed-released-layout") as caught:
        load(protocol, allow_unlocked=True)
    assert caught.value.spec is not None


def test_one_broken_file_hides_only_its_own_layouts_from_the_lock(protocol: Path) -> None:
    other = protocol / "other"
    other.mkdir()
    text = (protocol / "common" / "ping.toml").read_text(encoding="utf-8")
    turned = (
        text.replace('name      = "PING"', 'name      = "PONG"')
        .replace('"PING"', '"PONG"')
        .replace('"Ping"', '"Pong"')
    )
    (other / "pong.toml").write_text(turned, encoding="utf-8")
    lock(load(protocol, allow_unlocked=True), protocol)
    (other / "pong.toml").write_text("[message\n", encoding="utf-8")
    (protocol / "common" / "ping.toml").unlink()
    with pytest.raises(SpecError) as caught:
        load(protocol)
    assert sorted((fault.rule, fault.message[:23]) for fault in caught.value.faults) == [
        ("removed-released-layout", "layout r1 of common PIN"),
        ("removed-released-layout", "layout r2 of common PIN"),
        ("toml-syntax", caught.value.faults[0].message[:23]),
    ]
