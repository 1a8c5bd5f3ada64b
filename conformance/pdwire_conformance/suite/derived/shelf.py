"""The benches of all layouts of one spec: who else there is to be mistaken for.

Rules: a shelf is of any spec, the shipped one or one that has a layout more; nothing here
looks at anything but the spec.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pdwire.reading import spec_from_json
from pdwire_conformance.proof.spec import load_spec
from pdwire_conformance.suite.case import Frames

from .bench import Bench, made

__all__ = ["Shelf", "shipped"]

Json = dict[str, Any]


class Shelf:
    """Every layout of a spec, in its order."""

    def __init__(self, spec: Json) -> None:
        heard = {message.key: message for message in spec_from_json(spec).messages}
        self.benches = tuple(
            made(message, layout, heard[f"{message['group']}.{message['name']}"])
            for message in spec["messages"]
            for layout in message["layouts"]
        )
        self._served: dict[tuple[str, str], tuple[Bench, ...]] = {}

    def bench(self, group: str, name: str, layout_id: str) -> Bench:
        """The bench of one layout; ``KeyError`` when there is none."""
        for each in self.benches:
            if each.clause == f"{group}/{name}/{layout_id}":
                return each
        raise KeyError(f"{group}/{name}/{layout_id}")

    def travelling(self, transport: str) -> tuple[Bench, ...]:
        """Every layout that travels so."""
        return tuple(each for each in self.benches if each.message["transport"] == transport)

    def served(self, backend: str, direction: str) -> tuple[Bench, ...]:
        """Every layout of multi-frame messages of a backend, in a direction; empty: in any."""
        key = (backend, direction)
        if key not in self._served:
            self._served[key] = tuple(
                each
                for each in self.travelling("zmq")
                if backend in each.layout["speakers"]
                and (not direction or direction in each.message["directions"])
            )
        return self._served[key]

    def readers(
        self, backend: str, frames: Frames, direction: str = ""
    ) -> list[tuple[Bench, Json]]:
        """Every layout of the backend that reads these frames, and the values."""
        found = []
        for each in self.served(backend, direction):
            if len(frames) - each.shift in each.layout["counts"]:
                values = each.read(frames)
                if values is not None:
                    found.append((each, values))
        return found


@cache
def shipped() -> Shelf:
    """The shelf of the shipped spec."""
    return Shelf(load_spec())
