"""The testee protocol, version ``pdwire.testee/1``: JSON objects, one a line, both ways.

::

    suite                                              testee
    {"id":1,"op":"hello","protocol":"pdwire.testee/1"} ->
       <- {"id":1,"hello":{"protocol":"pdwire.testee/1","name":"mine","version":"1.2",
                           "roles":["codec"],"features":["typed-errors"],
                           "backends":{"mooncake":{"releases":["0.5.23"],
                                       "messages":{"TransferInfo":["decode","encode"]}}}}}
    {"id":2,"op":"decode","backend":"mooncake","release":"0.5.23",
     "message":"TransferInfo","frames":["37","…"]}      ->
       <- {"id":2,"values":{"room":7,…}}
       or {"id":2,"error":{"kind":"frame-value","text":"…","frame":4,"field":"dst_kv_indices"}}
       or {"id":2,"skip":"why this cannot be asked of me"}
    {"id":3,"op":"encode",…,"values":{…}}               ->  {"id":3,"frames":["37","…"]}
    {"id":4,"op":"recognise","backend":"mooncake","frames":[…],"direction":""} ->
       <- {"id":4,"recognised":{"ambiguous":false,
                                "candidates":[{"message":"TransferInfo","layouts":["r9"]}]}}
    {"id":9,"op":"stop"}                                ->  {"id":9}   and the process ends

Rules:

* One answer per request, in order, with the request's ``id``. Requests may come ahead:
  a testee need not be asked again to read the next line.
* ``hello`` comes first and may come again at any time, to see that all is well.
* Frames are lower-case hex, guard included. Values have the form of the JSON export:
  numbers, strings, booleans, ``null``, lists, and ``{"hex": "…"}`` for bytes.
* The values of an ``encode`` are whole: every field of the message is in them.
* Integers are JSON numbers, exact at any size: rooms go to 2^63-1 and pointers to 2^64-1,
  beyond what a parser that makes floats of them can hold. Such a testee reads its lines
  with one that does not.
* ``error`` is an answer: the testee refuses the input. ``kind`` is one of
  :data:`KINDS`; ``other`` says nothing. ``frame`` counts from 0 without the guard.
* ``skip`` says that the testee has no way to be asked this; it is counted, never passed.
* A line that is no request is answered with ``"id": null`` (its own, if it has one) and an
  ``error``; an operation that the testee does not have with an ``error`` or a ``skip``.
* An answer has no other keys. Standard output holds answers and nothing else; only
  ``stop`` (status 0) and the end of its input end a testee.
* A testee that ends, answers out of turn, answers late or answers something else has
  broken the protocol: the case is an error, and the testee is started anew.

Features: ``typed-errors`` (kinds, frames and fields are right and are held to it),
``recognise`` (answers that op), ``partial`` (values may leave out fields that the
testee does not read; without it every field of the message is there).

The operations of the roles ``prefill``, ``decode`` and ``bootstrap`` are in
:mod:`pdwire_conformance.live`. Every line is described by the schemas in ``schema/``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, ClassVar, Final, Protocol, Self

__all__ = [
    "FEATURES",
    "KINDS",
    "PROTOCOL",
    "Answer",
    "Hello",
    "Refused",
    "Request",
    "Skipped",
    "Testee",
    "TesteeError",
    "read_hello",
]

PROTOCOL: Final = "pdwire.testee/1"
KINDS: Final = (
    "unknown-message",
    "frame-count",
    "frame-value",
    "invariant",
    "lossy-encode",
    "other",
)
FEATURES: Final = ("typed-errors", "recognise", "partial")

Request = dict[str, Any]
Answer = dict[str, Any]


class TesteeError(Exception):
    """The testee cannot be started, has ended, or has broken the protocol.

    ``text`` says where, what was expected, what came; ``said`` is the end of what the
    testee printed on standard error; ``answers`` are those that came before, in order, so
    that only the request behind them is to blame.
    """

    __test__: ClassVar[bool] = False  # pytest would take the name for a test class

    def __init__(self, text: str, said: str = "", answers: Sequence[Answer] = ()) -> None:
        super().__init__(text + (f" (it said: {said})" if said else ""))
        self.text = text
        self.said = said
        self.answers = tuple(answers)


class Refused(Exception):
    """Raised by a testee in Python to refuse its input; becomes ``error``."""

    def __init__(self, kind: str, text: str, *, frame: int | None = None, field: str = "") -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.frame = frame
        self.field = field


class Skipped(Exception):
    """Raised by a testee in Python that has no way to be asked this; becomes ``skip``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """What a testee says of itself.

    ``messages`` is backend -> message -> operations (``decode``, ``encode``); ``releases``
    is backend -> releases, oldest first.
    """

    name: str
    version: str = ""
    roles: tuple[str, ...] = ("codec",)
    features: frozenset[str] = frozenset()
    releases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    messages: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)

    def can(self, backend: str, message: str, op: str) -> bool:
        """Whether the testee has this operation of this message."""
        return op in self.messages.get(backend, {}).get(message, ())

    def as_json(self) -> dict[str, Any]:
        """The object of the ``hello`` answer."""
        return {
            "protocol": PROTOCOL,
            "name": self.name,
            "version": self.version,
            "roles": list(self.roles),
            "features": sorted(self.features),
            "backends": {
                backend: {
                    "releases": list(releases),
                    "messages": {
                        name: list(ops) for name, ops in self.messages.get(backend, {}).items()
                    },
                }
                for backend, releases in self.releases.items()
            },
        }


def read_hello(told: Mapping[str, Any]) -> Hello:
    """The ``hello`` object of an answer that the schema has accepted."""
    backends: Mapping[str, Any] = told["backends"]
    return Hello(
        name=told["name"],
        version=told.get("version", ""),
        roles=tuple(told["roles"]),
        features=frozenset(told.get("features", ())),
        releases={name: tuple(each["releases"]) for name, each in backends.items()},
        messages={
            name: {message: tuple(ops) for message, ops in each["messages"].items()}
            for name, each in backends.items()
        },
    )


class Testee(Protocol):
    """Whatever can be asked; a context manager that starts and ends it.

    ``ask`` takes requests without ``id`` (op, backend, release, message, frames or values)
    and gives the answers without ``id``, in order. It raises :class:`TesteeError` when the
    testee breaks the protocol; the testee is unusable until it is entered again.
    """

    __test__: ClassVar[bool] = False  # pytest would take the name for a test class

    @property
    def target(self) -> str:
        """The words that choose this testee on the command line."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def hello(self) -> Hello:
        """What it said when it was started."""

    def ask(self, requests: Sequence[Request]) -> list[Answer]:
        """Answers, in order."""
