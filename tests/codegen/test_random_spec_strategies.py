"""Drawn specs are valid, and between them they say all that the language can say."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from tests.codegen.strategies.specs import Files, protocols
from tests.codegen.strategies.toml import document

from pdwire_codegen.kinds import KINDS
from pdwire_codegen.load import load
from pdwire_codegen.model import REQUIRED, Frame, Layout, Message, Repeat, Spec

SPECS = 200

_JSON = re.compile(r"int|str|bool|object|\[\]|\{\}|\?")


def specs() -> Iterator[Spec]:
    """The same drawn specs every time, each checked by the compiler."""
    found: list[Spec] = []

    @seed(11)
    @settings(
        max_examples=SPECS,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(files=protocols())
    def draw(files: Files) -> None:
        with tempfile.TemporaryDirectory() as folder:
            found.append(load(files.write(Path(folder) / "protocol"), allow_unlocked=True))

    draw()
    yield from found


def meaning(what: object) -> str:
    if isinstance(what, Repeat):
        return "repeated word" if what.from_field is None else "repeated field"
    return {REQUIRED: "required", None: "none", (): "no items"}.get(what, type(what).__name__)  # type: ignore[call-overload, no-any-return]


def said_by(spec: Spec) -> Iterator[str]:
    yield f"{len(spec.releases) > 1} several releases"
    for backend in spec.backends:
        yield f"{backend.inherits is not None} inherits"
        yield f"{backend.releases != spec.releases} younger than the first release"
    for message in spec.messages:
        yield from said_by_message(message)
        for layout in message.layouts:
            yield from said_by_layout(message, layout)


def said_by_message(message: Message) -> Iterator[str]:
    yield f"by {message.transport} {message.body or ''}".strip()
    yield f"{message.guard is not None} guard"
    yield f"{bool(message.absent)} absent from a release"
    yield f"{bool(message.aliases)} aliases"
    yield f"{message.class_name != message.name} class"
    if message.recognise is not None:
        yield f"recognised by {message.recognise.is_ or 'a constant'}"
        yield f"recognised at {message.recognise.frame}"
    for field in message.fields:
        if field.type.startswith("json:"):
            yield from (f"json {piece}" for piece in _JSON.findall(field.type))
        else:
            yield f"field {field.type}"
        yield f"absent is {meaning(field.absent)}"
        yield f"{field.ignorable} ignorable"
        yield f"{bool(field.allowed)} allowed {field.type in {'utf8', 'host', 'hostport'}}"
    places: dict[str, set[int]] = {}
    for frame in (frame for layout in message.layouts for frame in layout.frames):
        places.setdefault(frame.name, set()).add(frame.position)
    moved = any(len(found) > 1 for found in places.values())
    yield f"{moved} a field moves"


def said_by_layout(message: Message, layout: Layout) -> Iterator[str]:
    yield f"{len(layout.counts)} counts"
    yield f"{set(layout.speakers) != set(message.backends)} spoken by some backends only"
    yield f"{bool(layout.text and '[' in layout.text)} tail"
    for frame in layout.frames:
        yield from said_by_frame(message, layout, frame)
    for key in layout.keys:
        yield f"{key.optional} optional key"
        yield f"{key.key == '*'} whole body"
    for rule in layout.derivations:
        yield f"{any(frame.field == rule.field for frame in layout.frames)} derived beside a frame"
        yield from (f"derived if {condition}" for _, condition in rule.when)
    for invariant in layout.invariants:
        yield invariant.kind
        yield f"{len(invariant.fields)} fields in an invariant"
        what = "a list" if invariant.kind.startswith("same") else "a number"
        yield f"{bool(invariant.optional)} {what} excused"


def said_by_frame(message: Message, layout: Layout, frame: Frame) -> Iterator[str]:
    yield f"{frame.position >= layout.counts[0]} may be missing"
    if frame.field is None:
        tail = frame.position >= layout.counts[0]
        yield f"{'a constant' if frame.const is not None else 'a length'} {tail}"
        return
    own = message.field_named(frame.field).type
    yield f"frame {frame.type}"
    yield f"{frame.type != own} another type"
    yield f"{own.endswith('[][]') and not frame.type.endswith('[][]')} flattened"
    yield f"empty is {meaning(frame.empty)}"
    yield f"{frame.writes_empty} written empty"
    yield f"{frame.unread} unread"


BOTH = (
    "several releases", "inherits", "younger than the first release", "guard", "aliases", "class",
    "absent from a release", "ignorable", "allowed True", "allowed False", "a field moves", "tail",
    "spoken by some backends only", "optional key", "whole body", "derived beside a frame",
    "a list excused", "a number excused",
    "may be missing", "another type", "flattened", "written empty", "unread",
    "a constant {}", "a length {}",
)  # fmt: skip
"""What is so in one place and not so in another; ``{}`` is where the yes or no stands."""

SAID = (
    *(f"field {name}" for name in KINDS),
    *(f"json {piece}" for piece in ("int", "str", "bool", "object", "[]", "{}", "?")),
    *(f"frame {name}" for name in KINDS),
    *("by zmq", "by notification", "by http json", "by http query"),
    *(f"recognised by {sign}" for sign in ("a constant", "decimal", "guard")),
    *("recognised at 0", "recognised at 1"),
    *(f"absent is {what}" for what in ("required", "none", "no items", "int", "str", "bool")),
    *(f"absent is {what}" for what in ("bytes", "repeated word", "repeated field")),
    *(f"empty is {what}" for what in ("required", "none", "no items", "int", "str", "bool")),
    *(f"empty is {what}" for what in ("bytes", "repeated word", "repeated field")),
    *("1 counts", "2 counts", "3 counts"),
    *(f"derived if {condition}" for condition in ("empty", "none", "negative", "falsy")),
    *("same_length", "same_count", "less", "needs"),
    *("2 fields in an invariant", "3 fields in an invariant"),
)


def test_drawn_specs_say_all_that_can_be_said() -> None:
    said = {what for spec in specs() for what in said_by(spec)}
    both = {
        text.format(answer) if "{}" in text else f"{answer} {text}"
        for text in BOTH
        for answer in (True, False)
    }
    assert sorted({*SAID, *both} - said) == []


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"releases": ["1.0"], "backend": {"a": {"doc": 'A "b"\\\n'}}},
         'releases = ["1.0"]\n\n[backend.a]\ndoc = "A \\"b\\"\\\\\\n"\n'),
        ({"message": {"guard": "\x7f"}, "invariant": [{"id": "x", "fields": ["a", "b"]}]},
         '\n[message]\nguard = "\\u007f"\n\n[[invariant]]\nid = "x"\nfields = ["a", "b"]\n'),
        ({"layout": {"r1": {"frames": {"0": {"const": "", "unread": True}, "1": "a"}}}},
         '\n[layout.r1]\nframes = { 0 = { const = "", unread = true }, 1 = "a" }\n'),
        ({"layout": {"r1": {"keys": {"a b": "c"}}}}, '\n[layout.r1]\nkeys = { "a b" = "c" }\n'),
    ],
)  # fmt: skip
def test_data_is_written_as_toml(data: dict[str, object], text: str) -> None:
    assert document(data) == text
