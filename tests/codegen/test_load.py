from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdwire_codegen.diagnostics import Fault, SpecError
from pdwire_codegen.load import load
from pdwire_codegen.model import REQUIRED, Message, Spec
from pdwire_codegen.rules import RULE_IDS

Edit = Callable[[str, str, str], None]

PING = "common/ping.toml"
OWN = Path(__file__).parents[2] / "protocol"


def faults_of(protocol: Path) -> tuple[Fault, ...]:
    try:
        load(protocol, allow_unlocked=True)
    except SpecError as error:
        return error.faults
    return ()


def rules(protocol: Path) -> list[tuple[str, str]]:
    return [(fault.file, fault.rule) for fault in faults_of(protocol)]


def ping(spec: Spec) -> Message:
    (message,) = spec.messages
    return message


def test_all_faults_of_all_files_come_at_once(protocol: Path, edit: Edit) -> None:
    edit("protocol.toml", 'doc   = "Has everything."\n', "")
    edit("concepts.toml", "room =", 'spare = "Nothing."\nroom =')
    edit(PING, 'type    = "dec"', 'type    = "decimal"')
    edit(PING, '2 = "data"', '3 = "data"')
    assert sorted(rules(protocol)) == [
        ("protocol/common/ping.toml", "gap"),
        ("protocol/common/ping.toml", "unknown-type"),
        ("protocol/concepts.toml", "unused-concept"),
        ("protocol/protocol.toml", "missing-doc"),
    ]


def test_a_broken_file_hides_no_faults_of_others(protocol: Path, edit: Edit) -> None:
    (protocol / "common" / "bad.toml").write_text("[message\n", encoding="utf-8")
    (protocol / "common" / "latin.toml").write_bytes(b'[message]\nname = "\xe9"\n')
    edit(PING, '2 = "data"', '3 = "data"')
    assert rules(protocol) == [
        ("protocol/common/bad.toml", "toml-syntax"),
        ("protocol/common/latin.toml", "toml-syntax"),
        ("protocol/common/ping.toml", "gap"),
    ]


def test_a_missing_root_file_is_a_fault(protocol: Path) -> None:
    (protocol / "concepts.toml").unlink()
    assert rules(protocol) == [("protocol/concepts.toml", "stray-file")]


def test_a_broken_root_file_does_not_make_the_lock_complain(protocol: Path) -> None:
    (protocol / "protocol.toml").write_text("releases = 1\n", encoding="utf-8")
    found = rules(protocol)
    assert ("protocol/protocol.toml", "value-type") in found
    assert not [rule for _, rule in found if "released" in rule]


def test_releases_are_expanded_and_layouts_are_oldest_first(protocol: Path) -> None:
    text = (protocol / PING).read_text(encoding="utf-8")
    first, second = text.index("[layout.r1]"), text.index("[layout.r2]")
    turned = text[:first] + text[second:] + "\n" + text[first:second]
    (protocol / PING).write_text(turned, encoding="utf-8")
    layouts = ping(load(protocol)).layouts
    assert [(layout.id, layout.speakers) for layout in layouts] == [
        ("r1", {"alpha": ("1.0",)}),
        ("r2", {"alpha": ("1.1", "1.2")}),
    ]


def test_heirs_speak_what_their_parent_speaks_since_they_exist(protocol: Path, edit: Edit) -> None:
    heir = '\n[backend.gamma]\ndoc = "An heir."\nsince = "1.2"\ninherits = "alpha"\n'
    edit("protocol.toml", 'since = "1.0"\n', f'since = "1.0"\n{heir}')
    message = ping(load(protocol, allow_unlocked=True))
    assert message.backends == ("alpha", "gamma")
    assert [layout.speakers.get("gamma") for layout in message.layouts] == [None, ("1.2",)]


