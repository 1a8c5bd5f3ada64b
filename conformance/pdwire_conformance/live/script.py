"""The steps of a live case: what they are called, and what they take.

A step is a table with ``do`` and what belongs to it. Rooms are named by letters and made
when they are first named; ``${a}`` is the number of room ``a``.

=============  ==========================================================================
``open``       ``room``, ``chunks`` (pages of each, default ``[3]``), ``hold`` (chunks kept
               back), ``prefix`` (pages that decode has), ``ends``: ``both`` (default),
               ``target`` or ``player``
``let_go``     ``room``: its held chunks leave
``abort``      ``room``, ``end``: who gives up, ``target`` (default) or ``player``
``clear``      ``room``, ``ends``
``status``     ``room``, ``is`` (KVPoll names), ``end`` (``first``: the target's first rank alone),
               ``within_s``, ``reason`` (there is one)
``stays``      ``room``, ``is``, ``end``: so it is still after a barrier
``arrived``    ``room``: Success at both ends and every byte is equal, ``within_s``
``abandon``    ``count`` rooms are opened at both ends and cleared before anything moved
``send``       ``message``, ``values`` over what the player would say, ``room``, ``repeat``;
               ``${n}`` counts from ``first`` (default 0)
``frames``     ``frames`` in the notation of the suite's files, ``guarded`` (the backend's guard
               goes before them), ``repeat``, ``first``
``deaf``       the player takes nothing of what comes; ``hears``: it does again
``raw_tcp``    ``data`` (a list in the notation) without ZMQ; ``stay``: the connection stays
               open; ``repeat``
``listen``     ``name``: a port that takes connections and never reads; ``${name.port}``
``expect``     ``message``, ``values``, ``within_s``; ``as``: ``${name.field}`` is what it said
``ignore``     what came so far is expected by no later step
``nothing``    ``message``, ``values``: no such message came, not even until a barrier was over
``alive``      a fresh room is handed over, every byte is equal; ``within_s``, ``repeat``
``remember``   digests of the target's memory but for ``rooms``; ``untouched``: they are equal
``measure``    what the target's process holds; ``bounded``: no more than ``threads``,
               ``files``, ``rss_mib`` beyond it
``released``   ``room``: its pages may be used again, ``within_s``; ``held``: they may not
``spent``      the target is started anew before the next case: what it holds would disturb
``http``       ``method``, ``path``, ``json`` or ``body``, ``status`` (those that are right),
               ``keys``, ``equals``, ``lacks``
=============  ==========================================================================

A barrier is a whole good exchange (``alive``), never a sleep: what the target was sent
before has been read by then. Steps that name ``target``, a room of it, its memory or its
process need a target that is driven.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pdwire_conformance.suite.notation import NotationError

from .notation import Value, filled, framed

__all__ = ["STEPS", "Shape", "StepError", "check_steps", "messages_of"]

_ANY: Final = "any"


class StepError(ValueError):
    """A step that is not one; the text says which of which case, what was expected, what came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a step takes: key -> type; ``needs`` are those that it cannot be without."""

    keys: Mapping[str, type | tuple[type, ...]] = field(default_factory=dict)
    needs: Sequence[str] = ()
    driven: bool = False
    """It needs a target that does what it is told."""


_NUMBER: Final = (int, float)
STEPS: Final[Mapping[str, Shape]] = {
    "open": Shape(
        keys={"room": str, "chunks": list, "hold": int, "prefix": int, "ends": str},
        needs=("room",),
        driven=True,
    ),
    "abandon": Shape(keys={"count": int}, needs=("count",), driven=True),
    "deaf": Shape(),
    "hears": Shape(),
    "spent": Shape(),
    "ignore": Shape(),
    "let_go": Shape(keys={"room": str}, needs=("room",), driven=True),
    "abort": Shape(keys={"room": str, "end": str}, needs=("room",), driven=True),
    "clear": Shape(keys={"room": str, "ends": str}, needs=("room",), driven=True),
    "status": Shape(
        keys={"room": str, "is": list, "end": str, "within_s": _NUMBER, "reason": bool},
        needs=("room", "is"),
        driven=True,
    ),
    "stays": Shape(keys={"room": str, "is": list, "end": str}, needs=("room", "is"), driven=True),
    "arrived": Shape(keys={"room": str, "within_s": _NUMBER}, needs=("room",), driven=True),
    "send": Shape(
        keys={"message": str, "values": dict, "room": str, "repeat": int, "first": int},
        needs=("message",),
    ),
    "frames": Shape(
        keys={"frames": list, "guarded": bool, "repeat": int, "first": int}, needs=("frames",)
    ),
    "raw_tcp": Shape(keys={"data": list, "stay": bool, "repeat": int}, needs=("data",)),
    "listen": Shape(keys={"name": str}, needs=("name",)),
    "expect": Shape(
        keys={"message": str, "values": dict, "within_s": _NUMBER, "as": str},
        needs=("message",),
    ),
    "nothing": Shape(keys={"message": str, "values": dict}, needs=("message",)),
    "alive": Shape(keys={"within_s": _NUMBER, "repeat": int}),
    "remember": Shape(keys={"rooms": list}, driven=True),
    "untouched": Shape(driven=True),
    "measure": Shape(driven=True),
    "bounded": Shape(
        keys={"threads": int, "files": int, "rss_mib": _NUMBER},
        needs=("threads", "files", "rss_mib"),
        driven=True,
    ),
    "released": Shape(keys={"room": str, "within_s": _NUMBER}, needs=("room",), driven=True),
    "held": Shape(keys={"room": str}, needs=("room",), driven=True),
    "http": Shape(
        keys={
            "method": str,
            "path": str,
            "json": dict,
            "body": str,
            "status": list,
            "keys": list,
            "equals": dict,
            "lacks": list,
        },
        needs=("method", "path", "status"),
    ),
}
_CHOICES: Final[Mapping[str, Sequence[str]]] = {
    "end": ("target", "player", "first"),
    "ends": ("both", "target", "player"),
}
_POLLS: Final = ("Failed", "Bootstrapping", "WaitingForInput", "Transferring", "Success")


def check_steps(slug: str, steps: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a script with a step that cannot be run.

    Raises:
        StepError: an unknown step or key, a missing key, a value of another type, a frame
            that cannot be read; the first of them, with its step's number (from 1).
    """
    if not steps:
        raise StepError(f"{slug}: no steps")
    for number, step in enumerate(steps, 1):
        told = f"{slug}, step {number}"
        if (fault := _fault(step)) is not None:
            raise StepError(f"{told}: {fault}")


