"""Rules of invariants together: some message keeps them all, within its fields' ranges.

What is decided, and exactly: whether there are numbers, within the ranges of a layout's
fields and what their empty and missing frames mean, that are in the order which its ``less``
rules ask for; and whether the second field of a ``needs`` can be filled at all. Rules that
count elements (``same_length``, ``same_count``) never contradict each other, nor these: empty
lists keep them. That a rule is given up where a field is ``None`` or excused as empty does
not save it: a rule that only holds where it is not looked at is a mistake.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pdwire_codegen.draft import DraftField, DraftInvariant, DraftLayout, DraftMessage
from pdwire_codegen.facts import fold, meaning_of, placed, range_of, template_of
from pdwire_codegen.kinds import kind_of
from pdwire_codegen.rules.rule import Finding, Rule, at, each_message

Spans = tuple[tuple[int, int], ...]
"""Numbers that a field may be, as ascending spans, both ends included."""

_WIDEST = (-(2**63), 2**64 - 1)


def applying(message: DraftMessage, layout: DraftLayout) -> Iterator[DraftInvariant]:
    """The invariants that hold in a layout, in file order."""
    carried = {name for name, _ in placed(layout)} | {item.name for item in message.derived}
    for item in message.invariants:
        named = layout.id in item.layouts if item.layouts is not None else True
        if named and set(item.fields) <= carried:
            yield item


def _orders(message: DraftMessage, layout: DraftLayout) -> list[DraftInvariant]:
    """The ``less`` rules of a layout that are rules of two numbers."""
    fields = message.everything()
    kinds = {name: kind_of(item.type) for name, item in fields.items()}
    return [
        item
        for item in applying(message, layout)
        if item.kind == "less"
        and len(set(item.fields)) == len(item.fields) == 2
        and all((kind := kinds.get(name)) is not None and kind.is_int for name in item.fields)
    ]


@dataclass(slots=True)
class _Order:
    """Which field is below which, and by which rule; never a circle."""

    above: dict[str, list[tuple[str, DraftInvariant]]] = field(default_factory=dict)

    def add(self, rule: DraftInvariant) -> None:
        low, high = rule.fields
        self.above.setdefault(low, []).append((high, rule))

    def way(self, start: str, end: str) -> list[DraftInvariant] | None:
        """The rules by which ``start`` is below ``end``; ``None`` if it is not."""
        reached: dict[str, list[DraftInvariant]] = {start: []}
        waiting = [start]
        while waiting:
            here = waiting.pop(0)
            if here == end and reached[here]:
                return reached[here]
            for high, rule in self.above.get(here, ()):
                if high not in reached:
                    reached[high] = [*reached[here], rule]
                    waiting.append(high)
        return None

    def misfit(self, numbers: dict[str, Spans]) -> tuple[str, int] | None:
        """A field that has no number above those it must be above, and what it must reach.

        Every field gets the least number that it can have: where that fails, nothing will do.
        """
        least: dict[str, int] = {}
        for name in self._from_below():
            floor = least.get(name, _WIDEST[0])
            number = _first(numbers[name], floor)
            if number is None:
                return name, floor
            for high, _ in self.above.get(name, ()):
                least[high] = max(least.get(high, _WIDEST[0]), number + 1)
        return None

    def numbers(self, message: DraftMessage, layout: DraftLayout) -> dict[str, Spans]:
        """What each of the fields may be; of those that are excused as empty, filled ones."""
        rules = [rule for found in self.above.values() for _, rule in found]
        excused = {name for rule in rules for name in rule.optional}
        found: dict[str, Spans] = {}
        for name in sorted({name for rule in rules for name in rule.fields}):
            spans = _numbers(message, layout, name)
            filled = tuple((max(low, 0), high) for low, high in spans if high >= 0)
            found[name] = filled if name in excused and filled else spans
        return found

    def _from_below(self) -> Iterator[str]:
        """Every field, behind all that are below it."""
        below: dict[str, int] = dict.fromkeys(self.above, 0)
        for _, found in sorted(self.above.items()):
            for high, _ in found:
                below[high] = below.get(high, 0) + 1
        ready = [name for name, count in below.items() if not count]
        while ready:
            name = ready.pop()
            yield name
            for high, _ in self.above.get(name, ()):
                below[high] -= 1
                if not below[high]:
                    ready.append(high)


def _first(spans: Spans, floor: int) -> int | None:
    """The least number of the spans that is not below ``floor``."""
    return next((max(low, floor) for low, high in spans if high >= floor), None)


def _numbers(message: DraftMessage, layout: DraftLayout, name: str) -> Spans:
    """What a field may be in a layout: its range there, and what empty and missing mean."""
    field_ = message.everything()[name]
    for frame in layout.frames:
        if frame.field == name and (folded := fold(message, layout, frame)) is not None:
            return _spans(folded.min, folded.max, (folded.empty, folded.absent))
    kind = kind_of(field_.type)
    if kind is None:
        return (_WIDEST,)
    low, high = range_of(kind, field_.min, field_.max)
    raws = [key.absent for key in layout.keys if key.field == name and key.optional]
    template = template_of(layout)
    if raws or (template is not None and name in template.optional):
        raws.append(field_.absent)
    return _spans(low, high, tuple(meaning_of(raw, kind) for raw in raws))


def _spans(low: int | None, high: int | None, meanings: tuple[object, ...]) -> Spans:
    whole = (_WIDEST[0] if low is None else low, _WIDEST[1] if high is None else high)
    if whole[0] > whole[1]:  # told by a rule of its own
        return (_WIDEST,)
    numbers = {one for one in meanings if isinstance(one, int) and not isinstance(one, bool)}
    return tuple(sorted({whole, *((one, one) for one in numbers)}))


def contradiction(message: DraftMessage) -> Iterator[Finding]:
    """No field is below itself, over however many rules."""
    told: set[int] = set()
    for layout in message.layouts:
        order = _Order()
        for rule in _orders(message, layout):
            low, high = rule.fields
            circle = order.way(high, low)
            if circle is None:
                order.add(rule)
            elif id(rule) not in told:
                told.add(id(rule))
                others = ", ".join(f"{one.id} ({' < '.join(one.fields)})" for one in circle)
                text = f"invariant {rule.id} ({low} < {high}) contradicts {others}"
                hint = f"no message of {layout.id} keeps them all: drop one, or limit its layouts"
                yield at(message.document, (*rule.path, "fields"), text, hint)


def out_of_range(message: DraftMessage) -> Iterator[Finding]:
    """The fields' own ranges leave numbers that keep the rules."""
    told: set[int] = set()
    for layout in message.layouts:
        order = _Order()
        for rule in _orders(message, layout):
            if order.way(rule.fields[1], rule.fields[0]) is not None:
                continue  # a contradiction, which is told as one
            tried = _Order({name: [*found] for name, found in order.above.items()})
            tried.add(rule)
            misfit = tried.misfit(tried.numbers(message, layout))
            if misfit is None:
                order = tried
            elif id(rule) not in told:
                told.add(id(rule))
                yield _impossible(message, layout, rule, misfit)
        for rule in applying(message, layout):
            if id(rule) not in told and _never_filled(message, layout, rule):
                told.add(id(rule))
                text = f"invariant {rule.id}: {rule.fields[1]} is never filled in {layout.id}"
                hint = "a number below 0 is nothing; widen its range, or drop the invariant"
                yield at(message.document, (*rule.path, "fields"), text, hint)


