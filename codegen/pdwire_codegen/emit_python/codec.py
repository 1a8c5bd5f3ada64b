"""One module per layout: two pure functions, ``decode`` and ``encode``.

Shape of a decoder: count, guard, unpack, one line per frame in order of position, then
what needs other fields (repeats, derived values, lengths), then the invariants. The
``try`` around it costs nothing for ``bytes`` frames; frames of another kind end in the
last ``except``, are made ``bytes`` and decoded again.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from pdwire_codegen.emit_python import expressions as ex
from pdwire_codegen.emit_python import lacking
from pdwire_codegen.emit_python.encoder import INNER, encoder
from pdwire_codegen.emit_python.fitting import alternatives
from pdwire_codegen.emit_python.http import http_codec
from pdwire_codegen.emit_python.invariants import check_function, ending
from pdwire_codegen.emit_python.names import message_package, speakers
from pdwire_codegen.emit_python.places import KNOWN, layout_line, number_of, place_line
from pdwire_codegen.emit_python.texts import text_codec
from pdwire_codegen.emit_python.types import shape_of
from pdwire_codegen.emit_python.writing import (
    Module,
    choice,
    condition,
    docstring,
    literal,
    spans,
)
from pdwire_codegen.model import REQUIRED, Field, Frame, Layout, Message, Repeat, Spec

__all__ = ["emit_codec"]

_BODY = " " * 8


def emit_codec(message: Message, layout: Layout, spec: Spec) -> str:
    """The text of one layout's module."""
    spoken = speakers(layout, spec)
    module = Module(f"Codec of {message.name}, layout {layout.id}: {spoken}.", message.source)
    package = message_package(message)
    module.need(f"{package}.message", "COUNTS", "Draft", message.class_name)
    if number_of(message) is not None:
        module.need(f"{package}.message", "STRANGERS")
    module.need("pdwire.codec", "seal", "unfit")
    module.need("pdwire.errors", "WireError")
    module.add('__all__ = ["decode", "encode"]', "", *layout_line(message, layout, spoken))
    checks = check_function(message, layout)
    if layout.text is not None:
        body = text_codec(message, layout, module)
    elif layout.keys:
        body = http_codec(message, layout, module)
    else:
        module.add(*_places(message, layout))
        body = [
            *_decoder(message, layout),
            "",
            "",
            *_encoder(message, layout),
        ]
    module.add("", "", *checks, *(["", ""] if checks else []), *body)
    module.need("pdwire.frames", *ex.names_in("\n".join(module.lines), KNOWN))
    return module.render()


def _places(message: Message, layout: Layout) -> list[str]:
    lines: list[str] = []
    for frame in layout.frames:
        lines += place_line(frame, f"_F{frame.position}")
        if small := ex.table(frame, message):
            lines.append(f"_T{frame.position} = {small}")
    return [*lines, *lacking.places(message, layout, _held(layout))]


def _held(layout: Layout) -> set[str]:
    return {frame.field for frame in layout.frames if frame.field is not None}


def _decoder(message: Message, layout: Layout) -> list[str]:
    name = message.class_name
    lines = [f"def decode(frames: Frames) -> {name}:"]
    lines += docstring(
        f"Frames of layout {layout.id} to a {name}.",
        "    ",
        rest=[layout.doc] if layout.doc else [],
    )
    lines += ["    try:", *_unpacking(message, layout), f"{_BODY}m = Draft()"]
    lines += _assignments(message, layout)
    return [*lines, *ending(message, layout)]


def _unpacking(message: Message, layout: Layout) -> list[str]:
    guard = 1 if message.guard is not None else 0
    counts = [count + guard for count in layout.counts]
    least, most = counts[0], counts[-1]
    names = ["guard"] * guard + [f"f{frame.position}" for frame in layout.frames]
    lines: list[str] = []
    if least == most:
        lines.append(f"{_BODY}if len(frames) != {most}:")
        unpack = names
        source = "frames"
    else:
        lines.append(f"{_BODY}n = len(frames)")
        lines.append(f"{_BODY}if n not in {{{', '.join(map(str, counts))}}}:")
        unpack, source = names[:least], f"frames[:{least}]"
    lines.append(f"{_BODY}    wrong_count(_L, frames)")
    lines += _targets(unpack, source)
    if guard:
        lines.append(f"{_BODY}if guard != {literal((message.guard or '').encode())}:")
        lines.append(f"{_BODY}    guarded(guard, _L)")
    return lines