def test_absence_reaches_heirs_and_stays_within_their_releases(protocol: Path, edit: Edit) -> None:
    heir = '\n[backend.gamma]\ndoc = "An heir."\nsince = "1.1"\ninherits = "alpha"\n'
    edit("protocol.toml", 'since = "1.0"\n', f'since = "1.0"\n{heir}')
    edit(PING, 'releases = ["1.0"]', 'releases = ["1.2"]')
    edit(
        PING,
        "[layout.r1]\n",
        '[absent]\nalpha = { releases = ["1.0..1.1"], why = "w" }\n[layout.r1]\n',
    )
    text = (protocol / PING).read_text(encoding="utf-8")
    (protocol / PING).write_text(text[: text.index("[layout.r2]")], encoding="utf-8")
    edit("concepts.toml", 'data = "Lengths of what a room holds."\n', "")
    start = text.index("[field.data]")
    body = (protocol / PING).read_text(encoding="utf-8")
    (protocol / PING).write_text(body[:start] + body[body.index("[absent]") :], encoding="utf-8")
    (protocol / "released.lock").unlink()
    message = ping(load(protocol, allow_unlocked=True))
    assert message.absent == {"alpha": (("1.0", "1.1"), "w"), "gamma": (("1.1",), "w")}


def test_ranges_and_meanings_are_resolved(protocol: Path, edit: Edit) -> None:
    edit(PING, 'type    = "dec"\n', 'type    = "u64"\nempty   = "none"\n')
    edit(
        PING,
        'doc      = "Lengths are added."',
        'doc      = "Lengths are added."\ncounts   = [2, 3]',
    )
    (protocol / "released.lock").unlink()
    message = ping(load(protocol, allow_unlocked=True))
    room, data = message.layouts[1].frames[1:]
    assert (room.min, room.max) == (0, 2**64 - 1)
    assert (room.empty, room.writes_empty, room.absent) == (None, True, REQUIRED)
    assert (data.min, data.empty, data.writes_empty, data.absent) == (None, (), True, ())
    assert message.layouts[1].counts == (2, 3)
    assert message.field_named("data").absent == ()


def test_a_layout_overrides_type_range_and_meaning(protocol: Path, edit: Edit) -> None:
    edit(PING, '2 = "data"', '2 = { field = "data", type = "u32[]", unread = true }')
    text = (protocol / PING).read_text(encoding="utf-8")
    at = text.rindex('1 = "room"')
    own = '1 = { field = "room", type = "u32", max = 9, empty = 7, writes_empty = true }'
    (protocol / PING).write_text(text[:at] + own + text[at + 10 :], encoding="utf-8")
    (protocol / "released.lock").unlink()
    room, data = ping(load(protocol, allow_unlocked=True)).layouts[1].frames[1:]
    assert (room.type, room.min, room.max, room.empty, room.writes_empty) == ("u32", 0, 9, 7, True)
    assert (data.type, data.unread) == ("u32[]", True)


DERIVED = """
[derived.room_is_empty]
type    = "flag"
concept = "dummy"
doc     = "Whether the room holds nothing."
when    = { data = "empty" }
"""


@pytest.mark.parametrize(
    ("frame", "counts", "own", "rules_of_r2"),
    [
        ("", "", "", ["empty"]),  # no frame: the message's rule
        ('3 = "room_is_empty"\n', "", "", []),  # a frame that is always there wins
        ('3 = "room_is_empty"\n', "counts = [3, 4]\n", "", ["empty"]),  # it may be missing
        ('3 = "room_is_empty"\n', "", 'room_is_empty = { room = "falsy" }\n', ["falsy"]),
    ],
)
def test_which_derived_rule_applies(
    protocol: Path, edit: Edit, frame: str, counts: str, own: str, rules_of_r2: list[str]
) -> None:
    edit("concepts.toml", "room =", 'dummy = "Nothing is wanted."\nroom =')
    edit(PING, 'doc      = "Lengths are added."\n', f'doc      = "Lengths are added."\n{counts}')
    field = DERIVED.replace("derived", "field").partition("when")[0] if frame else ""
    table = f"[layout.r2.derived]\n{own}" if own else ""
    edit(PING, '2 = "data"\n', f'2 = "data"\n{frame}{table}{field}{DERIVED}')
    (protocol / "released.lock").unlink()
    layouts = ping(load(protocol, allow_unlocked=True)).layouts
    assert [rule.when[0][1] for rule in layouts[1].derivations] == rules_of_r2
    assert [rule.when for rule in layouts[0].derivations] == [(("data", "empty"),)]


