"""Rules across fields: repeats, derived values, invariants.

Rules: everything here is a pure function of decoded values; a field that could not be
read is missing from them, and a rule that needs it says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pdwire.reading.errors import shorten_value
from pdwire.reading.spec import Derivation, Given, Invariant, Meaning, Repeat, Value

Values = Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """An invariant that does not hold, in words."""

    invariant: Invariant
    expected: str
    came: str


def repeated(repeat: Repeat, values: Values) -> Value:
    """One value per element of ``repeat.like``, which in a list of lists is a component.

    ``KeyError`` while that is not known.
    """
    like = values[repeat.like]
    word = repeat.word if repeat.from_field is None else values[repeat.from_field]
    return [word] * len(like) if isinstance(like, list) else []


def meant(meaning: Meaning, values: Values) -> Given | None:
    """A meaning with its repeat filled in; ``None`` where there is none or it is not known."""
    if isinstance(meaning, Repeat):
        needed = {meaning.like, meaning.from_field or meaning.like}
        return Given(value=repeated(meaning, values)) if needed <= values.keys() else None
    return meaning if isinstance(meaning, Given) else None


def is_empty(value: Value) -> bool:
    """No bytes, no elements, ``None``, or negative."""
    if isinstance(value, bool) or value is None:
        return value is None
    return value < 0 if isinstance(value, int) else not value


def _holds(value: Value, condition: str) -> bool:
    match condition:
        case "empty":
            return value is None or (not isinstance(value, int) and not value)
        case "none":
            return value is None
        case "negative":
            return isinstance(value, int) and not isinstance(value, bool) and value < 0
        case "falsy":
            return value is None or (isinstance(value, int) and value == 0)
        case _:
            raise ValueError(f"no condition {condition!r}")


def derived(derivation: Derivation, values: Values) -> bool | None:
    """The derived value, or ``None`` while a field that it needs is not known."""
    if any(name not in values for name, _ in derivation.when):
        return None
    return all(_holds(values[name], condition) for name, condition in derivation.when)


def broken(invariant: Invariant, values: Values) -> Broken | None:
    """What is wrong, or ``None`` when the invariant holds or a field of it is not known."""
    if any(name not in values for name in invariant.fields):
        return None
    if any(is_empty(values[name]) for name in invariant.optional):
        return None
    told = [(name, values[name]) for name in invariant.fields]
    match invariant.kind:
        case "same_length":
            return _all_equal(invariant, [(name, _shape(value)) for name, value in told], "lengths")
        case "same_count":
            return _all_equal(invariant, [(name, _length(value)) for name, value in told], "counts")
        case "less":
            return _less(invariant, told[0], told[1])
        case "needs":
            return _needs(invariant, told[0], told[1])
        case _:
            raise ValueError(f"no invariant {invariant.kind!r}")


def _length(value: Value) -> int:
    return len(value) if isinstance(value, list | bytes | str) else 0


def _shape(value: Value) -> int | tuple[int, ...]:
    """The length; of a list of lists, the length of each."""
    if isinstance(value, list) and value and all(isinstance(each, list) for each in value):
        return tuple(_length(each) for each in value)
    return _length(value)


def _all_equal(
    invariant: Invariant, sizes: list[tuple[str, int | tuple[int, ...]]], what: str
) -> Broken | None:
    if len({size for _, size in sizes}) <= 1:
        return None
    names = ", ".join(name for name, _ in sizes)
    came = ", ".join(f"{name} {_shown(size)}" for name, size in sizes)
    return Broken(invariant=invariant, expected=f"equal {what} of {names}", came=came)


def _shown(size: int | tuple[int, ...]) -> str:
    if isinstance(size, int):
        return str(size)
    first = ", ".join(str(each) for each in size[:4])
    return f"[{first}{', …' if len(size) > 4 else ''}]"


def _less(invariant: Invariant, one: tuple[str, Value], other: tuple[str, Value]) -> Broken | None:
    if not isinstance(one[1], int) or not isinstance(other[1], int) or one[1] < other[1]:
        return None
    return Broken(
        invariant=invariant,
        expected=f"{one[0]} below {other[0]}",
        came=f"{shorten_value(one[1])} and {shorten_value(other[1])}",
    )


def _needs(invariant: Invariant, one: tuple[str, Value], other: tuple[str, Value]) -> Broken | None:
    if is_empty(one[1]) or not is_empty(other[1]):
        return None
    return Broken(
        invariant=invariant,
        expected=f"{other[0]} where there is {one[0]}",
        came=f"{one[0]} without {other[0]}",
    )
