"""One message of a drawn spec: its fields, layouts and rules, whatever carries it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from tests.codegen.strategies import fields as fd
from tests.codegen.strategies import words
from tests.codegen.strategies.fields import Drawn, drawn_fields
from tests.codegen.strategies.frames import Sign, field_of, frame_layouts, signs
from tests.codegen.strategies.meaning import with_absences, with_meanings
from tests.codegen.strategies.rules import conditions_of, derived_fields, invariants
from tests.codegen.strategies.texts import body_layouts, text_layouts
from tests.codegen.strategies.timeline import World, speeches

Table = dict[str, Any]

_TYPES = {
    "zmq": (*fd.INTEGERS, *fd.TEXTS, "flag", "bytes", *fd.FLAT, *fd.NESTED),
    "notification": ("dec", "dec", "flag", "text"),
    "json": (*fd.JSON, *fd.MAPPINGS),
    "query": ("dec", "flag", "text"),
}
_CARRIERS = (*["zmq"] * 5, *["notification"] * 2, *["json"] * 2, "query")
_DIRECTIONS = (
    "decode -> prefill",
    "prefill -> decode",
    ["decode -> bootstrap", "prefill -> bootstrap"],
)


@st.composite
def messages(draw: st.DrawFn, world: World, index: int) -> tuple[str, Table]:
    """A message file: its path below the protocol and its data."""
    carrier = draw(st.sampled_from(_CARRIERS))
    backends = tuple(draw(st.lists(st.sampled_from(sorted(world.since)), unique=True, min_size=1)))
    speech = draw(speeches(world, backends))
    fields, rules = draw(invariants(draw(_fields(carrier, world)), world.docs))
    fields = draw(with_meanings(fields, empties=carrier == "zmq"))
    derived = draw(derived_fields(fields, world.docs))
    number = _number(fields) if index == 0 else None  # two such messages look alike
    sign = draw(signs(index, number)) if carrier == "zmq" else None
    layouts = [
        {**told, **draw(_body(carrier, chosen, sign)), "notes": [f"Layout number {place}."]}
        for place, (told, chosen) in enumerate(
            zip(speech.layouts, _shares(draw, fields, len(speech.layouts), sign), strict=True)
        )
    ]
    draw(_own_rules(layouts, derived, fields))
    fields = draw(with_absences(fields, _missing(fields, layouts, set(derived))))
    _sendable(layouts[-1], {field.name: field for field in fields if field.name not in derived})
    data: Table = {
        "message": draw(_head(world, index, carrier, backends, sign)),
        "absent": speech.absent,
        "field": {field.name: field.table for field in fields},
        "derived": derived,
        "layout": {f"r{place + 1}": layout for place, layout in enumerate(layouts)},
        "invariant": draw(_held(rules, layouts, set(derived))),
    }
    group = draw(st.sampled_from([*world.since, "common"]))
    stem = draw(st.sampled_from(["kv", "transfer_info", "r", "codec", "frames"]))
    return f"{group}/{stem}_{index}.toml", data


@st.composite
def _fields(draw: st.DrawFn, carrier: str, world: World) -> tuple[Drawn, ...]:
    names = draw(st.lists(words.field_names, unique=True, min_size=1, max_size=7))
    types = _TYPES[carrier]
    if carrier == "json" and draw(st.integers(0, 4)) == 0:
        names, types = names[:1], fd.MAPPINGS  # such a field may be the whole body
    fields = [draw(drawn_fields(name, types, world.docs)) for name in names]
    if carrier == "notification":
        free = [field.name for field in fields if field.type == "text"]
        others = ("dec", "flag")
        fields = [
            draw(drawn_fields(field.name, others, world.docs)) if field.name in free[1:] else field
            for field in fields
        ]
    if carrier == "zmq":
        fields += draw(_family(set(names), world))
    flags = [field.name for field in fields if field.type == "flag" and carrier == "zmq"]
    twin = draw(st.sampled_from([None, *flags]))
    return tuple(replace(field, derived=field.name == twin) for field in fields)


@st.composite
def _family(draw: st.DrawFn, taken: set[str], world: World) -> list[Drawn]:
    """Now and then a list, a scalar, and a list of what may be that scalar throughout."""
    types = draw(
        st.sampled_from([None, None, ("dec", "u64[]"), ("u32", "u64[]"), ("bytes", "bin[]")])
    )
    names = ("like", "one", "each")
    if types is None or taken & set(names):
        return []
    family = zip(names, ("u64[]", *types), strict=True)
    return [draw(drawn_fields(name, (kind,), world.docs)) for name, kind in family]


def _number(fields: tuple[Drawn, ...]) -> str | None:
    """A decimal field that may tell the message."""
    plain = (field for field in fields if field.type == "dec")
    return next((field.name for field in plain if field.low >= 0), None)


def _shares(
    draw: st.DrawFn, fields: tuple[Drawn, ...], count: int, sign: Sign | None
) -> list[list[Drawn]]:
    """Which fields each layout carries: some, and each field in one at least."""
    homes = [draw(st.integers(0, count - 1)) for _ in fields]
    number = sign.number if sign is not None else None
    shares = [
        [
            field
            for field, home in zip(fields, homes, strict=True)
            if home == place or field.name == number or draw(st.booleans())
        ]
        for place in range(count)
    ]
    return [share or [fields[0]] for share in shares]


def _body(carrier: str, chosen: list[Drawn], sign: Sign | None) -> st.SearchStrategy[Table]:
    if sign is not None:
        return frame_layouts(chosen, sign)
    return text_layouts(chosen) if carrier == "notification" else body_layouts(chosen)


def carried(layout: Table) -> list[str]:
    """The fields that a layout carries."""
    if "text" in layout:
        return [part.partition("}")[0] for part in layout["text"].split("{")[1:]]
    entries = [*layout.get("frames", {}).values(), *layout.get("keys", {}).values()]
    return [name for entry in entries if (name := field_of(entry)) is not None]


def _optional(layout: Table) -> list[str]:
    """The fields that a message of the layout may come without."""
    if "text" in layout:
        return carried({"text": layout["text"].partition("[")[2]})
    frames = list(layout.get("frames", {}).values())
    least = layout.get("counts", [len(frames)])[0]
    found = [field_of(entry) for entry in frames[least:]]
    found += [
        field_of(entry)
        for entry in layout.get("keys", {}).values()
        if isinstance(entry, dict) and entry.get("optional")
    ]
    return [name for name in found if name is not None]


def _missing(fields: tuple[Drawn, ...], layouts: list[Table], derived: set[str]) -> set[str]:
    """The fields of which somebody has to say what their absence means."""
    lacking = {
        field.name for layout in layouts for field in fields if field.name not in carried(layout)
    }
    return (lacking | {name for layout in layouts for name in _optional(layout)}) - derived


def _sendable(newest: Table, fields: dict[str, Drawn]) -> None:
    """Frames that are always there in the newest layout can say what their fields default to."""
    frames = newest.get("frames", {})
    for place in [*frames][: newest.get("counts", [len(frames)])[0]]:
        entry = frames[place]
        field = fields.get(field_of(entry) or "")
        default = None if field is None else field.table.get("absent")
        if field is None or default is None or isinstance(default, dict):
            continue
        own = entry if isinstance(entry, dict) else {"field": entry}
        empty = own.get("empty", field.table.get("empty"))
        if not isinstance(empty, dict) and not _says(field, own, default, empty):
            # A number that its frame has no room for gets the field's own range back.
            narrow = {"type", "min", "max"} if field.kind.is_int and default != -1 else set[str]()
            wider = {key: value for key, value in own.items() if key not in narrow}
            frames[place] = wider if narrow and default != "none" else {**own, "empty": default}


def _says(field: Drawn, entry: Table, default: object, empty: object) -> bool:
    if type(default) is type(empty) and default == empty:
        return True
    if isinstance(default, str) and default in {"none", ""}:
        return default == "" and field.kind.value == "bytes" and empty is None
    if field.kind.is_int and isinstance(default, int):
        low, high = entry.get("min", field.low), entry.get("max", field.high)
        return bool(low <= default <= high) and (default == -1 or "type" not in entry)
    return default != [] or empty is None


@st.composite
def _own_rules(
    draw: st.DrawFn, layouts: list[Table], derived: dict[str, Table], fields: tuple[Drawn, ...]
) -> None:
    """Layouts get a rule of their own for a derived field, now and then."""
    for layout in layouts:
        own = {
            name: conditions
            for name in derived
            if draw(st.integers(0, 0 if name in carried(layout) else 3)) == 0
            and (conditions := draw(conditions_of(fields)))
        }
        if own:
            layout["derived"] = own


@st.composite
def _held(
    draw: st.DrawFn, rules: list[Table], layouts: list[Table], derived: set[str]
) -> list[Table]:
    """The invariants that some layout has all fields of; some for those alone."""
    found: list[Table] = []
    for rule in rules:
        having = [
            f"r{place + 1}"
            for place, layout in enumerate(layouts)
            if set(rule["fields"]) <= {*carried(layout), *derived}
        ]
        if having:
            named = draw(st.none() | st.lists(st.sampled_from(having), unique=True, min_size=1))
            found.append(rule if named is None else {**rule, "layouts": named})
    return found


@st.composite
def _head(
    draw: st.DrawFn,
    world: World,
    index: int,
    carrier: str,
    backends: tuple[str, ...],
    sign: Sign | None,
) -> Table:
    """``[message]``."""
    head: Table = {
        "name": draw(st.sampled_from([f"STAGING_{index}", f"KVInfo{index}", f"m{index}"])),
        "backends": list(backends),
        "direction": draw(st.sampled_from(_DIRECTIONS)),
        "doc": draw(world.docs),
        "notes": draw(st.lists(world.docs, max_size=2)),
    }
    if draw(st.booleans()):
        head["class"] = draw(st.sampled_from([f"Info{index}", f"lower_{index}", f"A{index}"]))
    if draw(st.booleans()):
        head["aliases"] = [f"Alias{index}"]
    if carrier == "notification":
        head["transport"] = "notification"
    if carrier in ("json", "query"):
        head |= {"transport": "http", "method": "PUT", "path": "/route", "body": carrier}
        head["part"] = "request"
    if sign is not None:
        head["recognise"] = sign.table
        head |= {"guard": sign.guard} if sign.guard is not None else {}
    return head
