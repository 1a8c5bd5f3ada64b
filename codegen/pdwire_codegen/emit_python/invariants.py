"""``_check``: the rules across fields of one layout, for both directions."""

from __future__ import annotations

from pdwire_codegen.emit_python.expressions import cheapest_first, is_empty, is_filled
from pdwire_codegen.emit_python.message import may_be_none
from pdwire_codegen.emit_python.types import shape_of
from pdwire_codegen.emit_python.writing import WIDTH, condition, literal, spans
from pdwire_codegen.model import Invariant, Layout, Message

__all__ = ["check_function", "ending", "has_checks"]


def has_checks(message: Message, layout: Layout) -> bool:
    """Whether any invariant of the layout can be broken."""
    return any(_violated(invariant, message) for invariant in layout.invariants)


def check_function(message: Message, layout: Layout) -> list[str]:
    """The lines of ``_check``; none where there is nothing to check."""
    if not has_checks(message, layout):
        return []
    lines = [f"def _check(m: {message.class_name}) -> None:"]
    lines.append('    """Raise InvariantError where fields contradict each other."""')
    for invariant in layout.invariants:
        tests = cheapest_first(list(dict.fromkeys(_violated(invariant, message))))
        if not tests:
            continue
        alone = len(tests) == 1
        tests = [f"({test})" if " or " in test and not alone else test for test in tests]
        lines += condition(tests, "and", "    ")
        lines += _told([_shown(name, message) for name in invariant.fields])
        args = ["_L", literal(_says(invariant)), "came", literal(invariant.fields[-1])]
        lines += spans("broken(", args, ")", "        ")
    return lines


def _told(fields: list[str]) -> list[str]:
    """``came = f"…"``: what came, on one line, in brackets, or a field a line."""
    text = f"f{literal(', '.join(fields))}"
    one, inner = f"        came = {text}", f"            {text}"
    if len(one) <= WIDTH:
        return [one]
    pieces = [
        f"            f{literal(field)}" for field in [*(f"{f}, " for f in fields[:-1]), fields[-1]]
    ]
    return ["        came = (", *([inner] if len(inner) <= WIDTH else pieces), "        )"]


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
        return f"{{len({_listed(name, message)})}} {name}"
    how = "!r" if message.field_named(name).type == "bytes" else ""
    return f"{name} {{m.{name}{how}}}"


def _violated(invariant: Invariant, message: Message) -> list[str]:
    """The tests of which all hold where the invariant does not; none where it always does."""
    guards = [_filled(name, message) for name in invariant.fields if name in invariant.optional]
    tests = [guard for guard in guards if guard is not None]
    first, second = invariant.fields[0], invariant.fields[1]
    if invariant.kind == "needs":
        empty = _empty(second, message)
        if empty is None or second in invariant.optional:
            return []
        filled = _filled(first, message)
        return [empty] if filled is None else [filled, empty]
    if invariant.kind == "less":
        there = [n for n in (first, second) if may_be_none(message.field_named(n), message)]
        return [*tests, *(f"m.{name} is not None" for name in there), f"m.{first} >= m.{second}"]
    pairs = [_unequal(invariant, first, name, message) for name in invariant.fields[1:]]
    return [*tests, " or ".join(pairs)]


def _unequal(invariant: Invariant, first: str, second: str, message: Message) -> str:
    nested = message.field_named(first).type.endswith("[][]")
    if invariant.kind == "same_length" and nested:
        return f"not same_lengths({_listed(first, message)}, {_listed(second, message)})"
    return f"len({_listed(first, message)}) != len({_listed(second, message)})"


def _listed(name: str, message: Message) -> str:
    """A list, none for ``None``."""
    none = may_be_none(message.field_named(name), message)
    return f"items(m.{name})" if none else f"m.{name}"


def _empty(name: str, message: Message) -> str | None:
    field = message.field_named(name)
    return is_empty(field, message, f"m.{name}", none=may_be_none(field, message))


def _filled(name: str, message: Message) -> str | None:
    field = message.field_named(name)
    return is_filled(field, message, f"m.{name}", none=may_be_none(field, message))


def ending(message: Message, layout: Layout) -> list[str]:
    """The last lines of a decoder: seal the draft, check it, return it."""
    name = message.class_name
    if has_checks(message, layout):
        lines = [f"        done = seal(m, {name})", "        _check(done)"]
        return [*lines, *_RETRY, "    return done"]
    return [*_RETRY, f"    return seal(m, {name})"]


_RETRY = [
    "    except WireError:",
    "        raise",
    "    except Exception:  # noqa: BLE001  # frames that are not bytes: made so, and read again",
    "        return decode(plain(frames, _L))",
]