def _impossible(
    message: DraftMessage, layout: DraftLayout, rule: DraftInvariant, misfit: tuple[str, int]
) -> Finding:
    name, floor = misfit
    most = _numbers(message, layout, name)[-1][1]
    low, high = rule.fields
    text = (
        f"invariant {rule.id} ({low} < {high}): {name} would have to be at least {floor}, "
        f"and is at most {most} in {layout.id}"
    )
    hint = "no numbers of the fields' ranges keep it: correct min and max, or the invariant"
    return at(message.document, (*rule.path, "fields"), text, hint)


def _never_filled(message: DraftMessage, layout: DraftLayout, rule: DraftInvariant) -> bool:
    """Whether a ``needs`` asks for a number that is always below 0, which is nothing."""
    fields: dict[str, DraftField] = message.everything()
    if rule.kind != "needs" or len(rule.fields) != 2 or rule.fields[1] in rule.optional:
        return False
    kind = kind_of(fields[rule.fields[1]].type) if rule.fields[1] in fields else None
    if kind is None or not kind.is_int:
        return False
    return _first(_numbers(message, layout, rule.fields[1]), 0) is None


RULES = (
    Rule(
        id="invariant-contradiction",
        holds="No layout's `less` invariants put a field below itself.",
        check=each_message(contradiction),
    ),
    Rule(
        id="invariant-range",
        holds="The ranges of an invariant's fields let it hold, beside the others.",
        check=each_message(out_of_range),
    ),
)
