"""``python:module:factory``: code of one's own, and what can be wrong with it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pdwire_conformance.testees.find import find_testee
from pdwire_conformance.testees.protocol import Request, Testee, TesteeError
from pdwire_conformance.testees.serve import answer_lines

Module = Callable[[str], None]

_ABORT: Request = {
    "op": "decode",
    "backend": "mooncake",
    "release": "0.5.23",
    "message": "ABORT",
    "frames": ["41424f5254"],
}
_GOOD = """
import numpy as np
from pdwire_conformance.testees import CodecTestee, Hello, Refused, Skipped, recognised

class Small(CodecTestee):
    closed = []
    def hello(self):
        return Hello(name="small", features=frozenset({"recognise"}),
                     releases={"mooncake": ("0.5.23",)},
                     messages={"mooncake": {"ABORT": ("decode",)}})
    def decode(self, backend, release, message, frames):
        return {"room": WHAT}
    def encode(self, backend, release, message, values):
        raise NotImplementedError
    def recognise(self, backend, frames, direction):
        return recognised({"ABORT": ["r1"]}, ambiguous=False)
    def close(self):
        self.closed.append(1)

class Nested:
    make = Small

nothing = None
def other(): return object()
def failing(): raise OSError("no such device")
def saying_what(): return Claims()
class Claims(Small):
    def hello(self):
        return Hello(name="", releases={})
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Module:
    """Write the module ``own_testee`` with one expression for what it decodes."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "own_testee", raising=False)

    def write(what: str) -> None:
        text = _GOOD.replace("WHAT", what)
        (tmp_path / "own_testee.py").write_text(text, encoding="utf-8")

    return write


def _small(name: str = "Small") -> Testee:
    return find_testee(f"python:own_testee:{name}")


@pytest.mark.parametrize("name", ["Small", "Nested.make"])
def test_a_class_is_a_factory_and_its_testee_is_closed(module: Module, name: str) -> None:
    module("len(frames)")
    with _small(name) as testee:
        assert testee.ask([_ABORT]) == [{"values": {"room": 1}}]
        closed = testee._made.closed  # type: ignore[attr-defined]  # a testee in this process
        assert not closed
    assert closed == [1]


def test_what_it_does_not_claim_is_never_asked_of_it(module: Module) -> None:
    module("1")
    with _small() as testee:
        encode, old, nixl = testee.ask(
            [
                _ABORT | {"op": "encode", "values": {}},
                _ABORT | {"release": "0.5.22"},
                _ABORT | {"backend": "nixl"},
            ]
        )
    assert encode == {"skip": "it does not claim encode of mooncake ABORT"}
    assert old == {"skip": "it does not claim mooncake 0.5.22"}
    assert nixl == {"skip": "it does not claim nixl 0.5.23"}


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("[][1]", {"kind": "other", "text": "IndexError: list index out of range"}),
        (
            "(_ for _ in ()).throw(Refused('frame-count', 'few', frame=0, field='room'))",
            {"kind": "frame-count", "text": "few", "frame": 0, "field": "room"},
        ),
    ],
)
def test_what_it_raises_is_a_refusal(module: Module, what: str, told: dict[str, object]) -> None:
    module(what)
    with _small() as testee:
        assert testee.ask([_ABORT]) == [{"error": told}]


def test_what_it_raises_to_be_skipped_is_skipped(module: Module) -> None:
    module("(_ for _ in ()).throw(Skipped('not today'))")
    with _small() as testee:
        assert testee.ask([_ABORT]) == [{"skip": "not today"}]


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("np.int64(7)", "gave what JSON cannot say: .*int64"),
        ("b'7'", "gave what JSON cannot say: .*bytes"),
        ("float('nan')", "gave what JSON cannot say"),
        ("{'hex': 'FF'}", "at /values/room/hex: expected lower-case hex"),
    ],
)
def test_an_answer_that_could_not_travel_breaks_the_protocol(
    module: Module, what: str, told: str
) -> None:
    module(what)
    with _small() as testee, pytest.raises(TesteeError, match=told):
        testee.ask([_ABORT])


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nowhere", "has no attribute 'nowhere'"),
        ("nothing", "expected a callable, came NoneType"),
        ("other", "expected a CodecTestee of it, came object"),
        ("failing", "cannot be made: OSError: no such device"),
        ("saying_what", "at /hello/name"),
    ],
)
def test_a_factory_that_makes_no_testee_is_told_why(module: Module, name: str, told: str) -> None:
    module("1")
    with pytest.raises(TesteeError, match=told):
        _small(name).__enter__()


def test_a_module_that_cannot_be_imported_is_told_why() -> None:
    with pytest.raises(TesteeError, match="cannot be imported: ModuleNotFoundError"):
        find_testee("python:no_such_module_here:make").__enter__()


def test_served_lines_are_answered_up_to_stop_and_no_further(module: Module) -> None:
    module("1")
    lines = [
        b'{"id":1,"op":"recognise","backend":"mooncake","frames":[]}\n',
        b"\xff\n",
        b'{"id":3}\n',
        b'{"id":4,"op":"stop"}\n',
        b'{"id":5,"op":"hello"}\n',
    ]
    said = io.StringIO()
    with _small() as testee:
        answer_lines(lambda request: testee.ask([request])[0], lines, said)
    told = [json.loads(line) for line in said.getvalue().splitlines()]
    assert [each["id"] for each in told] == [1, None, 3, 4]
    assert told[0]["recognised"]["candidates"] == [{"message": "ABORT", "layouts": ["r1"]}]
    assert told[1]["error"]["text"].startswith("no JSON")
    assert "op" in told[2]["error"]["text"]
    assert told[3] == {"id": 4}
