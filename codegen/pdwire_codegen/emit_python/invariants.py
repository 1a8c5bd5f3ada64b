"""``_check``: the rules across fields of one layout, for both directions."""

from __future__ import annotations

from pdwire_codegen.emit_python.expressions import cheapest_first, is_empty, is_filled
from pdwire_codegen.emit_python.message import may_be_none
from pdwire_codegen.emit_python.types import shape_of
from pdwire_codegen.emit_python.writing import WIDTH, condition, literal, spans
from pdwire_codegen.model import Invariant, Layout, Message

__all__ = ["check_function", "ending"]


def check_function(message: Message, layout: Layout) -> list[str]:
    """The lines of ``_check``; none where the layout has no invariants."""
    if not layout.invariants:
        return []
    lines = [f"def _check(m: {message.class_name}) -> None:"]
    lines.append('    """Raise InvariantError where fields contradict each other."""')
    for invariant in layout.invariants:
        tests = cheapest_first(_violated(invariant, message))
        lines += condition(tests, "and", "    ")
        says = ", ".join(_shown(name, message) for name in invariant.fields)
        lines += _told(f"f{literal(says)}")
        args = ["_L", literal(_says(invariant)), "came", literal(invariant.fields[-1])]
        lines += spans("broken(", args, ")", "        ")
    return lines


def _told(text: str) -> list[str]:
    one = f"        came = {text}"
    return [one] if len(one) <= WIDTH else ["        came = (", f"            {text}", "        )"]


def _says(invariant: Invariant) -> str:
    """What an error says was expected."""
    first, second = invariant.fields[0], invariant.fields[1]
    if invariant.kind == "needs":
        return f"{second} where there is {first}"
    if invariant.kind == "less":
        return f"{first} below {second}"
    return f"as many {second} as {first}"


def _shown(name: str, message: Message) -> str:
    shape = shape_of(message.field_named(name).type)
    if shape in {"flat", "nested"}:
        return f"{{len(m.{name})}} {name}"
    return f"{name} {{m.{name}}}"


def _violated(invariant: Invariant, message: Message) -> list[str]:
    first, second = invariant.fields[0], invariant.fields[1]
    if invariant.kind == "needs":
        return [_filled(first, message), _empty(second, message)]
    guards = [_filled(name, message) for name in invariant.fields if name in invariant.optional]
    if invariant.kind == "less":
        nullable = [n for n in (first, second) if may_be_none(message.field_named(n), message)]
        guards = [f"m.{name} is not None" for name in nullable]
        test = f"m.{first} >= m.{second}"
    elif invariant.kind == "same_length" and _nested(first, message) and _nested(second, message):
        test = f"not same_lengths(m.{first}, m.{second})"
    else:
        test = f"len(m.{first}) != len(m.{second})"
    return [*guards, test]


def _nested(name: str, message: Message) -> bool:
    return message.field_named(name).type.endswith("[][]")


def _empty(name: str, message: Message) -> str:
    field = message.field_named(name)
    return is_empty(field, f"m.{name}", none=may_be_none(field, message))


def _filled(name: str, message: Message) -> str:
    field = message.field_named(name)
    return is_filled(field, f"m.{name}", none=may_be_none(field, message))


def ending(message: Message, layout: Layout) -> list[str]:
    """The last lines of a decoder: seal the draft, check it, return it."""
    name = message.class_name
    if layout.invariants:
        lines = [f"        done = seal(m, {name})", "        _check(done)"]
        return [*lines, *_RETRY, "    return done"]
    return [*_RETRY, f"    return seal(m, {name})"]


_RETRY = [
    "    except WireError:",
    "        raise",
    "    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again",
    "        return decode(plain(frames, _L))",
]
