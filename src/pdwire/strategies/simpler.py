"""Values made simpler for as long as they show a fault: for samples that nobody drew.

Rules:

* What a fault needs need not grow with the value: ``int(float(x))`` is wrong at 2^53+1, right
  at 2^62, wrong at 2^63-1. So numbers are first tried around every power of two from below,
  and only then is the range halved, between the last right one and the first wrong one.
* Lists, texts and bytes lose items first; then each item of a list is made simpler.
* What comes back has shown the fault itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final, TypeVar

from pdwire.reading import Reading, ReadingError, packaged_spec
from pdwire.strategies.drawn import Example
from pdwire.strategies.spellings import canonical
from pdwire.strategies.subjects import Subject
from pdwire.strategies.sweeps import settled, simplest

__all__ = ["simpler", "simpler_example"]

Shows = Callable[[Any], bool]
_Sized = TypeVar("_Sized", str, bytes, list[Any])
_BITS: Final = 64


def simpler(value: Any, shows: Shows) -> Any:  # noqa: ANN401 - whatever a field holds
    """The simplest value near ``value`` that shows the fault.

    Args:
        value: shows it.
        shows: whether another does; asked some hundred times at most for a number.
    """
    match value:
        case bool():
            return value and not shows(not value)
        case int():
            return _number(value, shows)
        case str():
            return _shorter(value, shows)
        case bytes():
            return _shorter(value, shows)
        case list():
            return _items(value, shows)
    return value


def _number(value: int, shows: Shows) -> int:
    sign = -1 if value < 0 else 1
    right, wrong = -1, abs(value)
    for size in _sizes(abs(value)):
        if shows(sign * size):
            wrong = size
            break
        right = size
    return sign * _first(right, wrong, lambda size: shows(sign * size))


def _sizes(below: int) -> Iterator[int]:
    """0, 1, 2, 3, 4, 5, 7, 8, 9, 15 …: around each power of two."""
    near = {2**bit + more for bit in range(_BITS + 1) for more in (-1, 0, 1)}
    return (size for size in sorted(near) if size < below)


def _first(right: int, wrong: int, shows: Callable[[int], bool]) -> int:
    """One that shows the fault, next to one that does not."""
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if shows(middle):
            wrong = middle
        else:
            right = middle
    return wrong


def _shorter(value: _Sized, shows: Shows) -> _Sized:
    """The shortest beginning that halving finds."""
    return value[: _first(-1, len(value), lambda size: shows(value[:size]))]


def _items(value: list[Any], shows: Shows) -> list[Any]:
    made = list(_shorter(value, shows))
    for at in range(len(made) - 1, -1, -1):
        without = [*made[:at], *made[at + 1 :]]
        if shows(without):
            made = without
    for at in range(len(made)):
        others = made[:at], made[at + 1 :]
        made[at] = simpler(made[at], lambda item, o=others: shows([*o[0], item, *o[1]]))  # type: ignore[misc]
    return made


def simpler_example(
    subject: Subject, values: Mapping[str, Any], shows: Callable[[Example], bool]
) -> Example | None:
    """The simplest message of the layout, but for one field, that shows a fault.

    Where no field is enough alone, the same values with every field as simple as it can be.

    Args:
        subject: the layout.
        values: show the fault.
        shows: whether an example does; what it raises ends the search.

    Returns:
        ``None`` where nothing that was tried shows the fault.
    """
    base = simplest(subject)
    if shows(base):
        return base
    odd = [name for name in subject.slots if values[name] != base.values[name]]
    for name in odd:
        found = _of_field(subject, {**base.values, name: values[name]}, name, shows)
        if found is not None:
            return found
    last: Example | None = None
    for name in odd:
        told = values if last is None else last.values
        last = _of_field(subject, told, name, shows) or last
    return last


def _of_field(
    subject: Subject, values: Mapping[str, Any], name: str, shows: Callable[[Example], bool]
) -> Example | None:
    shown: list[Example] = []

    def one(tried: Any) -> bool:  # noqa: ANN401 - whatever the field holds
        example = _with(subject, {**values, name: tried}, name)
        if example is None or not shows(example):
            return False
        shown.append(example)
        return True

    if not one(values[name]):
        return None
    simpler(values[name], one)
    return shown[-1]


def _with(subject: Subject, told: dict[str, Any], name: str) -> Example | None:
    """The values, the others made to fit ``name``'s; ``None`` if that cannot be."""
    values = settled(subject, told, name)
    if values is None:
        return None
    try:
        frames = canonical(subject, values)
        if _reading().decode(subject.message, subject.layout.id, frames) != values:
            return None
    except ReadingError:
        return None
    return Example(subject=subject, values=values, spelled=frames, canonical=frames)


@cache
def _reading() -> Reading:
    """It says what a layout carries."""
    return Reading(packaged_spec())
