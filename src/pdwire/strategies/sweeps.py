"""Without drawing: every field's edges, and every frame's listed faults, one at a time.

Rules: each is the simplest message of the layout with one field changed, or one frame
spoiled; what a rule across fields asks of the others is put right. So a fault that one
value is enough to show is found at once, and is as small as it can be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from hypothesis import Phase, Verbosity, find, settings

from pdwire.reading.rules import broken, derived, is_empty, meant
from pdwire.reading.spec import Given, Invariant, Repeat, Slot
from pdwire.reading.texts import parts
from pdwire.reading.types import is_nested
from pdwire.strategies.bad_values import listed_bad_values
from pdwire.strategies.drawn import Example, examples_of
from pdwire.strategies.faults import Faulty, breakable, spoiled_frame
from pdwire.strategies.scalars import listed
from pdwire.strategies.spellings import canonical
from pdwire.strategies.subjects import Subject

__all__ = ["edge_examples", "listed_faults", "settled", "simplest"]

Values = dict[str, Any]
_FIRST: Final = settings(
    max_examples=10,
    database=None,
    deadline=None,
    derandomize=True,
    phases=(Phase.generate, Phase.shrink),
    verbosity=Verbosity.quiet,
)


_known: dict[str, Example] = {}


def simplest(subject: Subject) -> Example:
    """The message that everything shrinks to."""
    if subject.name not in _known:
        _known[subject.name] = find(examples_of(subject), lambda _: True, settings=_FIRST)
    return _known[subject.name]


def edge_examples(subject: Subject) -> Iterator[Example]:
    """The simplest message with one field at each of its listed values."""
    base = simplest(subject)
    yield base
    for name, slot in subject.slots.items():
        for value in _values(subject, slot):
            changed = settled(subject, {**base.values, name: value}, name)
            if changed is not None:
                frames = canonical(subject, changed)
                yield Example(subject=subject, values=changed, spelled=frames, canonical=frames)


def _values(subject: Subject, slot: Slot) -> list[Any]:
    declared = subject.message.field(slot.field or "")
    flat = declared is not None and is_nested(declared.type) and not is_nested(slot.type)
    filled = [[value] if flat else value for value in listed(slot)]
    return ([slot.empty.value] if isinstance(slot.empty, Given) else []) + filled


def settled(subject: Subject, values: Values, name: str) -> Values | None:
    """The values with the others made to fit ``name``'s; ``None`` where that cannot be."""
    _fill_tail(subject, values, name)
    for rule in subject.layout.invariants:
        _fit(subject, values, rule, name)
    needs = [rule for rule in subject.layout.invariants if rule.kind == "needs"]
    for rule in needs * len(needs):  # what one asks for may ask for more
        _fit(subject, values, rule, name)
    for other in subject.message.fields:
        if other.name not in subject.slots and isinstance(other.absent, Repeat):
            given = meant(other.absent, values)
            values[other.name] = [] if given is None else given.value
    for derivation in subject.layout.derivations:
        if derivation.field not in subject.slots:
            values[derivation.field] = derived(derivation, values)
    told = _said(subject, values)
    holds = all(broken(rule, values) is None for rule in subject.layout.invariants)
    return values if told and holds else None


def _fill_tail(subject: Subject, values: Values, name: str) -> None:
    """Pieces of a text's tail are said together or not at all."""
    tail = [part.field for part in parts(subject.layout.text or "") if part.tail and part.field]
    if name in tail and values[name] is not None:
        for other in tail:
            if values[other] is None:
                values[other] = listed(subject.slots[other])[0]


def _said(subject: Subject, values: Values) -> bool:
    """Whether frames that may be missing are: all behind one that is not there must be."""
    lacking = [slot.field for slot in subject.layout.frames if slot.field is not None]
    gone = [values[name] is None and not _empties(subject, name) for name in lacking]
    return gone == sorted(gone)


def _empties(subject: Subject, name: str) -> bool:
    return isinstance(subject.slots[name].empty, Given)


def _fit(subject: Subject, values: Values, rule: Invariant, name: str) -> None:
    first, *others = rule.fields
    if rule.kind == "less":
        _order(subject, values, first, others[0], name)
    elif rule.kind == "needs":
        if not is_empty(values[first]) and is_empty(values[others[0]]):
            values[others[0]] = listed(subject.slots[others[0]])[0]
    elif name in rule.fields and values[name] != []:
        for other in {first, *others} - {name}:
            if other not in rule.optional or values[other] != []:
                values[other] = _as_many(subject.slots[other], values[name])


def _order(subject: Subject, values: Values, first: str, second: str, name: str) -> None:
    one, other = values[first], values[second]
    if one is None or other is None:
        values[first] = values[first] if name == first else None
        low = subject.slots[first].min or 0
        if name in {first, second} and values[name] is not None:
            values[first], values[second] = (one, one + 1) if name == first else (low, other)
    elif one >= other and name == first:
        values[second] = min(one + 1, subject.slots[second].max or one + 1)
    elif one >= other:
        values[first] = subject.slots[first].min or 0


def _as_many(slot: Slot, like: list[Any]) -> list[Any]:
    if slot.type == "names":
        return [slot.allowed[0]] * len(like)
    return [[0] * len(part) for part in like] if is_nested(slot.type) else [0] * len(like)


def listed_faults(subject: Subject) -> Iterator[Faulty]:
    """The simplest message with each of its frames spoiled in each listed way."""
    if subject.layout.keys or subject.layout.text is not None:
        return
    good = simplest(subject).canonical
    for slot in subject.layout.frames:
        if slot.kind != "field":
            continue
        kinds = listed_bad_values(slot, ruled=slot.field in subject.ruled)
        for label, bad in kinds.items():
            for raw in bad:
                yield spoiled_frame(subject, good, slot, label, raw)
    for rule in breakable(subject):
        bent = {**simplest(subject).values, **_broken(subject, rule)}
        yield Faulty(frames=canonical(subject, bent), label="invariant", kind="invariant")
    if len(good) - subject.skip == subject.layout.counts[-1]:
        for extra in (b"", b"0", b"None"):
            yield Faulty(frames=(*good, extra), label="count", kind="frame-count")


def _broken(subject: Subject, rule: Invariant) -> Values:
    """The simplest values of a rule's fields that break it."""
    first, second = rule.fields[:2]
    one, other = subject.slots[first], subject.slots[second]
    if rule.kind == "less":
        bound = max(one.min or 0, other.min or 0)
        return {first: bound, second: bound}
    if rule.kind == "needs" and isinstance(other.empty, Given):
        filled = next(value for value in _values(subject, one) if not is_empty(value))
        return {first: filled, second: other.empty.value}
    like = simplest(subject).values[first]
    more = [[], *like] if is_nested(one.type) else [0, *like]
    return {second: _as_many(other, more)}