def _fault(step: Mapping[str, Any]) -> str | None:
    name = step.get("do")
    shape = STEPS.get(str(name))
    if shape is None:
        return f"no step {name!r}; steps: {', '.join(STEPS)}"
    given = {key: value for key, value in step.items() if key != "do"}
    if unknown := [key for key in given if key not in shape.keys]:
        return f"{name} takes no {unknown[0]!r}; it takes {', '.join(shape.keys) or 'nothing'}"
    if missing := [key for key in shape.needs if key not in given]:
        return f"{name} needs {missing[0]!r}"
    return next(filter(None, (_wrong(shape, key, value) for key, value in given.items())), None)


def _wrong(shape: Shape, key: str, value: Value) -> str | None:
    kind = shape.keys[key]
    kinds = kind if isinstance(kind, tuple) else (kind,)
    fits = isinstance(value, kinds)
    if not fits or (isinstance(value, bool) and bool not in kinds):
        return f"{key!r} is {'/'.join(each.__name__ for each in kinds)}, not {value!r}"
    if key in _CHOICES and value not in _CHOICES[key]:
        return f"{key!r} is {' or '.join(_CHOICES[key])}, not {value!r}"
    if key == "is" and (unknown := [each for each in value if each not in _POLLS]):
        return f"'is' names {unknown[0]!r}; there are {', '.join(_POLLS)}"
    if key in {"frames", "data"}:
        return _unreadable(value)
    return None


def _unreadable(frames: Sequence[object]) -> str | None:
    """A frame that cannot be read whatever its placeholders are; they are numbers here."""
    for frame in frames:
        try:
            framed(filled(frame, lambda _: 1))
        except NotationError as error:
            return str(error)
    return None


def messages_of(steps: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """The messages that a script names: a release without one of them cannot run it."""
    return frozenset(step["message"] for step in steps if "message" in step)
