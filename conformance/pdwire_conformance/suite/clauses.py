"""The clauses of the spec: what there is to hold a backend to, one id each.

Rules: a clause is something that the spec says and that could be said otherwise. Ids are
made of names, never of numbers in a list, apart from positions, which are the wire's own.

======================================  ================================================
``group/MESSAGE/recognise``             what tells the message from all others
``…/layout/count``                      how many frames there are
``…/layout/frame-4``                    what stands at a position
``…/layout/key-page_size``              what a body's key holds
``…/layout/text``                       how a notification is spelled
``…/layout/field-NAME/empty``           what an empty frame of the field means
``…/layout/field-NAME/absent``          what the lack of the field means
``…/layout/invariant-KIND-A+B``         a rule across frames
``…/layout/derived-NAME``               what a field without a frame follows from
======================================  ================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pdwire_conformance.proof.draw import carried

__all__ = ["clauses_of"]

Json = dict[str, Any]


def clauses_of(spec: Json) -> Iterator[str]:
    """Every clause of a spec, in the spec's order."""
    for message in spec["messages"]:
        begin = f"{message['group']}/{message['name']}"
        if message["recognise"] is not None:
            yield f"{begin}/recognise"
        for layout in message["layouts"]:
            for end in _of_layout(message, layout):
                yield f"{begin}/{layout['id']}/{end}"


def _of_layout(message: Json, layout: Json) -> Iterator[str]:
    yield "count"
    if layout["text"]:
        yield "text"
    for key in layout["keys"]:
        yield f"key-{key['key']}"
    for frame in layout["frames"]:
        yield f"frame-{frame['position']}"
        if frame["kind"] == "field" and "empty" in frame:
            yield f"field-{frame['field']}/empty"
    for name in _may_lack(message, layout):
        yield f"field-{name}/absent"
    for invariant in layout["invariants"]:
        yield f"invariant-{invariant['kind']}-{'+'.join(invariant['fields'])}"
    for rule in layout["derivations"]:
        yield f"derived-{rule['field']}"


def _may_lack(message: Json, layout: Json) -> Iterator[str]:
    """Fields whose lack means something here: no place for them, or one that may be left out."""
    places = {slot["field"]: slot for slot in carried(message, layout)}
    ruled = {rule["field"] for rule in layout["derivations"]}
    tail = (layout["text"] or "").partition("[")[2]
    for field in message["fields"]:
        name = field["name"]
        slot = places.get(name)
        if slot is None:
            if name not in ruled:
                yield name
        elif "position" in slot:
            if slot["position"] >= min(layout["counts"]):
                yield name
        elif slot.get("optional") or f"{{{name}}}" in tail:
            yield name