def test_the_projects_own_spec_has_no_faults(whole: Spec) -> None:
    assert {item.name for item in whole.backends} == {"mooncake", "ascend", "nixl", "mori"}
    assert len(whole.releases) == 25
    for message in whole.messages:
        for backend in message.backends:
            releases = next(item.releases for item in whole.backends if item.name == backend)
            spoken = [r for layout in message.layouts for r in layout.speakers.get(backend, ())]
            lacking = message.absent.get(backend, ((), ""))[0]
            assert sorted([*spoken, *lacking]) == sorted(releases)


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("[message]", "\ufeff[message]", 1, "byte-order mark"),
        ("doc  ", "<<<<<<< HEAD\ndoc  ", 6, "merge conflict (line 6)"),
        ("doc       =", "<<<<<<< a\n=======\n>>>>>>> b\ndoc =", 6, "(lines 6, 7, 8)"),
    ],
)
def test_what_no_writer_of_toml_wrote_is_called_by_its_name(
    protocol: Path, old: str, new: str, line: int, reason: str
) -> None:
    path = protocol / PING
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    (fault,) = faults_of(protocol)
    assert (fault.rule, fault.line) == ("toml-syntax", line)
    assert reason in fault.message


def test_a_file_in_utf16_is_called_so(protocol: Path) -> None:
    path = protocol / PING
    path.write_text(path.read_text(encoding="utf-8"), encoding="utf-16")
    (fault,) = faults_of(protocol)
    assert "UTF-16" in fault.message


def test_rows_of_equals_signs_in_a_text_are_no_conflict(protocol: Path, edit: Edit) -> None:
    edit(PING, '"Asks whether a room is alive."', '"""Asks.\n=======\nWhether."""')
    assert faults_of(protocol) == ()


@pytest.mark.parametrize(
    ("new", "says"),
    [
        ('"1.0", "1.2", "1.1"]', "1.1 stands behind a newer release"),
        ('"1.0", "1.1", "1.2", "v1.3"]', "'v1.3' is not a release"),
        ('"1.0", "1.1", "1.2", "1.2"]', "1.2 is listed twice"),
    ],
)
def test_a_slip_in_the_releases_is_one_fault(
    protocol: Path, edit: Edit, new: str, says: str
) -> None:
    """What every message would say of it follows from it, and is not said."""
    edit("protocol.toml", '"1.0", "1.1", "1.2"]', new)
    (fault,) = faults_of(protocol)
    assert says in fault.message


def test_causes_are_told_before_what_may_follow_from_them(protocol: Path, edit: Edit) -> None:
    edit("concepts.toml", "data =", "date =")
    edit(PING, 'unit    = "id"', 'unit    = "furlong"')
    (protocol / "zoo.md").write_text("x", encoding="utf-8")
    assert [fault.rule for fault in faults_of(protocol)] == [
        "stray-file", "unused-concept", "unknown-unit", "unknown-concept",
    ]  # fmt: skip


WORDS = ('"none"', "0", "-1", "[]", "true", '""', "{}", '["a"]', "1.5", '"u64[][]"', "[[1]]")


def edited(lines: list[str], data: st.DataObject) -> list[str]:
    """The lines with one thing done to them."""
    at = data.draw(st.integers(0, len(lines) - 1))
    match data.draw(st.sampled_from(["drop", "repeat", "value", "swap"])):
        case "drop":
            return [*lines[:at], *lines[at + 1 :]] or [""]
        case "repeat":
            return [*lines[:at], data.draw(st.sampled_from(lines)), *lines[at:]]
        case "value":
            head = lines[at].partition("=")[0]
            return [*lines[:at], f"{head}= {data.draw(st.sampled_from(WORDS))}", *lines[at + 1 :]]
        case _:
            return [lines[at], *lines[1:at], lines[0], *lines[at + 1 :]] if at else lines


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's own protocol, to be edited and put back."""
    path = tmp_path_factory.mktemp("edited") / "protocol"
    shutil.copytree(OWN, path)
    return path


@given(data=st.data())
@settings(max_examples=60)
def test_random_edits_give_faults_and_nothing_else(copy: Path, data: st.DataObject) -> None:
    """Whatever is done to the lines of a real spec file, the loader only ever reports."""
    path = data.draw(st.sampled_from(sorted(copy.glob("*/*.toml"))))
    before = path.read_text(encoding="utf-8")
    lines = before.splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        lines = edited(lines, data)
    path.write_text("\n".join(lines), encoding="utf-8")
    try:
        found = faults_of(copy)
    finally:
        path.write_text(before, encoding="utf-8")
    assert all(fault.line >= 1 for fault in found)
    assert {fault.rule for fault in found} <= RULE_IDS.keys()