def _targets(names: list[str], source: str) -> list[str]:
    if len(names) == 1:
        return [f"{_BODY}({names[0]},) = {source}"]
    one = f"{_BODY}{', '.join(names)} = {source}"
    if len(one) <= 100:
        return [one]
    return [f"{_BODY}(", *(f"{_BODY}    {name}," for name in names), f"{_BODY}) = {source}"]


def _assignments(message: Message, layout: Layout) -> list[str]:
    now: list[str] = []
    repeated: list[str] = []
    ruled: list[str] = []
    rules = {rule.field for rule in layout.derivations}
    for frame in layout.frames:
        if frame.const is not None:
            now += _const(frame, message, layout)
        elif frame.length_of is not None:
            ruled += _length(frame, message, layout)
        else:
            group = ruled if frame.field in rules else repeated if _repeats(frame) else now
            group += _assign(frame, message, layout)
    alone, more, derived = lacking.assignments(message, layout, _held(layout))
    return now + alone + repeated + more + ruled + derived


def _repeats(frame: Frame) -> bool:
    return isinstance(frame.empty, Repeat) or isinstance(frame.absent, Repeat)


def _const(frame: Frame, message: Message, layout: Layout) -> list[str]:
    value = literal((frame.const or "").encode())
    tells = message.recognise is not None and message.recognise.frame == frame.position
    check = "const" if tells else "fixed"
    source, there = _source(frame, message, layout)
    return [
        f"{_BODY}if {there}{source} != {value}:",
        f"{_BODY}    {check}({source}, {value}, _F{frame.position})",
    ]


def _source(frame: Frame, message: Message, layout: Layout) -> tuple[str, str]:
    """Where a frame that sets no field is read, and the test for its being there."""
    if frame.position < layout.counts[0]:
        return f"f{frame.position}", ""
    index = frame.position + (message.guard is not None)
    return f"frames[{index}]", f"n > {index} and "


def _length(frame: Frame, message: Message, layout: Layout) -> list[str]:
    """The bytes of the counted frame; of a field of bytes, which is it, those of the field."""
    counted = next(one for one in layout.frames if one.field == frame.length_of)
    source, there = _source(frame, message, layout)
    told = f"size_of({_source(counted, message, layout)[0]})"
    if _is_plain(counted):
        told = f"len(m.{counted.field})"
    return [
        f"{_BODY}if {there}{frame.type}({source}, _F{frame.position}) != {told}:",
        f'{_BODY}    says = f"{{{told}}} bytes of {frame.length_of}"',
        f'{_BODY}    broken(_L, "their number", says, {literal(frame.name)})',
    ]


def _is_plain(frame: Frame) -> bool:
    """Whether a frame's bytes are the very value of its field."""
    return frame.type == "bytes" and ex.is_natural(frame) and frame.absent is REQUIRED


def _assign(frame: Frame, message: Message, layout: Layout) -> list[str]:
    """``m.x = …`` of one frame, with what empty and missing mean."""
    assert frame.field is not None
    field = message.field_named(frame.field)
    guard = 1 if message.guard is not None else 0
    source, place = f"f{frame.position}", f"_F{frame.position}"
    value = ex.read(frame, message, source, place)
    rule = next((r for r in layout.derivations if r.field == frame.field), None)
    fallback = None
    if rule is not None:
        fallback = " ".join(ex.holds(rule, message, layout, "m", _held(layout)))
    lines: list[str] = []
    target = f"{_BODY}m.{frame.field} = "
    if frame.position + guard >= layout.counts[0] + guard:
        absent = fallback or ex.meaning(frame.absent, field, "m")
        index = frame.position + guard
        lines += [f"{_BODY}if n > {index}:", f"{_BODY}    {source} = frames[{index}]"]
        lines += choice(
            f"{_BODY}    m.{frame.field} = ", _with_empty(frame, message, value, fallback)
        )
        return [*lines, f"{_BODY}else:", f"{_BODY}    m.{frame.field} = {absent}"]
    return choice(target, _with_empty(frame, message, value, fallback))


