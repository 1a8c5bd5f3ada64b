"""A spec that makes the emitter say everything that it can say.

Rules: every name of its own begins with :data:`PREFIX`, whatever is made of it; types are
those of the language's table, so that a new one is in it. Nobody speaks it, and no rule is run
on it.
"""

from __future__ import annotations

from dataclasses import replace

from pdwire_codegen.kinds import KINDS
from pdwire_codegen.model import (
    Backend,
    Condition,
    Derivation,
    Field,
    Frame,
    Invariant,
    InvariantKind,
    Key,
    Layout,
    Message,
    Recognise,
    Repeat,
    Spec,
)

__all__ = ["PREFIX", "probe"]

PREFIX = "probe"

_JSON = ("json:int", "json:str?", "json:bool", "json:object", "json:int[]", "json:int{}")
_LISTS = tuple(name for name, kind in KINDS.items() if kind.is_list)


def probe() -> Spec:
    """The spec."""
    backend = Backend(name="probe", doc="", releases=("1.0", "1.1"))
    return Spec(releases=("1.0", "1.1"), backends=(backend,), concepts={}, messages=_messages())


def _field(name: str, type_: str) -> Field:
    return Field(name=name, type=type_, unit="", concept="", doc="", min=0, max=9)


def _messages() -> tuple[Message, ...]:
    """A message per way of travelling; together they have every type."""
    base = Message(
        name="Probe",
        class_name="Probe",
        group="probe_group",
        module="probe",
        backends=("probe",),
        transport="zmq",
        directions=("prefill -> decode",),
        doc="",
        fields=(),
        layouts=(),
    )
    frames = replace(_frames(base), class_name="ProbeFrames", module="probe_frames")
    text = replace(_text(base), class_name="ProbeText", module="probe_text")
    return (
        frames,
        replace(text, transport="notification"),
        *(
            replace(
                _body(base, types),
                class_name=f"Probe{place}",
                module=f"probe_{place}",
                transport="http",
                method="PUT",
                path="/",
                body="query" if "dec" in types else "json",
                part="request",
            )
            for place, types in enumerate((_JSON, ("json:int{}",), ("dec", "flag", "text")))
        ),
    )


def _layouts(message: Message, full: Layout, bare: Layout) -> Message:
    """A message whose older layout has one field, so that the others are lost in it."""
    layouts = (
        replace(bare, id="probe_1", speakers={"probe": ("1.0",)}),
        replace(full, id="probe_2", speakers={"probe": ("1.1",)}),
    )
    return replace(message, layouts=layouts)


def _frames(message: Message) -> Message:
    """Every type as it is, as what may be nothing, and as a repetition."""
    plain = [_field(f"probe_a{place}", name) for place, name in enumerate(KINDS)]
    maybe = [
        replace(field, name=f"probe_b{place}", empty=None, absent=None, writes_empty=True)
        for place, field in enumerate(plain)
    ]
    lists = [
        replace(_field(f"probe_c{place}", name), absent=()) for place, name in enumerate(_LISTS)
    ]
    like = lists[0].name
    ones = Repeat(like=like, word=1)
    words = Repeat(like=like, word="a")
    repeats = [
        replace(_field("probe_d0", "u64[]"), absent=ones, empty=ones),
        replace(_field("probe_d1", "names"), absent=words, allowed=("a",)),
    ]
    flags = [replace(_field(f"probe_e{place}", "flag"), derived=True) for place in (0, 1)]
    port = replace(_field("probe_f", "dec"), min=1, max=65535)
    fields = (*plain, *maybe, *lists, *repeats, port, *flags)
    falsy: Condition = "falsy"
    rule = tuple((field.name, falsy) for field in (plain[0], maybe[0]))
    derivations = tuple(Derivation(field=flag.name, when=rule) for flag in flags)
    listed = [
        Frame(
            position=0,
            name=field.name,
            type=field.type,
            field=field.name,
            min=field.min,
            max=field.max,
            allowed=field.allowed,
            empty=field.empty,
            writes_empty=field.writes_empty,
            absent=field.absent,
        )
        for field in fields[:-1]
    ]
    nested = next(field for field in plain if field.type == "u64[][]")
    data = next(field for field in plain if field.type == "bytes")
    flat = [
        replace(frame, type=frame.type.removesuffix("[]"))
        for frame in listed
        if frame.type in ("u64[][]", "bin[][]")
    ]
    counted = [
        Frame(position=0, name="probe_n", type="u32", length_of=name)
        for name in (data.name, nested.name)
    ]
    tag = Frame(position=0, name="probe_tag", type="const", const="x")
    most = len(plain) + 1
    frames = _placed([listed[0], tag, *listed[1:], *counted, tag])
    full = Layout(
        id="",
        speakers={},
        counts=(most, len(frames) - 1, len(frames)),
        frames=frames,
        derivations=derivations,
        invariants=_invariants(fields),
    )
    few = _placed([listed[0], tag, *flat])
    bare = replace(full, counts=(len(few),), frames=few, invariants=())
    told = replace(message, guard="x", fields=fields, recognise=Recognise(frame=0, is_="decimal"))
    return _layouts(told, full, bare)


def _placed(frames: list[Frame]) -> tuple[Frame, ...]:
    return tuple(replace(frame, position=place) for place, frame in enumerate(frames))


def _invariants(fields: tuple[Field, ...]) -> tuple[Invariant, ...]:
    """Each kind, over plain fields and over those that may be nothing."""
    numbers = tuple(field.name for field in fields if field.type == "dec")
    flat = tuple(field.name for field in fields if field.type == "u64[]")
    nested = tuple(field.name for field in fields if field.type == "u64[][]")
    told: tuple[tuple[InvariantKind, tuple[str, ...]], ...] = (
        ("less", numbers[:2]),
        ("needs", numbers[:2]),
        ("same_length", flat),
        ("same_length", nested),
        ("same_count", nested),
    )
    return tuple(
        Invariant(id="probe", kind=kind, fields=names, doc="", optional=names[:1])
        for kind, names in told
    )


def _text(message: Message) -> Message:
    fields = (
        _field("probe_a", "dec"),
        replace(_field("probe_b", "flag"), absent=False),
        replace(_field("probe_c", "text"), absent=None),
    )
    text = "{probe_a}_x[_{probe_b}_{probe_c}]"
    full = Layout(id="", speakers={}, counts=(1,), text=text)
    return _layouts(replace(message, fields=fields), full, replace(full, text="{probe_a}"))


def _body(message: Message, types: tuple[str, ...]) -> Message:
    fields = tuple(
        replace(_field(f"probe_{place}", name), absent=None) for place, name in enumerate(types)
    )
    keys = tuple(
        Key(key=field.name, field=field.name, type=field.type, optional=place > 0, absent=None)
        for place, field in enumerate(fields)
    )
    if types == ("json:int{}",):
        keys = (replace(keys[0], key="*"),)
    full = Layout(id="", speakers={}, counts=(1,), keys=keys)
    return _layouts(replace(message, fields=fields), full, replace(full, keys=keys[:1]))
