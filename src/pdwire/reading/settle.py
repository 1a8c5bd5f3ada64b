"""What follows once the frames are read: lacking fields, repeats, derived values, invariants."""

from __future__ import annotations

from pdwire.reading.result import Draft, Fault
from pdwire.reading.rules import Broken, broken, derived, repeated
from pdwire.reading.spec import Layout
from pdwire.reading.texts import fields as text_fields


def carried(layout: Layout) -> frozenset[str]:
    """The fields that have a frame, a key or a place in the text of ``layout``."""
    if layout.text is not None:
        return frozenset(text_fields(layout))
    slots = {slot.field for slot in layout.frames if slot.field is not None}
    return frozenset(slots | {key.field for key in layout.keys})


def settle(draft: Draft) -> None:
    """Complete the values, then hold them against the layout's invariants.

    A rule that needs a field which could not be read says nothing.
    """
    here = carried(draft.layout)
    for field in draft.message.fields:
        if field.name not in here:
            draft.means(field.name, field.absent)
    _repeat(draft)
    for derivation in draft.layout.derivations:
        verdict = derived(derivation, draft.values)
        if verdict is not None and derivation.field not in draft.own:
            draft.values[derivation.field] = verdict
    for invariant in draft.layout.invariants:
        problem = broken(invariant, draft.values)
        if problem is not None:
            draft.faults.append(_fault(draft, problem))


def _repeat(draft: Draft) -> None:
    for name, repeat in draft.pending.items():
        needed = {repeat.like, repeat.from_field or repeat.like}
        if needed <= draft.values.keys():
            draft.values[name] = repeated(repeat, draft.values)


def _fault(draft: Draft, problem: Broken) -> Fault:
    blamed = problem.invariant.fields[-1]
    places = {row.field: row.position for row in draft.rows}
    return Fault(
        kind="invariant",
        position=places.get(blamed),
        field=blamed,
        expected=problem.expected,
        came=problem.came,
        rule=problem.invariant.id,
    )