def _with_empty(
    frame: Frame, message: Message, value: list[str], fallback: str | None
) -> list[str]:
    """The parts of the choice between a value and what the empty frame means."""
    field = message.field_named(frame.field or "")
    source = f"f{frame.position}"
    if fallback is not None:
        return [*value, f"if len({source})", f"else {fallback}"]
    if _may_lack(frame, field):
        return [*value, f'if {source} != b""', f"else {ex.meaning((), field, 'm')}"]
    if ex.is_natural(frame):
        return value
    return [*value, f"if len({source})", f"else {ex.meaning(frame.empty, field, 'm')}"]


def _may_lack(frame: Frame, field: Field) -> bool:
    """Whether an array is likely to be empty: state's, and what later releases added."""
    if frame.empty is not REQUIRED and frame.empty != ():
        return False
    nested = frame.type.endswith("[][]") and shape_of(frame.type) == "nested"
    return nested or (
        field.type == frame.type and field.absent == () and shape_of(frame.type) == "flat"
    )


def _encoder(message: Message, layout: Layout) -> list[str]:
    least = layout.frames[: layout.counts[0]]
    lines = _counted(least, message, layout, INNER)
    items = [] if message.guard is None else [literal(message.guard.encode())]
    items += [_item(frame, message, layout) for frame in least]
    lines += [
        *spans("frames = [", items, "]", INNER),
        *_tail(message, layout),
        *lacking.losses(message, layout, _held(layout)),
    ]
    brief = f"A {message.class_name} to frames of layout {layout.id}."
    return encoder(message, layout, brief=brief, body=lines, result="frames")


def _counted(frames: tuple[Frame, ...], message: Message, layout: Layout, indent: str) -> list[str]:
    """``f3 = …`` of each frame whose bytes another one counts."""
    told = {frame.length_of for frame in frames} - {None}
    lines: list[str] = []
    for frame in frames:
        if frame.field in told and not _is_plain(frame):
            parts = alternatives(_written(frame, message, layout))
            lines += choice(f"{indent}f{frame.position} = ", parts)
    return lines


def _written(frame: Frame, message: Message, layout: Layout) -> str:
    if any(rule.field == frame.field for rule in layout.derivations):
        frame = replace(frame, empty=REQUIRED)  # an empty frame leaves it to the rule
    return ex.write(frame, message, f"message.{frame.field}", f"_F{frame.position}")


def _item(frame: Frame, message: Message, layout: Layout) -> str:
    if frame.const is not None:
        return literal(frame.const.encode())
    if frame.length_of is not None:
        counted = next(one for one in layout.frames if one.field == frame.length_of)
        source = f"message.{counted.field}" if _is_plain(counted) else f"f{counted.position}"
        return f"put_{frame.type}(len({source}), _F{frame.position})"
    counts = any(other.length_of == frame.field for other in layout.frames)
    if counts and not _is_plain(frame):
        return f"f{frame.position}"
    return _written(frame, message, layout)


def _tail(message: Message, layout: Layout) -> list[str]:
    """Trailing frames: as many as the values need, rounded up to an allowed count."""
    lines: list[str] = []
    inner = f"{INNER}    "
    for least, most in pairwise(layout.counts):
        before, tests = _needed(message, layout, layout.frames[least:])
        if not tests:  # constants alone say nothing
            break
        step = layout.frames[least:most]
        items = [_item(frame, message, layout) for frame in step]
        if len(tests) == 1:
            items = [_ruled_out(frame, item) for frame, item in zip(step, items, strict=True)]
        lines += [*before, *condition(tests, "or", INNER), *_counted(step, message, layout, inner)]
        lines += spans("frames += [", items, "]", inner)
    return lines


def _ruled_out(frame: Frame, item: str) -> str:
    """What is written once the only test has found that the value is not what no frame means."""
    if frame.field is not None and frame.empty == frame.absent and item.startswith('b"" if '):
        return item.partition(" else ")[2]
    return item


def _needed(
    message: Message, layout: Layout, frames: tuple[Frame, ...]
) -> tuple[list[str], list[str]]:
    """Lines before, and tests of which one holds where the frames say more than none would."""
    rules = {rule.field: rule for rule in layout.derivations}
    before: list[str] = []
    tests: list[str] = []
    for frame in frames:
        if frame.field in rules:
            rule = ex.holds(rules[frame.field], message, layout, "message", _held(layout))
            before += choice(f"{INNER}rule_{frame.position} = ", rule)
            tests.append(f"message.{frame.field} is not rule_{frame.position}")
        elif frame.field is not None:
            tests.append(ex.differs(frame.absent, f"message.{frame.field}", "message"))
    return before, tests
