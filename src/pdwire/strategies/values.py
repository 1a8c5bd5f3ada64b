"""Values of whole messages, such that the layout carries them and every rule holds.

Rules: a field that must fit another is drawn after it, in a range or size that fits; so
is a field that another needs. Nothing is drawn and thrown away. What a missing or empty
frame means, and what a derived field is, is asked of the second reading, which is the one
home of those rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from pdwire.reading.rules import derived, is_empty, meant
from pdwire.reading.spec import Given, Invariant, Meaning, Repeat, Slot, Value
from pdwire.reading.types import is_nested
from pdwire.strategies.scalars import array, filled, integers
from pdwire.strategies.subjects import Subject

__all__ = ["draw_values", "is_nothing", "resized"]

Values = dict[str, Any]
_SELDOM: Final = st.integers(0, 3)
_OPTIONAL_ITEMS: Final = st.booleans()


@cache
def _filled(kind: str, low: int | None, high: int | None, allowed: tuple[str, ...]) -> Any:  # noqa: ANN401 - a strategy of whatever the type holds
    return filled(
        Slot(position=0, name="", kind="field", type=kind, min=low, max=high, allowed=allowed)
    )


def _strategy(slot: Slot) -> SearchStrategy[Any]:
    """One strategy per type, range and words, not per frame: slots hold lists, so no key."""
    found: SearchStrategy[Any] = _filled(slot.type, slot.min, slot.max, slot.allowed)
    return found


@dataclass(slots=True)
class Drawing:
    """One message's values while they are drawn."""

    subject: Subject
    draw: DrawFn
    omitted: frozenset[str]
    values: Values = field(default_factory=dict)
    repeats: dict[str, Repeat] = field(default_factory=dict)

    def run(self) -> Values:
        """Every field of the message."""
        for declared in self.subject.message.fields:
            name = declared.name
            if name not in self.subject.slots or name in self.omitted:
                self._lacking(name)
            elif name not in self.subject.followers:
                self.values[name] = self._one(self.subject.slots[name])
        for rule in self.subject.layout.invariants:
            self._satisfy(rule)
        for name, repeat in self.repeats.items():
            self._mean(name, repeat)
        for derivation in self.subject.layout.derivations:
            if derivation.field not in self.values:
                self.values[derivation.field] = derived(derivation, self.values)
        order = [each.name for each in self.subject.message.fields]
        return {name: self.values[name] for name in order}

    def _lacking(self, name: str) -> None:
        """A field that is not said: what that means, or later, once others are known."""
        slot = self.subject.slots.get(name)
        declared = self.subject.message.field(name)
        lack = slot.absent if slot is not None else declared.absent if declared else None
        if name not in self.subject.ruled or slot is not None:
            self._means(name, lack)

    def _means(self, name: str, meaning: Meaning | None) -> None:
        if isinstance(meaning, Given):
            self.values[name] = meaning.value
        elif isinstance(meaning, Repeat):
            self.repeats[name] = meaning

    def _mean(self, name: str, repeat: Repeat) -> None:
        given = meant(repeat, self.values)
        self.values[name] = [] if given is None else given.value

    def _one(self, slot: Slot) -> Any:  # noqa: ANN401 - whatever the type holds
        """A value: now and then what an empty frame means, and most often a filled one."""
        ruled = slot.field in self.subject.ruled
        if isinstance(slot.empty, Given) and not ruled and self.draw(_SELDOM) == 0:
            return slot.empty.value
        return self._filled(slot)

    def _filled(self, slot: Slot) -> Any:  # noqa: ANN401 - as above
        return self._shaped(slot, self.draw(_strategy(slot)))

    def _shaped(self, slot: Slot, value: Any) -> Any:  # noqa: ANN401 - as above
        """A flat frame's items as the one component that they are of a nested field."""
        declared = self.subject.message.field(slot.field or "")
        flat = declared is not None and is_nested(declared.type) and not is_nested(slot.type)
        return [value] if flat else value

    def _satisfy(self, rule: Invariant) -> None:
        if rule.kind == "needs":
            first, second = rule.fields
            if not is_empty(self.values[first]) and is_empty(self.values[second]):
                self.values[second] = self._filled(self.subject.slots[second])
        elif rule.kind == "less":
            self._below(*rule.fields)
        else:
            for name in rule.fields[1:]:
                if name not in self.values and name not in self.repeats:
                    self.values[name] = self._alike(rule, name, self.values[rule.fields[0]])

    def _below(self, first: str, second: str) -> None:
        """A number below another, which is raised where there is no room below it."""
        if first in self.values:
            return  # left out
        low, bound = self.subject.slots[first].min, self.values[second]
        if low is None or bound is None:
            self.values[first] = self._one(self.subject.slots[first])
            return
        self.values[second] = bound = max(bound, low + 1)
        self.values[first] = self._under(self.subject.slots[first], low, bound - 1)

    def _under(self, slot: Slot, low: int, high: int) -> Any:  # noqa: ANN401 - as above
        lack = slot.empty.value if isinstance(slot.empty, Given) else low - 1
        if isinstance(lack, int) and low <= lack <= high and self.draw(_SELDOM) == 0:
            return lack
        return self.draw(integers(low, min(high, slot.max if slot.max is not None else high)))

    def _alike(self, rule: Invariant, name: str, like: list[Any]) -> list[Any]:
        """A list of one length, or of one shape, with another."""
        slot = self.subject.slots[name]
        if not like or (name in rule.optional and self.draw(_OPTIONAL_ITEMS)):
            return []
        if isinstance(slot.empty, Repeat) and self.draw(_SELDOM) == 0:
            given = meant(slot.empty, self.values)
            if given is not None:
                return list(given.value) if isinstance(given.value, list) else []
        declared = self.subject.message.field(name)
        if declared is None or not is_nested(declared.type):
            return self.items(slot, len(like))
        if rule.kind == "same_length":
            return [self.items(slot, len(part)) for part in like]
        return [self.items(slot, None) for _ in like]

    def items(self, slot: Slot, size: int | None) -> list[Any]:
        """Items of an array: exactly ``size``, or at least one."""
        kind = slot.type.split("[")[0]
        if kind == "names":
            words = st.sampled_from(slot.allowed)
            block = self.draw(st.lists(words, min_size=1, max_size=min(size or 1, 3)))
            return (block * ((size or 1) // len(block) + 1))[: size or 1]
        if kind == "bin":
            one = st.binary(max_size=8)
            return self.draw(
                st.lists(one, min_size=size or 0, max_size=2 if size is None else size)
            )
        return self.draw(array(kind, size, least=1))


def draw_values(draw: DrawFn, subject: Subject) -> Values:
    """Values of every field of the message, such that the layout carries them all."""
    omitted = draw(_omission(subject.omissions))
    return Drawing(subject, draw, omitted).run()


@cache
def _omission(choices: tuple[frozenset[str], ...]) -> SearchStrategy[frozenset[str]]:
    return st.sampled_from(choices)


def is_nothing(meaning: Meaning, values: Mapping[str, Value], value: Value) -> bool:
    """Whether a value is what an empty or a missing frame means."""
    given = meant(meaning, values)
    if given is None:
        return False
    alike = isinstance(given.value, bool) == isinstance(value, bool)
    return alike and given.value == value


def resized(draw: DrawFn, subject: Subject, name: str, size: int) -> list[Any]:
    """A list of exactly ``size`` items for a field; components, where it is nested."""
    slot = subject.slots[name]
    drawing = Drawing(subject, draw, frozenset())
    if is_nested(slot.type):
        return [drawing.items(slot, 1) for _ in range(size)]
    return drawing.items(slot, size)
